module attributes {attune.spec_version = 1 : i64, attune.dispatch_version = 1 : i64,
    attune.target = #attune.target<cpu = "skylake", features = "+avx2", vectorBytes = 32, vectorRegisters = 16, cores = 2, l1 = 32768, l2 = 1048576, l3 = 33554432>, attune.threads = 2 : i64} {
  attune.apply #attune.config<"contraction_packed", {deep = true, m_tile = 6 : i64, name = "x", order = array<i64: 1, 0>, ratio = 1.5 : f64}>
      to "9f86d081884c7d65" {root = "contraction", shapes = "4x784x10xf32", baseline_seconds = 2.0e-05 : f64, tuned_seconds = 1.0e-05 : f64}
  attune.apply #attune.config<"reduction", {}> to "0123456789abcdef" {root = "reduction", shapes = "4"}
}
