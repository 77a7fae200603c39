// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'kernel-winograd{always=true}'

// The largest transformed input is 4 * 127 or, with the zero point in it, 4 * (127 + 1); four times the largest sum is
// 4 * 9 * 128.
func.func @fits(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{'kernel.conv' op (conv1) uses Winograd convolution F(2x2, 3x3) with [-512, 512] by [0, 9] and sums in [-4608, 4608]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = -1 : i32, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
// Any integers of 16 bits are too large for the transform of the input.
func.func @input(%x: tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{'kernel.conv' op uses direct convolution: F(2x2, 3x3) needs inputs in [-131072, 131070], weights in [0, 9] and sums in [-1179648, 1179612], which exceed 16, 16 and 32 bits}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi16>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
// Of 16 bits that are known to lie within 12, it fits.
func.func @narrow_input(%x: tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  %e = tensor.empty() : tensor<1x4x4x1xi16>
  %n = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x4x4x1xi16>) outs(%e : tensor<1x4x4x1xi16>) {
  ^bb0(%a: i16, %o: i16):
    %low = arith.constant -2048 : i16
    %high = arith.constant 2047 : i16
    %1 = arith.maxsi %a, %low : i16
    %2 = arith.minsi %1, %high : i16
    linalg.yield %2 : i16
  } -> tensor<1x4x4x1xi16>
  // expected-remark @+1 {{uses Winograd convolution F(2x2, 3x3) with [-8192, 8190] by [0, 9] and sums in [-73728, 73692]}}
  %0 = kernel.conv ins(%n, %w : tensor<1x4x4x1xi16>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
// Four times the sums of 2047 channels by weights of 127, of inputs around -128, leave 32 bits; the sums themselves fit, and
// there are no parts of an even number of channels.
func.func @sums(%x: tensor<1x4x4x2047xi8>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<127> : tensor<1x3x3x2047xi8>
  // expected-remark @+1 {{uses direct convolution: F(2x2, 3x3) needs inputs in [-512, 1020], weights in [0, 1143] and sums in [-1197937152, 2386515420], which exceed 16, 16 and 32 bits}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x2047xi8>, tensor<1x3x3x2047xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = -128 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
// Weights of 16 bits grow nine times.
func.func @weights(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<4000> : tensor<1x3x3x1xi16>
  // expected-remark @+1 {{uses direct convolution: F(2x2, 3x3) needs inputs in [-512, 510], weights in [4000, 36000] and sums in [-18432000, 18288000], which exceed 16, 16 and 32 bits}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi16>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
func.func @wide(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi64> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{uses direct convolution: requires i32 accumulators, but got i64}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi64> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  func.return %0 : tensor<1x2x2x1xi64>
}
// -----
func.func @nibbles(%x: tensor<1x4x4x1xi4>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<1> : tensor<1x3x3x1xi8>
  // expected-remark @+1 {{uses direct convolution: requires i8 or i16 inputs and integer weights, but got i4 and i8}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi4>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
