// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin --verify-roundtrip | filecheck %s
// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin --print-op-generic | qmlir-opt --load-plugin qmlir_fxp.plugin | filecheck %s

// CHECK-LABEL: @instructions(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xi8>, [[V1:%.+]]: tensor<1x3x2x2xi16>) -> tensor<1x3x2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = fxp.constant dense<1> : tensor<3x2x3x3xi4> -> tensor<3x2x3x3xi4>
// CHECK-NEXT: [[V3:%.+]] = fxp.constant dense<[100, -200, 300]> : tensor<3xi16> -> tensor<3xi16>
// CHECK-NEXT: [[V4:%.+]] = fxp.correlate [[V0]], [[V2]] {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xi8>, tensor<3x2x3x3xi4>) -> tensor<1x3x2x2xi24>
// CHECK-NEXT: [[V5:%.+]] = fxp.add_bias [[V4]], [[V3]] : (tensor<1x3x2x2xi24>, tensor<3xi16>) -> tensor<1x3x2x2xi32>
// CHECK-NEXT: [[V6:%.+]] = fxp.shift [[V5]] {places = array<i64: 2, 3, 2>, ties = "up"} : (tensor<1x3x2x2xi32>) -> tensor<1x3x2x2xi16>
// CHECK-NEXT: [[V7:%.+]] = fxp.add [[V6]], [[V1]] : (tensor<1x3x2x2xi16>, tensor<1x3x2x2xi16>) -> tensor<1x3x2x2xi32>
// CHECK-NEXT: [[V8:%.+]] = fxp.shift [[V7]] {places = array<i64: 8>} : (tensor<1x3x2x2xi32>) -> tensor<1x3x2x2xi8>
// CHECK-NEXT: [[V9:%.+]] = fxp.limit [[V8]] {minimum = 0 : i64, maximum = 96 : i64} : (tensor<1x3x2x2xi8>) -> tensor<1x3x2x2xi8>
// CHECK-NEXT: func.return [[V9]] : tensor<1x3x2x2xi8>
func.func @instructions(%x: tensor<1x2x4x4xi8>, %y: tensor<1x3x2x2xi16>) -> tensor<1x3x2x2xi8> {
  %w = fxp.constant dense<1> : tensor<3x2x3x3xi4> -> tensor<3x2x3x3xi4>
  %b = fxp.constant dense<[100, -200, 300]> : tensor<3xi16> -> tensor<3xi16>
  %0 = fxp.correlate %x, %w {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x2x4x4xi8>, tensor<3x2x3x3xi4>) -> tensor<1x3x2x2xi24>
  %1 = fxp.add_bias %0, %b : (tensor<1x3x2x2xi24>, tensor<3xi16>) -> tensor<1x3x2x2xi32>
  %2 = fxp.shift %1 {places = array<i64: 2, 3, 2>, ties = "up"} : (tensor<1x3x2x2xi32>) -> tensor<1x3x2x2xi16>
  %3 = fxp.add %2, %y : (tensor<1x3x2x2xi16>, tensor<1x3x2x2xi16>) -> tensor<1x3x2x2xi32>
  %4 = fxp.shift %3 {places = array<i64: 8>} : (tensor<1x3x2x2xi32>) -> tensor<1x3x2x2xi8>
  %5 = fxp.limit %4 {minimum = 0 : i64, maximum = 96 : i64} : (tensor<1x3x2x2xi8>) -> tensor<1x3x2x2xi8>
  func.return %5 : tensor<1x3x2x2xi8>
}

// CHECK-LABEL: @block(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<3x2x3x3xf32>, [[V2:%.+]]: tensor<3xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: [[V3:%.+]] = fxp.conv_block [[V0]], [[V1]], [[V2]] {maximum = 6.0} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<1x3x2x2xf32>
func.func @block(%x: tensor<1x2x4x4xf32>, %w: tensor<3x2x3x3xf32>, %b: tensor<3xf32>) -> tensor<1x3x2x2xf32> {
  %0 = fxp.conv_block %x, %w, %b {maximum = 6.0} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>) -> tensor<1x3x2x2xf32>
  func.return %0 : tensor<1x3x2x2xf32>
}
