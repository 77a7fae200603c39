// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize | filecheck %s

!x = !quant.uniform<i8:f32, 0.05:3>
!w = !quant.uniform<i8<-127:127>:f32, 0.01>
!r = !quant.uniform<i8<-127:127>:f32, 0.02>
!s = !quant.uniform<i16:f32, 0.001>
!h = !quant.uniform<i8:f32, 0.0078125>

// The products of the whole sequence stand in front of a loop over time, which carries the state and all outputs.
// CHECK-LABEL: @float(
// CHECK: [[PRODUCTS:%.+]] = kernel.matmul
// CHECK: scf.for
// CHECK-SAME: iter_args({{.*}}) -> (tensor<1x2x2xf32>, tensor<5x1x2x2xf32>)
// CHECK: tensor.extract_slice [[PRODUCTS]][{{%.+}}, 0, 0] [1, 2, 2] [1, 1, 1]
// CHECK: kernel.matmul ins({{.*}} : tensor<1x2x2xf32>, tensor<2x2xf32>)
// CHECK: math.tanh
// CHECK: tensor.insert_slice
// CHECK: scf.yield {{.*}} : tensor<1x2x2xf32>, tensor<5x1x2x2xf32>
func.func @float(%x: tensor<5x2x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) -> (tensor<5x1x2x2xf32>, tensor<1x2x2xf32>) {
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<5x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x2x2xf32>, tensor<1x2x2xf32>)
  func.return %0, %1 : tensor<5x1x2x2xf32>, tensor<1x2x2xf32>
}

// Quantized parts: sums of i32, a function looked up; nobody uses the outputs, the loop carries the state alone.
// CHECK-LABEL: @quantized(
// CHECK: scf.for
// CHECK-SAME: iter_args({{.*}}) -> (tensor<1x2x2xi8>)
// CHECK: kernel.matmul ins({{.*}} : tensor<1x2x2xi8>, tensor<2x2xi8>) -> tensor<1x2x2xi32>
// CHECK: tensor.extract {{.*}} : tensor<65536xi8>
// CHECK: scf.yield {{.*}} : tensor<1x2x2xi8>
func.func @quantized(%x: tensor<5x2x3x!x>) -> tensor<1x2x2x!h> {
  %w = nn.constant dense<[[[1, 2, 3], [-127, 5, 6]]]> : tensor<1x2x3xi8> -> tensor<1x2x3x!w>
  %r = nn.constant dense<[[[9, -8], [100, 7]]]> : tensor<1x2x2xi8> -> tensor<1x2x2x!r>
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, components = {
      "hidden/sum" = !s, "hidden/tanh" = !h, "hidden/initial" = !h}}
      : (tensor<5x2x3x!x>, tensor<1x2x3x!w>, tensor<1x2x2x!r>) -> (tensor<5x1x2x2x!h>, tensor<1x2x2x!h>)
  func.return %1 : tensor<1x2x2x!h>
}
