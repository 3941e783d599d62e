module attributes {attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64} {
}
