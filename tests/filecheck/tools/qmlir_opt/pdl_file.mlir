// RUN: qmlir-opt %s --pdl-file %S/Inputs/relu_to_abs.pdl.mlir | filecheck %s
// RUN: not qmlir-opt %s --pdl-file %s 2>&1 | filecheck %s --check-prefix=NONE
// CHECK: nn.abs {{%.+}} : tensor<2xf32> {origin = "relu1"}
// NONE: error: '{{.*}}pdl_file.mlir' contains no pdl.pattern
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  func.return %0 : tensor<2xf32>
}
