module attributes {attune.dispatch_version = 1 : i64, attune.spec_version = 1 : i64} {
  attune.apply #attune.config<"contraction_packed", {m_tile = 6 : i64}>
      to "00000000deadbeef" {root = "contraction", shapes = "4x4x4xf32"}
}
