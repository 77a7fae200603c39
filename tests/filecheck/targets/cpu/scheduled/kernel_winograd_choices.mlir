// RUN: qmlir-opt %s -p 'kernel-winograd{isa=avx2}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=generic}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=avx2-vnni}' | filecheck %s --check-prefix=VNNI

// On avx2 and without dot products F(4x4, 3x3) is faster from 16 tiles and 16 channels on. On avx2-vnni it has to have 32:
// four bytes a lane are faster than F(2x2, 3x3).
func.func @sixteen_tiles(%x: tensor<1x18x15x16xi8>) -> tensor<1x16x13x16xi32> {
  %w = arith.constant dense<1> : tensor<16x3x3x16xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x15x16xi8>, tensor<16x3x3x16xi8>) -> tensor<1x16x13x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x13x16xi32>
}

func.func @more_channels(%x: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32> {
  %w = arith.constant dense<1> : tensor<32x3x3x32xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x15x32xi8>, tensor<32x3x3x32xi8>) -> tensor<1x16x13x32xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x13x32xi32>
}

// Twelve tiles use each weight too seldom: F(2x2, 3x3).
func.func @twelve_tiles(%x: tensor<1x18x14x16xi8>) -> tensor<1x16x12x16xi32> {
  %w = arith.constant dense<1> : tensor<16x3x3x16xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x14x16xi8>, tensor<16x3x3x16xi8>) -> tensor<1x16x12x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x12x16xi32>
}

// So it is with few channels.
func.func @eight_channels(%x: tensor<1x18x18x8xi8>) -> tensor<1x16x16x16xi32> {
  %w = arith.constant dense<1> : tensor<16x3x3x8xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x18x8xi8>, tensor<16x3x3x8xi8>) -> tensor<1x16x16x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x16x16xi32>
}

// With three neither is faster.
func.func @three_channels(%x: tensor<1x18x18x3xi8>) -> tensor<1x16x16x16xi32> {
  %w = arith.constant dense<1> : tensor<16x3x3x3xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x18x3xi8>, tensor<16x3x3x3xi8>) -> tensor<1x16x16x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x16x16xi32>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<16x6x6x16xi16>
// CHECK-NEXT: #w1 = #nn.weights<elided> : tensor<32x6x6x32xi16>
// CHECK-NEXT: #w2 = #nn.weights<elided> : tensor<16x4x4x16xi16>
// CHECK-NEXT: #w3 = #nn.weights<elided> : tensor<16x4x4x8xi16>
// CHECK-NEXT: #w4 = dense<1> : tensor<16x3x3x3xi8>
// CHECK-LABEL: @sixteen_tiles(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x15x16xi8>) -> tensor<1x16x13x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x15x16xi8>, tensor<16x6x6x16xi16>) -> tensor<1x16x13x16xi32> attributes {algorithm = "f4"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x13x16xi32>
// CHECK-LABEL: @more_channels(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x15x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x16x13x32xi32> attributes {algorithm = "f4"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x13x32xi32>
// CHECK-LABEL: @twelve_tiles(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x14x16xi8>) -> tensor<1x16x12x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x14x16xi8>, tensor<16x4x4x16xi16>) -> tensor<1x16x12x16xi32> {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x12x16xi32>
// CHECK-LABEL: @eight_channels(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x18x8xi8>) -> tensor<1x16x16x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w3
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x18x8xi8>, tensor<16x4x4x8xi16>) -> tensor<1x16x16x16xi32> {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x16x16xi32>
// CHECK-LABEL: @three_channels(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x18x3xi8>) -> tensor<1x16x16x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w4
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x18x3xi8>, tensor<16x3x3x3xi8>) -> tensor<1x16x16x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x16x16xi32>

// VNNI: #w0 = #nn.weights<elided> : tensor<16x3x3x16xi8>
// VNNI-NEXT: #w1 = #nn.weights<elided> : tensor<32x6x6x32xi16>
// VNNI-NEXT: #w2 = #nn.weights<elided> : tensor<16x3x3x8xi8>
// VNNI-NEXT: #w3 = dense<1> : tensor<16x3x3x3xi8>
// VNNI-LABEL: @sixteen_tiles(
// VNNI-SAME: [[V0:%.+]]: tensor<1x18x15x16xi8>) -> tensor<1x16x13x16xi32>
// VNNI-NEXT: [[V1:%.+]] = arith.constant #w0
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x15x16xi8>, tensor<16x3x3x16xi8>) -> tensor<1x16x13x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x16x13x16xi32>
// VNNI-LABEL: @more_channels(
// VNNI-SAME: [[V0:%.+]]: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32>
// VNNI-NEXT: [[V1:%.+]] = arith.constant #w1
// VNNI-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x15x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x16x13x32xi32> attributes {algorithm = "f4"} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x16x13x32xi32>
// VNNI-LABEL: @twelve_tiles(
// VNNI-SAME: [[V0:%.+]]: tensor<1x18x14x16xi8>) -> tensor<1x16x12x16xi32>
// VNNI-NEXT: [[V1:%.+]] = arith.constant #w0
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x14x16xi8>, tensor<16x3x3x16xi8>) -> tensor<1x16x12x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x16x12x16xi32>
// VNNI-LABEL: @eight_channels(
// VNNI-SAME: [[V0:%.+]]: tensor<1x18x18x8xi8>) -> tensor<1x16x16x16xi32>
// VNNI-NEXT: [[V1:%.+]] = arith.constant #w2
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x18x8xi8>, tensor<16x3x3x8xi8>) -> tensor<1x16x16x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x16x16x16xi32>
// VNNI-LABEL: @three_channels(
// VNNI-SAME: [[V0:%.+]]: tensor<1x18x18x3xi8>) -> tensor<1x16x16x16xi32>
// VNNI-NEXT: [[V1:%.+]] = arith.constant #w3
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x18x3xi8>, tensor<16x3x3x3xi8>) -> tensor<1x16x16x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x16x16x16xi32>
