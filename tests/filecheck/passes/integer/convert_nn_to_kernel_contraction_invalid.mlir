// RUN: qmlir-opt %s -p convert-nn-to-kernel --verify-diagnostics --split-input-file

func.func @unknown_sizes(%x: tensor<?x3xf32>, %w: tensor<3x2xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{'nn.matmul' op cannot be compiled: operand 'tensor<?x3xf32>' has dynamic dimensions}}
  %0 = nn.matmul %x, %w : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
// -----
!x = !quant.uniform<i32:f32, 0.5:1>
!y = !quant.uniform<i8:f32, 0.75:-3>
func.func @sums_beyond_64_bits(%x: tensor<1x2x!x>, %w: tensor<2x1x!x>) -> tensor<1x1x!y> {
  // expected-remark @+2 {{sums are within ±9223372045444710402, and within ±9223372045444710402 with the bias: accumulating in i64}}
  // expected-error @+1 {{'nn.matmul' op cannot be compiled: sums of 2 products up to 9223372045444710402 overflow 64 bits; use types with fewer bits}}
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x1x!x>) -> tensor<1x1x!y>
  func.return %0 : tensor<1x1x!y>
}
