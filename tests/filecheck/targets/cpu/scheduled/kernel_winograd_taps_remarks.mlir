// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'kernel-winograd{always=true algorithm=f4_bytes}'

// Rows of weights that are not scaled add up to 7 at most: 49 times an element. What is common to a row counts afterwards.
func.func @fits(%x: tensor<1x6x6x1xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<[[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [-1]]]]> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{'kernel.conv' op (conv1) uses Winograd convolution F(4x4, 3x3) with [-12768, 12768] by [-189, 392] and sums in [-303040, 303040]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = -1 : i32, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
// The fewest parts that are proven: 3 of 108 channels, where two of 162 leave 2^25.
func.func @parts(%x: tensor<1x6x6x324xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x324xi8>
  // expected-remark @+1 {{and sums of 3 parts in [0, 2014606080]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x324xi8>, tensor<1x3x3x324xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
// -----
// A byte does not hold weights without this zero point.
func.func @weights(%x: tensor<1x6x6x1xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{uses direct convolution: requires 8-bit weights, but got [129, 129]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x4x4x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, weight_zero_point = -128 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}
