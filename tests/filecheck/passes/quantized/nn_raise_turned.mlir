// RUN: qmlir-opt %s -p nn-raise | filecheck %s

// A product with constant weights [K, N] and a bias are a layer with weights [N, K]: the same numbers, and the scales of
// the same channels, which lie along the other axis.
!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32:1, {0.25, 0.5}>
!a = !quant.uniform<i32:f32:1, {0.125, 0.25}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.25}>
!c = !quant.uniform<i32:f32:2, {0.125, 0.25}>
!y = !quant.uniform<i8:f32, 1.5:-9>
func.func @main(%x: tensor<1x3x!x>) -> (tensor<1x2x!y>, tensor<1x2x!a>, tensor<1x2x!y>) {
  %w = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!w> {origin = "w"}
  %b = nn.constant dense<[7, 8]> : tensor<2xi32> -> tensor<2x!b> {origin = "b"}
  %0 = nn.matmul %x, %w : (tensor<1x3x!x>, tensor<3x2x!w>) -> tensor<1x2x!a> {origin = "mm"}
  %1 = nn.add %0, %b : (tensor<1x2x!a>, tensor<2x!b>) -> tensor<1x2x!y> {origin = "plus"}
  // The product is used by others, too, and stays as it is.
  %2 = nn.matmul %x, %w : (tensor<1x3x!x>, tensor<3x2x!w>) -> tensor<1x2x!a> {origin = "used"}
  %3 = nn.add %2, %b : (tensor<1x2x!a>, tensor<2x!b>) -> tensor<1x2x!y>
  func.return %1, %2, %3 : tensor<1x2x!y>, tensor<1x2x!a>, tensor<1x2x!y>
}
// What is added is no bias, one number for each channel: the product stays as it is.
func.func @rows(%x: tensor<2x3xf32>, %r: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = nn.add %0, %r : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
// The rows of a product may have any number of axes; sizes may be open.
func.func @sequence(%x: tensor<?x3x3x!x>) -> tensor<?x3x2x!y> {
  %w = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!w> {origin = "w"}
  %b = nn.constant dense<[7, 8]> : tensor<2xi32> -> tensor<2x!b> {origin = "b"}
  %0 = nn.matmul %x, %w : (tensor<?x3x3x!x>, tensor<3x2x!w>) -> tensor<?x3x2x!c> {origin = "mm"}
  %1 = nn.add %b, %0 : (tensor<2x!b>, tensor<?x3x2x!c>) -> tensor<?x3x2x!y> {origin = "plus"}
  func.return %1 : tensor<?x3x2x!y>
}
// The product has parameters of its own, which the layer has then.
func.func @of_its_own(%x: tensor<4x2x3x!x>) -> tensor<4x2x2x!y> {
  %w = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!w> {origin = "w"}
  %b = nn.constant dense<[7, 8]> : tensor<2xi32> -> tensor<2x!b> {origin = "b"}
  %0 = nn.matmul %x, %w : (tensor<4x2x3x!x>, tensor<3x2x!w>) -> tensor<4x2x2x!x> {origin = "mm"}
  %1 = nn.add %0, %b : (tensor<4x2x2x!x>, tensor<2x!b>) -> tensor<4x2x2x!y> {origin = "plus"}
  func.return %1 : tensor<4x2x2x!y>
}
// Blocks along the sum of a product, of weights of 4 bits, lie along the rows of the layer.
!of_blocks = !quant.uniform<i4:f32:{0:2, 1:1}, {{1.0, 2.0}, {4.0, 8.0}}>
!sum = !quant.uniform<i32:f32, 0.125>
func.func @blocks(%x: tensor<1x4x!x>) -> tensor<1x2x!y> {
  %w = nn.constant dense<[[1, 2], [3, 4], [5, 6], [7, -8]]> : tensor<4x2xi4> -> tensor<4x2x!of_blocks> {origin = "w"}
  %b = nn.constant dense<[7, 8]> : tensor<2xi32> -> tensor<2x!sum> {origin = "b"}
  %0 = nn.matmul %x, %w : (tensor<1x4x!x>, tensor<4x2x!of_blocks>) -> tensor<1x2x!sum> {origin = "mm"}
  %1 = nn.add %0, %b : (tensor<1x2x!sum>, tensor<2x!sum>) -> tensor<1x2x!y> {origin = "plus"}
  func.return %1 : tensor<1x2x!y>
}
// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01:3>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.500000e+00:-9>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:1, {1.250000e-01, 2.500000e-01}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32:1, {2.500000e-01, 5.000000e-01}>
// CHECK-NEXT: !q4 = !quant.uniform<i32:f32:0, {1.250000e-01, 2.500000e-01}>
// CHECK-NEXT: !q5 = !quant.uniform<i8:f32:0, {2.500000e-01, 5.000000e-01}>
// CHECK-NEXT: !q6 = !quant.uniform<i32:f32, 1.250000e-01>
// CHECK-NEXT: !q7 = !quant.uniform<i4:f32:{0:1, 1:2}, {{[{][{]}}1.000000e+00, 4.000000e+00}, {2.000000e+00, 8.000000e+00{{[}][}]}}>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3x!q0>) -> (tensor<1x2x!q1>, tensor<1x2x!q2>, tensor<1x2x!q1>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!q3> {origin = "w"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[7, 8]> : tensor<2xi32> -> tensor<2x!q4> {origin = "b"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}1, 3, 5], [2, 4, 6]]> : tensor<2x3xi8> -> tensor<2x3x!q5> {origin = "w"}
// CHECK-NEXT: [[V4:%.+]] = nn.fully_connected [[V0]], [[V3]], [[V2]] : (tensor<1x3x!q0>, tensor<2x3x!q5>, tensor<2x!q4>) -> tensor<1x2x!q1> {origin = ["mm", "plus"], tensor = "plus"}
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<1x3x!q0>, tensor<3x2x!q3>) -> tensor<1x2x!q2> {origin = "used"}
// CHECK-NEXT: [[V6:%.+]] = nn.add [[V5]], [[V2]] : (tensor<1x2x!q2>, tensor<2x!q4>) -> tensor<1x2x!q1>
// CHECK-NEXT: func.return [[V4]], [[V5]], [[V6]] : tensor<1x2x!q1>, tensor<1x2x!q2>, tensor<1x2x!q1>
// CHECK-LABEL: @rows(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V2]] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V1]] : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2x2xf32>
// CHECK-LABEL: @sequence(
// CHECK: nn.fully_connected %x, {{%.+}}, {{%.+}} : (tensor<?x3x3x!q0>, tensor<2x3x!q5>, tensor<2x!q4>) -> tensor<?x3x2x!q1> {origin = ["mm", "plus"], tensor = "plus"}
// CHECK-LABEL: @of_its_own(
// CHECK: nn.fully_connected %x, {{%.+}}, {{%.+}} {components = {matmul = !q0}} : (tensor<4x2x3x!q0>, tensor<2x3x!q5>, tensor<2x!q4>) -> tensor<4x2x2x!q1>
// CHECK-LABEL: @blocks(
// CHECK: nn.constant dense<{{\[\[}}1, 3, 5, 7], [2, 4, 6, -8]]> : tensor<2x4xi4> -> tensor<2x4x!q7> {origin = "w"}
// CHECK-NEXT: nn.fully_connected %x, {{%.+}}, {{%.+}} {components = {matmul = !q6}} : (tensor<1x4x!q0>, tensor<2x4x!q7>, tensor<2x!q6>) -> tensor<1x2x!q1> {origin = ["mm", "plus"], tensor = "plus"}
