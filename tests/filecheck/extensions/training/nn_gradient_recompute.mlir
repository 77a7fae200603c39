// RUN: qmlir-opt %s --split-input-file -p 'nn-gradient{wrt=w recompute},cse' | filecheck %s

// Of the scaled value and its relu one is kept, and the other one computed again. An exponential takes long: it is kept.
func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}, %w: tensor<3x3xf32> {nn.name = "w"}, %s: tensor<f32> {nn.name = "s"}) -> (tensor<2x3xf32> {nn.name = "y"}) {
  %0 = nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
  %1 = nn.mul %0, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "scaled"}
  %2 = nn.relu %1 : tensor<2x3xf32> {origin = "act"}
  %3 = nn.mul %2, %1 : tensor<2x3xf32> {origin = "square"}
  %4 = nn.exp %3 : tensor<2x3xf32> {origin = "raised"}
  %5 = nn.mul %4, %4 : tensor<2x3xf32> {origin = "last"}
  func.return %5 : tensor<2x3xf32>
}

// -----

// What a convolution gives is kept with its channels last.
func.func @main(%x: tensor<1x2x4x4xf32> {nn.name = "x"}, %w: tensor<3x2x1x1xf32> {nn.name = "w"}) -> (tensor<1x3x4x4xf32> {nn.name = "y"}) {
  %0 = nn.conv %x, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32> {origin = "conv"}
  %1 = nn.mul %0, %0 : tensor<1x3x4x4xf32> {origin = "square"}
  func.return %1 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<3x3xf32> {nn.name = "w"}, [[V2:%.+]]: tensor<f32> {nn.name = "s"}) -> (tensor<2x3xf32> {nn.name = "y"}, tensor<2x3xf32> {nn.name = "kept0"}, tensor<2x3xf32> {nn.name = "kept1"})
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V3]], [[V2]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "scaled"}
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<2x3xf32> {origin = "act"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V5]], [[V4]] : tensor<2x3xf32> {origin = "square"}
// CHECK-NEXT: [[V7:%.+]] = nn.exp [[V6]] : tensor<2x3xf32> {origin = "raised"}
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V7]], [[V7]] : tensor<2x3xf32> {origin = "last"}
// CHECK-NEXT: func.return [[V8]], [[V4]], [[V7]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "kept0"}, [[V1:%.+]]: tensor<2x3xf32> {nn.name = "kept1"}, [[V2:%.+]]: tensor<f32> {nn.name = "s"}, [[V3:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[V4:%.+]]: tensor<2x3xf32> {nn.name = "gradient_y"}) -> (tensor<3x3xf32> {nn.name = "gradient_w"})
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V0]] : tensor<2x3xf32> {origin = "act"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V4]], [[V1]] : tensor<2x3xf32> {origin = "last", role = "gradient"}
// CHECK-NEXT: [[V7:%.+]] = nn.add [[V6]], [[V6]] : tensor<2x3xf32> {origin = "last", role = "gradient"}
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V7]], [[V1]] : tensor<2x3xf32> {origin = "raised", role = "gradient"}
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V8]], [[V0]] : tensor<2x3xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V8]], [[V5]] : tensor<2x3xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V11:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "act", role = "gradient"}
// CHECK-NEXT: [[V12:%.+]] = nn.greater [[V5]], [[V11]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1> {origin = "act", role = "gradient"}
// CHECK-NEXT: [[V13:%.+]] = nn.where [[V12]], [[V9]], [[V11]] : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "act", role = "gradient"}
// CHECK-NEXT: [[V14:%.+]] = nn.add [[V10]], [[V13]] : tensor<2x3xf32> {origin = "act", role = "gradient"}
// CHECK-NEXT: [[V15:%.+]] = nn.mul [[V14]], [[V2]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: [[V16:%.+]] = nn.transpose [[V3]] {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "fc", role = "gradient"}
// CHECK-NEXT: [[V17:%.+]] = nn.matmul [[V16]], [[V15]] : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32> {origin = "fc", role = "gradient"}
// CHECK-NEXT: func.return [[V17]] : tensor<3x3xf32>
// CHECK: // -----
// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<3x2x1x1xf32> {nn.name = "w"}) -> (tensor<1x3x4x4xf32> {nn.name = "y"}, tensor<1x4x4x3xf32> {nn.name = "kept0"})
// CHECK-NEXT: [[V2:%.+]] = nn.conv [[V0]], [[V1]] : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32> {origin = "conv"}
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V2]], [[V2]] : tensor<1x3x4x4xf32> {origin = "square"}
// CHECK-NEXT: [[V4:%.+]] = nn.transpose [[V2]] {permutation = [0, 2, 3, 1]} : (tensor<1x3x4x4xf32>) -> tensor<1x4x4x3xf32> {origin = "conv"}
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<1x3x4x4xf32>, tensor<1x4x4x3xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x3xf32> {nn.name = "kept0"}, [[V1:%.+]]: tensor<1x2x4x4xf32> {nn.name = "x"}, [[V2:%.+]]: tensor<1x3x4x4xf32> {nn.name = "gradient_y"}) -> (tensor<3x2x1x1xf32> {nn.name = "gradient_w"})
// CHECK-NEXT: [[V3:%.+]] = nn.transpose [[V0]] {permutation = [0, 3, 1, 2]} : (tensor<1x4x4x3xf32>) -> tensor<1x3x4x4xf32> {origin = "conv"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V2]], [[V3]] : tensor<1x3x4x4xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V4]] : tensor<1x3x4x4xf32> {origin = "square", role = "gradient"}
// CHECK-NEXT: [[V6:%.+]] = nn.unsqueeze [[V1]] {axes = [1]} : (tensor<1x2x4x4xf32>) -> tensor<1x1x2x4x4xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: [[V7:%.+]] = nn.transpose [[V6]] {permutation = [2, 1, 0, 3, 4]} : (tensor<1x1x2x4x4xf32>) -> tensor<2x1x1x4x4xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: [[V8:%.+]] = nn.reshape [[V7]] : (tensor<2x1x1x4x4xf32>) -> tensor<2x1x4x4xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: [[V9:%.+]] = nn.transpose [[V5]] {permutation = [1, 0, 2, 3]} : (tensor<1x3x4x4xf32>) -> tensor<3x1x4x4xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: [[V10:%.+]] = nn.conv [[V8]], [[V9]] {strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0]} : (tensor<2x1x4x4xf32>, tensor<3x1x4x4xf32>) -> tensor<2x3x1x1xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: [[V11:%.+]] = nn.transpose [[V10]] {permutation = [1, 0, 2, 3]} : (tensor<2x3x1x1xf32>) -> tensor<3x2x1x1xf32> {origin = "conv", role = "gradient"}
// CHECK-NEXT: func.return [[V11]] : tensor<3x2x1x1xf32>
