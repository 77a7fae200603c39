// RUN: qmlir-opt %s -p 'kernel-winograd{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=neon always=true algorithm=f4}' | filecheck %s --check-prefix=ALWAYS

// On avx512-vnni F(4x4, 3x3) is faster where it has 16 tiles and 32 channels.
func.func @chosen(%x: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32> {
  %w = arith.constant dense<1> : tensor<32x3x3x32xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x15x32xi8>, tensor<32x3x3x32xi8>) -> tensor<1x16x13x32xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = 7 : i32, input_unsigned, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x13x32xi32>
}

// Twelve tiles stay direct; 24 G g (24 G)^T of a tap in the middle is 16 and 8 and 4 and their opposites.
func.func @small(%x: tensor<1x18x14x1xi8>) -> tensor<1x16x12x1xi32> {
  %w = arith.constant dense<[[[[0], [0], [0]], [[0], [1], [0]], [[0], [0], [0]]]]> : tensor<1x3x3x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x18x14x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x16x12x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x12x1xi32>
}

// Three rows are less than a tile.
func.func @less_than_a_tile(%x: tensor<1x5x6x1xi8>) -> tensor<1x3x4x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x5x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x3x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x3x4x1xi32>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<32x6x6x32xi16>
// CHECK-LABEL: @chosen(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x15x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x16x13x32xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, algorithm = "f4"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x13x32xi32>
// CHECK-LABEL: @small(
// CHECK-SAME: [[V0:%.+]]: tensor<1x18x14x1xi8>) -> tensor<1x16x12x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}0], [0], [0]], {{\[\[}}0], [1], [0]], {{\[\[}}0], [0], [0]]]]> : tensor<1x3x3x1xi8>
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x18x14x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x16x12x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x16x12x1xi32>
// CHECK-LABEL: @less_than_a_tile(
// CHECK-SAME: [[V0:%.+]]: tensor<1x5x6x1xi8>) -> tensor<1x3x4x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<1> : tensor<1x3x3x1xi8>
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x5x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x3x4x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x3x4x1xi32>

// ALWAYS: #w0 = #nn.weights<elided> : tensor<32x6x6x32xi16>
// ALWAYS-NEXT: #w1 = dense<"0x00000000000000000000000000001000F0FFF8FF080000000000F0FF10000800F8FF00000000F8FF08000400FCFF000000000800F8FFFCFF04000000000000000000000000000000"> : tensor<1x6x6x1xi16>
// ALWAYS-LABEL: @chosen(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x18x15x32xi8>) -> tensor<1x16x13x32xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant #w0
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x15x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x16x13x32xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, algorithm = "f4"} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x16x13x32xi32>
// ALWAYS-LABEL: @small(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x18x14x1xi8>) -> tensor<1x16x12x1xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant #w1
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x18x14x1xi8>, tensor<1x6x6x1xi16>) -> tensor<1x16x12x1xi32> attributes {algorithm = "f4"} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x16x12x1xi32>
// ALWAYS-LABEL: @less_than_a_tile(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x5x6x1xi8>) -> tensor<1x3x4x1xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant dense<1> : tensor<1x3x3x1xi8>
// ALWAYS-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x5x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x3x4x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x3x4x1xi32>
