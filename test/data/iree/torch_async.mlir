// As torch-mlir and iree-turbine export: IREE gives it an async entry and a
// wrapper that waits.
func.func @main(%a: !torch.vtensor<[64,96],f32>, %b: !torch.vtensor<[96,64],f32>) -> !torch.vtensor<[64,64],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %0 = torch.aten.mm %a, %b : !torch.vtensor<[64,96],f32>, !torch.vtensor<[96,64],f32> -> !torch.vtensor<[64,64],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[64,64],f32> -> !torch.vtensor<[64,64],f32>
  return %1 : !torch.vtensor<[64,64],f32>
}
