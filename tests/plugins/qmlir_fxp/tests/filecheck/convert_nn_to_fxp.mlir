// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin -p convert-nn-to-fxp,canonicalize,cse,dce,verify-integer-only --verify-each=exec | filecheck %s

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32:0, {0.5, 0.25}>
!b = !quant.uniform<i16:f32, 0.015625>
!c = !quant.uniform<i24:f32:1, {0.125, 0.0625}>
!s = !quant.uniform<i16:f32, 0.125>
!y = !quant.uniform<i8:f32, 0.5>

// The bias has a scale of its own, finer than that of the sums.
// CHECK-LABEL: @block(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x3xi8>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: [[V1:%.+]] = fxp.constant dense<{{\[\[}}{{\[\[}}1]], {{\[\[}}-8]]], {{\[\[}}[7]], {{\[\[}}3]]]]> : tensor<2x2x1x1xi4> -> tensor<2x2x1x1xi4>
// CHECK-NEXT: [[V2:%.+]] = fxp.correlate [[V0]], [[V1]] {origin = "conv1", role = "correlation"} : (tensor<1x2x3x3xi8>, tensor<2x2x1x1xi4>) -> tensor<1x2x3x3xi24>
// CHECK-NEXT: [[V3:%.+]] = fxp.shift [[V2]] {origin = "conv1", role = "sum", places = array<i64: -3, -2>} : (tensor<1x2x3x3xi24>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V4:%.+]] = fxp.constant dense<[100, -300]> : tensor<2xi16> {origin = "conv1", role = "sum"} -> tensor<2xi16>
// CHECK-NEXT: [[V5:%.+]] = fxp.add_bias [[V3]], [[V4]] {origin = "conv1", role = "sum"} : (tensor<1x2x3x3xi32>, tensor<2xi16>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V6:%.+]] = fxp.shift [[V5]] {origin = "conv1", role = "sum", places = array<i64: 3>} : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xi16>
// CHECK-NEXT: [[V7:%.+]] = fxp.shift [[V6]] {origin = "conv1", role = "limit", places = array<i64: 2>} : (tensor<1x2x3x3xi16>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: [[V8:%.+]] = fxp.limit [[V7]] {origin = "conv1", role = "limit", minimum = 0 : i64, maximum = 12 : i64} : (tensor<1x2x3x3xi8>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: func.return [[V8]] : tensor<1x2x3x3xi8>
func.func @block(%x: tensor<1x2x3x3x!x>) -> tensor<1x2x3x3x!y> {
  %w = nn.constant dense<[[[[1]], [[-8]]], [[[7]], [[3]]]]> : tensor<2x2x1x1xi4> -> tensor<2x2x1x1x!w>
  %b = nn.constant dense<[100, -300]> : tensor<2xi16> -> tensor<2x!b>
  %0 = fxp.conv_block %x, %w, %b {requantize = #kernel.requantize<shift, even>, maximum = 6.0, components = {correlation = !c, sum = !s}} : (tensor<1x2x3x3x!x>, tensor<2x2x1x1x!w>, tensor<2x!b>) -> tensor<1x2x3x3x!y> {origin = "conv1"}
  func.return %0 : tensor<1x2x3x3x!y>
}

// CHECK-LABEL: @residual(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x3xi8>, [[V1:%.+]]: tensor<1x2x3x3xi16>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: [[V2:%.+]] = fxp.shift [[V0]] {origin = "add1", places = array<i64: -1>} : (tensor<1x2x3x3xi8>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V3:%.+]] = fxp.add [[V2]], [[V1]] {origin = "add1"} : (tensor<1x2x3x3xi32>, tensor<1x2x3x3xi16>) -> tensor<1x2x3x3xi32>
// CHECK-NEXT: [[V4:%.+]] = fxp.shift [[V3]] {origin = "add1", places = array<i64: 2>} : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: [[V5:%.+]] = fxp.limit [[V4]] {origin = "relu1", minimum = 0 : i64} : (tensor<1x2x3x3xi8>) -> tensor<1x2x3x3xi8>
// CHECK-NEXT: func.return [[V5]] : tensor<1x2x3x3xi8>
func.func @residual(%x: tensor<1x2x3x3x!x>, %s: tensor<1x2x3x3x!s>) -> tensor<1x2x3x3x!y> {
  %0 = nn.add %x, %s {requantize = #kernel.requantize<shift, even>} : (tensor<1x2x3x3x!x>, tensor<1x2x3x3x!s>) -> tensor<1x2x3x3x!y> {origin = "add1"}
  %1 = nn.relu %0 : tensor<1x2x3x3x!y> {origin = "relu1"}
  func.return %1 : tensor<1x2x3x3x!y>
}
