// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'kernel-winograd{always=true algorithm=f4}'

// Rows of B^T add up to 2 and take off 8, or 5 and 5: 68 and 32 times an element. 64 times the largest sum is
// 64 * 9 * 128.
func.func @fits(%x: tensor<1x6x6x1xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{'kernel.conv' op (conv1) uses Winograd convolution F(4x4, 3x3) with [-12768, 12768] by [-144, 144] and sums in [-73728, 73728]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = -1 : i32, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
// 117 channels of the largest weights by unsigned bytes leave 2^25, 115 do not; 116 are two parts, and 117 no even ones.
func.func @sums(%x: tensor<1x6x6x117xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x117xi8>
  // expected-remark @+1 {{uses direct convolution: F(4x4, 3x3) needs inputs in [-12750, 17340], weights in [-18288, 18288] and sums in [0, 2182489920], which exceed 16, 16 and 32 bits}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x117xi8>, tensor<1x3x3x117xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
func.func @parts(%x: tensor<1x6x6x116xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x116xi8>
  // expected-remark @+1 {{uses Winograd convolution F(4x4, 3x3) with [-12750, 17340] by [-18288, 18288] and sums of 2 parts in [0, 1081918080]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x116xi8>, tensor<1x3x3x116xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
func.func @largest_sums(%x: tensor<1x6x6x115xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x115xi8>
  // expected-remark @+1 {{uses Winograd convolution F(4x4, 3x3) with [-12750, 17340] by [-18288, 18288] and sums in [0, 2145182400]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x115xi8>, tensor<1x3x3x115xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
// Weights of 9 bits, without their zero point: 144 times 255 leaves 16 bits.
func.func @weights(%x: tensor<1x6x6x1xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{uses direct convolution: F(4x4, 3x3) needs inputs in [-12768, 12750], weights in [-36720, 36720] and sums in [-18800640, 18653760], which exceed 16, 16 and 32 bits}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, weight_zero_point = -128 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
