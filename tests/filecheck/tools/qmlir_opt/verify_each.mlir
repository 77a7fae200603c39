// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module 2>&1 | filecheck %s
// RUN: qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module --verify-each=false | filecheck %s --check-prefix=UNCHECKED
// CHECK: error: 'nn.relu' op (relu1) expected a result with the shape of 'tensor<2xf32>', but got 'tensor<3xf32>' (after pass 'break-module')
// UNCHECKED: tensor<3xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  func.return %x : tensor<2xf32>
}
