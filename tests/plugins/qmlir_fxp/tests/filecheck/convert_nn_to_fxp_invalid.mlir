// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin -p convert-nn-to-fxp --split-input-file --verify-diagnostics

!x = !quant.uniform<i8:f32, 0.25:3>
func.func @zero_point(%x: tensor<2x!x>) -> tensor<2x!x> {
  // expected-error@+1 {{the device takes signed storage with zero point 0}}
  %0 = nn.relu %x : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.3>
func.func @scale(%x: tensor<2x!x>) -> tensor<2x!x> {
  // expected-error@+1 {{the device takes powers of two for scales}}
  %0 = nn.relu %x : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
func.func @mode(%x: tensor<2x!x>) -> tensor<2x!y> {
  // expected-error@+1 {{requantizes by single_round, the device shifts}}
  %0 = nn.relu %x {requantize = #kernel.requantize<single_round>} : (tensor<2x!x>) -> tensor<2x!y>
  func.return %0 : tensor<2x!y>
}

// -----

!x = !quant.uniform<i8:f32, 0.25>
func.func @operation(%x: tensor<2x!x>) -> tensor<2x!x> {
  // expected-error@+1 {{no pattern converts it; expected convolutions, sums, relu and clip}}
  %0 = nn.abs %x : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}

// -----

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.25>
!c = !quant.uniform<i16:f32, 0.0625>
func.func @sums(%x: tensor<1x64x4x!x>, %w: tensor<1x64x4x!w>) -> tensor<1x1x1x!c> {
  // expected-error@+1 {{has sums up to 4194304, which the accumulator of 16 bits does not hold}}
  %0 = nn.conv %x, %w {requantize = #kernel.requantize<shift, even>} : (tensor<1x64x4x!x>, tensor<1x64x4x!w>) -> tensor<1x1x1x!c>
  func.return %0 : tensor<1x1x1x!c>
}
