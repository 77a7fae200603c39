// RUN: qmlir-opt %s -p 'kernel-winograd{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=neon always=true algorithm=f4_bytes}' | filecheck %s --check-prefix=ALWAYS

// On avx512-vnni few tiles, which use each of the weights seldom, have these transformed by the loops from 256 channels on.
func.func @chosen(%x: tensor<1x9x9x256xi8>) -> tensor<1x7x7x256xi32> {
  %w = arith.constant dense<1> : tensor<256x3x3x256xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = 7 : i32, input_unsigned, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x7x7x256xi32>
}

// Nine tiles of 10x10 are computed as twelve, 1.92 sums for each of the result: direct.
func.func @more_computed(%x: tensor<1x12x12x256xi8>) -> tensor<1x10x10x256xi32> {
  %w = arith.constant dense<1> : tensor<256x3x3x256xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x12x12x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x10x10x256xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x10x10x256xi32>
}

// The largest weights of 256 channels by bytes leave 2^25: three parts of the channels would not be even, four are.
func.func @parts(%x: tensor<1x6x6x256xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x256xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x256xi8>, tensor<1x3x3x256xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<256x3x3x256xi8>
// CHECK-NEXT: #w1 = #nn.weights<elided> : tensor<1x3x3x256xi8>
// CHECK-LABEL: @chosen(
// CHECK-SAME: [[V0:%.+]]: tensor<1x9x9x256xi8>) -> tensor<1x7x7x256xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, algorithm = "f4_bytes"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x7x7x256xi32>
// CHECK-LABEL: @more_computed(
// CHECK-SAME: [[V0:%.+]]: tensor<1x12x12x256xi8>) -> tensor<1x10x10x256xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x12x12x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x10x10x256xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x10x10x256xi32>
// CHECK-LABEL: @parts(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x6x256xi8>) -> tensor<1x4x4x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x6x6x256xi8>, tensor<1x3x3x256xi8>) -> tensor<1x4x4x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x4x4x1xi32>

// ALWAYS: #w0 = #nn.weights<elided> : tensor<256x3x3x256xi8>
// ALWAYS-NEXT: #w1 = #nn.weights<elided> : tensor<1x3x3x256xi8>
// ALWAYS-LABEL: @chosen(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x9x9x256xi8>) -> tensor<1x7x7x256xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant #w0
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, algorithm = "f4_bytes"} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x7x7x256xi32>
// ALWAYS-LABEL: @more_computed(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x12x12x256xi8>) -> tensor<1x10x10x256xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant #w0
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x12x12x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x10x10x256xi32> attributes {algorithm = "f4_bytes"} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x10x10x256xi32>
// ALWAYS-LABEL: @parts(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x6x6x256xi8>) -> tensor<1x4x4x1xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant #w1
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x6x6x256xi8>, tensor<1x3x3x256xi8>) -> tensor<1x4x4x1xi32> attributes {input_unsigned, algorithm = "f4_bytes", parts = 4 : i64} {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x4x4x1xi32>
