// RUN: qmlir-opt %s -p convert-nn-to-kernel --verify-diagnostics --split-input-file

func.func @unknown_sizes(%x: tensor<?x3xf32>, %w: tensor<3x2xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{'nn.matmul' op has an operand of type tensor<?x3xf32>: loops are made for known shapes}}
  %0 = nn.matmul %x, %w : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
// -----
!x = !quant.uniform<i32:f32, 0.5:1>
!y = !quant.uniform<i8:f32, 0.75:-3>
func.func @sums_beyond_64_bits(%x: tensor<1x2x!x>, %w: tensor<2x1x!x>) -> tensor<1x1x!y> {
  // expected-remark @+2 {{i64 holds the sums}}
  // expected-error @+1 {{'nn.matmul' op sums 2 products up to 9223372045444710402, which 64 bits do not hold: loops take factors of fewer bits}}
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x1x!x>) -> tensor<1x1x!y>
  func.return %0 : tensor<1x1x!y>
}
