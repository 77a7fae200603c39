// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'quant-set-requantize{mode=shift}'

// Shifts need ratios of scales that are powers of two: of the weights' channels, of what a mean divides by, too.
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.3>
func.func @relu(%x: tensor<2x!x>) -> tensor<2x!y> {
  // expected-error@+1 {{'nn.relu' op (relu1) cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!y> {origin = "relu1"}
  func.return %0 : tensor<2x!y>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32:0, {0.5, 0.3}>
func.func @channel(%x: tensor<2x3x!x>, %w: tensor<2x3x!w>) -> tensor<2x2x!x> {
  // expected-error@+1 {{cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.fully_connected %x, %w : (tensor<2x3x!x>, tensor<2x3x!w>) -> tensor<2x2x!x>
  func.return %0 : tensor<2x2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
func.func @mean(%x: tensor<1x2x3x4x!x>) -> tensor<1x2x1x1x!x> {
  // expected-error@+1 {{cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.global_average_pool %x : (tensor<1x2x3x4x!x>) -> tensor<1x2x1x1x!x>
  func.return %0 : tensor<1x2x1x1x!x>
}
// -----
// The windows at the border cover fewer elements.
!x = !quant.uniform<i8:f32, 0.25>
func.func @border(%x: tensor<1x2x3x3x!x>) -> tensor<1x2x4x2x!x> {
  // expected-error@+1 {{cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.average_pool %x {kernel = [3, 2], pads = [2, 0, 1, 0]} : (tensor<1x2x3x3x!x>) -> tensor<1x2x4x2x!x>
  func.return %0 : tensor<1x2x4x2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75>
func.func @operands(%x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2x!x> {
  // expected-error@+1 {{cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.add %x, %y : (tensor<2x!x>, tensor<2x!y>) -> tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i32:f32, 0.5:7>
func.func @wide(%x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2x!x> {
  // expected-error@+1 {{operands of different scales must have fewer than 32 bits or zero point 0, but got '!quant.uniform<i32:f32, 5.000000e-01:7>'}}
  %0 = nn.add %x, %y {requantize = #kernel.requantize<single_round>} : (tensor<2x!x>, tensor<2x!y>) -> tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i32:f32, 0.125>
!a = !quant.uniform<i16:f32, 0.3>
func.func @part(%x: tensor<2x4x!x>, %w: tensor<2x4x!w>, %b: tensor<2x!b>) -> tensor<2x2x!x> {
  // expected-error@+1 {{part 'matmul' cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.fully_connected %x, %w, %b {components = {matmul = !a}} : (tensor<2x4x!x>, tensor<2x4x!w>, tensor<2x!b>) -> tensor<2x2x!x>
  func.return %0 : tensor<2x2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
func.func @moves(%x: tensor<2x4x!x>) -> tensor<4x2x!x> {
  // expected-error@+1 {{'requantize' requires integers with one scale to rescale}}
  %0 = nn.transpose %x {permutation = [1, 0], requantize = #kernel.requantize<f32>} : (tensor<2x4x!x>) -> tensor<4x2x!x>
  func.return %0 : tensor<4x2x!x>
}
