// RUN: qmlir-opt %s -p 'nn-gradient{wrt=w,b loss=loss function=train},cse' | filecheck %s

// With a loss, the only inputs of @backward are what it reads. What the loss does not depend on gives zeros; a value that
// is used twice has the sum of two gradients.
func.func @train(%x: tensor<2x3xf32> {nn.name = "x"}, %w: tensor<3x1xf32> {nn.name = "w"}, %b: tensor<2xf32> {nn.name = "b"}) -> (tensor<2xf32> {nn.name = "other"}, tensor<f32> {nn.name = "loss"}) {
  %0 = nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32> {origin = "fc"}
  %1 = nn.mul %0, %0 : tensor<2x1xf32> {origin = "square"}
  %2 = nn.reduce_sum %1 {axes = [0, 1], keep_dims = false} : (tensor<2x1xf32>) -> tensor<f32> {origin = "loss"}
  %3 = nn.exp %b : tensor<2xf32> {origin = "other"}
  func.return %3, %2 : tensor<2xf32>, tensor<f32>
}

// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<3x1xf32> {nn.name = "w"}, [[V2:%.+]]: tensor<2xf32> {nn.name = "b"}) -> (tensor<2xf32> {nn.name = "other"}, tensor<f32> {nn.name = "loss"}, tensor<2x1xf32> {nn.name = "kept0"})
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V3]], [[V3]] : tensor<2x1xf32> {origin = "square"}
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_sum [[V4]] {axes = [0, 1], keep_dims = false} : (tensor<2x1xf32>) -> tensor<f32> {origin = "loss"}
// CHECK-NEXT: [[V6:%.+]] = nn.exp [[V2]] : tensor<2xf32> {origin = "other"}
// CHECK-NEXT: func.return [[V6]], [[V5]], [[V3]] : tensor<2xf32>, tensor<f32>, tensor<2x1xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1xf32> {nn.name = "kept0"}, [[V1:%.+]]: tensor<2x3xf32> {nn.name = "x"}) -> (tensor<3x1xf32> {nn.name = "gradient_w"}, tensor<2xf32> {nn.name = "gradient_b"})
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V3:%.+]] = nn.unsqueeze [[V2]] {axes = [0, 1]} : (tensor<f32>) -> tensor<1x1xf32> {origin = "loss", role = "gradient"}
// CHECK-NEXT: [[V4:%.+]] = nn.expand [[V3]] {shape = [2, 1]} : (tensor<1x1xf32>) -> tensor<2x1xf32> {origin = "loss", role = "gradient"}
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V4]], [[V0]] : tensor<2x1xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V6:%.+]] = nn.add [[V5]], [[V5]] : tensor<2x1xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V7:%.+]] = nn.transpose [[V1]] {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "fc", role = "gradient"}
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V7]], [[V6]] : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32> {origin = "fc", role = "gradient"}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V10:%.+]] = nn.expand [[V9]] {shape = [2]} : (tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V8]], [[V10]] : tensor<3x1xf32>, tensor<2xf32>
