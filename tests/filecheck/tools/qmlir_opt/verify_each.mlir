// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module 2>&1 | filecheck %s
// RUN: qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module --verify-each=false | filecheck %s --check-prefix=UNCHECKED
// CHECK: error: 'nn.relu' op (relu1) result has type tensor<3xf32>, the operands give the shape of tensor<2xf32> (after pass 'break-module')
// UNCHECKED: tensor<3xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  func.return %x : tensor<2xf32>
}
