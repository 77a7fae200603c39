// RUN: qmlir-opt %s --verify-diagnostics -p 'kernel-winograd{isa=avx2}'

// F(4x4, 3x3) would be the fastest, but 117 channels of the largest weights by unsigned bytes leave 2^25, and
// there are no parts of an even number of them.
func.func @next(%x: tensor<1x18x18x117xi8>) -> tensor<1x16x16x16xi32> {
  %w = arith.constant dense<127> : tensor<16x3x3x117xi8>
  // expected-remark @+1 {{uses Winograd convolution F(2x2, 3x3) with [-510, 1020] by [0, 1143] and sums in [0, 136405620]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x18x18x117xi8>, tensor<16x3x3x117xi8>) -> tensor<1x16x16x16xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x16x16x16xi32>
}
