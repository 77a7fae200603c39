// RUN: qmlir-opt %s -p 'nn-decompose{keep=softmx,nonsense,"*z*z*",matmul,fc,bn1,lstm,"bn*"}' 2>&1 | filecheck %s

// Kinds need not be in the module, here lstm. matmul has no parts, and names are whole.
// CHECK: warning: nn-decompose keep: 'softmx' matches no kind of composite and no node; did you mean 'softmax'?
// CHECK-NEXT: warning: nn-decompose keep: 'nonsense' matches no kind of composite and no node
// CHECK-NEXT: warning: nn-decompose keep: '*z*z*' matches no kind of composite and no node
// CHECK-NEXT: warning: nn-decompose keep: 'matmul' matches no kind of composite and no node
// CHECK-NEXT: warning: nn-decompose keep: 'fc' matches no kind of composite and no node; did you mean 'fc2'?
// CHECK-NEXT: builtin.module {

func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %s: tensor<2xf32>, %y: tensor<1x2x3x3xf32>) -> (tensor<1x2xf32>, tensor<1x2x3x3xf32>) {
  %0 = nn.fully_connected %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc2"}
  %1 = nn.batch_norm %y, %s, %s, %s, %s : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32> {origin = "bn1"}
  func.return %0, %1 : tensor<1x2xf32>, tensor<1x2x3x3xf32>
}
