"builtin.module"() <{sym_name = "x"}> ({
  "attune.apply"() <{config = #attune.config<"s", {a = 1 : i64}>, fingerprint = "00"}> : () -> ()
}) {attune.spec_version = 1 : i64, attune.dispatch_version = 2 : i64} : () -> ()
