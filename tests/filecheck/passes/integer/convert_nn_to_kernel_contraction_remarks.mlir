// RUN: qmlir-opt %s -p convert-nn-to-kernel --verify-diagnostics --split-input-file

!x = !quant.uniform<u8:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!a = !quant.uniform<i32:f32, 0.125>
!y = !quant.uniform<i8:f32, 0.75:-3>

// 255 * (1 + 2 + 3) from the constant weights; the bias is given at run time.
func.func @constant_weights(%x: tensor<1x3x!x>, %b: tensor<1x!a>) -> tensor<1x1x!y> {
  %w = nn.constant dense<[[1, -2, 3]]> : tensor<1x3xi8> -> tensor<1x3x!w>
  // expected-remark @+1 {{sums are within ±1530, and within ±2147485178 with the bias: accumulating in i32}}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x3x!x>, tensor<1x3x!w>, tensor<1x!a>) -> tensor<1x1x!y>
  func.return %0 : tensor<1x1x!y>
}
// -----
!x = !quant.uniform<i16:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.75:-3>

// 2 * 2^15 * 2^15
func.func @words(%x: tensor<1x2x!x>, %w: tensor<2x1x!x>) -> tensor<1x1x!y> {
  // expected-remark @+1 {{sums are within ±2147483648, and within ±2147483648 with the bias: accumulating in i64}}
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x1x!x>) -> tensor<1x1x!y>
  func.return %0 : tensor<1x1x!y>
}
// -----
!x = !quant.uniform<i16<-32767:32767>:f32, 0.5>
!w = !quant.uniform<i16<-32767:32767>:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75:-3>

// An argument may be -32768 whatever its type promises, a constant is what it is: 2^15 * (32767 + 32767).
func.func @narrow_words(%x: tensor<1x2x!x>, %v: tensor<2x1x!w>) -> (tensor<1x1x!y>, tensor<1x1x!y>) {
  // expected-remark @+1 {{sums are within ±2147483648, and within ±2147483648 with the bias: accumulating in i64}}
  %0 = nn.matmul %x, %v : (tensor<1x2x!x>, tensor<2x1x!w>) -> tensor<1x1x!y>
  %w = nn.constant dense<[[32767], [-32767]]> : tensor<2x1xi16> -> tensor<2x1x!w>
  // expected-remark @+1 {{sums are within ±2147418112, and within ±2147418112 with the bias: accumulating in i32}}
  %1 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x1x!w>) -> tensor<1x1x!y>
  func.return %0, %1 : tensor<1x1x!y>, tensor<1x1x!y>
}
// -----
!s = !quant.uniform<i8:f32, 0.1>
!p = !quant.uniform<u16:f32, 1.52587890625e-05>

// The integers of a row add up to 2^16 * (1 + 2^-20) + 2048 / 2 + 1 at most, times 128; along rows alone, not channels.
func.func @probabilities(%x: tensor<2x2048x!s>, %v: tensor<2048x4x!s>, %u: tensor<2x4x!s>) -> (tensor<2x4x!s>, tensor<2x4x!s>) {
  %0 = nn.softmax %x : (tensor<2x2048x!s>) -> tensor<2x2048x!p>
  // expected-remark @+1 {{sums are within ±8519808, and within ±8519808 with the bias: accumulating in i32}}
  %1 = nn.matmul %0, %v : (tensor<2x2048x!p>, tensor<2048x4x!s>) -> tensor<2x4x!s>
  %2 = nn.softmax %x {axis = 0} : (tensor<2x2048x!s>) -> tensor<2x2048x!p>
  // expected-remark @+1 {{sums are within ±17179607040, and within ±17179607040 with the bias: accumulating in i64}}
  %3 = nn.matmul %2, %v : (tensor<2x2048x!p>, tensor<2048x4x!s>) -> tensor<2x4x!s>
  func.return %1, %3 : tensor<2x4x!s>, tensor<2x4x!s>
}
// -----
!s = !quant.uniform<i16:f32, 1.5e+34>
!p = !quant.uniform<u16:f32, 1.52587890625e-05>

// Scores that may be infinite have no probabilities.
func.func @infinite_scores(%x: tensor<2x2048x!s>, %v: tensor<2048x4x!p>) -> tensor<2x4x!p> {
  %0 = nn.softmax %x : (tensor<2x2048x!s>) -> tensor<2x2048x!p>
  // expected-remark @+1 {{accumulating in i64}}
  %1 = nn.matmul %0, %v : (tensor<2x2048x!p>, tensor<2048x4x!p>) -> tensor<2x4x!p>
  func.return %1 : tensor<2x4x!p>
}
