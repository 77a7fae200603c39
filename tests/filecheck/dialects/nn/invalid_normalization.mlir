// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @no_channels(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{data has a channel axis, found tensor<3xf32>}}
  %0 = nn.instance_norm %x, %s, %s : tensor<3xf32>
  func.return
}
// -----
func.func @instance_channels(%x: tensor<1x3x4xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{parameters have one element for each of 3 channels, found tensor<2xf32>}}
  %0 = nn.instance_norm %x, %s, %s : (tensor<1x3x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @mean_without_variance(%x: tensor<1x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{has a mean and a variance, or none of them}}
  %0 = nn.batch_norm %x, %s, %s, %s : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @groups(%x: tensor<1x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{3 channels do not fall into 2 groups of one size}}
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @precision(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{the precision is f16, bf16, f32 or f64, found i32}}
  %0 = nn.rms_norm %x {precision = i32} : tensor<1x3xf32>
  func.return
}
// -----
func.func @scale(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{scale and bias broadcast to the data, tensor<2x3xf32>, found tensor<2xf32>}}
  %0 = nn.layer_norm %x, %s : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @scale_of_more_axes(%x: tensor<3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @+1 {{scale and bias broadcast to the data, tensor<3xf32>, found tensor<2x3xf32>}}
  %0 = nn.rms_norm %x, %s : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = nn.rms_norm %x {axis = 2} : tensor<2x3xf32>
  func.return
}
// -----
func.func @p(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{p is 1 or 2, found 3}}
  %0 = nn.lp_norm %x {p = 3} : tensor<2x3xf32>
  func.return
}
// -----
func.func @least_norm(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{epsilon is a number above 0, found 0.0}}
  %0 = nn.lp_norm %x {epsilon = 0.0} : tensor<2x3xf32>
  func.return
}
// -----
func.func @neighbourhood(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{a neighbourhood has at least one channel, found size 0}}
  %0 = nn.local_response_norm %x {size = 0} : tensor<2x3xf32>
  func.return
}
// -----
func.func @neighbourhood_of_nothing(%x: tensor<3xf32>) {
  // expected-error @+1 {{the input has a channel axis, found tensor<3xf32>}}
  %0 = nn.local_response_norm %x {size = 1} : tensor<3xf32>
  func.return
}
// -----
!x = !quant.uniform<i16:f32, 0.5>
func.func @long_rows(%x: tensor<1x40000x!x>) {
  // expected-error @+1 {{is not computed on integers: rows of 40000 elements of 16 bits: sums of 32 bits hold 32768 of them; 'components' would give its parts types of their own}}
  %0 = nn.rms_norm %x : tensor<1x40000x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @no_epsilon(%x: tensor<2x4x!x>, %s: tensor<4xf32>) {
  // expected-error @+1 {{is not computed on integers: epsilon 0: rows of equal numbers need one above 0}}
  %0 = nn.layer_norm %x, %s {epsilon = 0.0} : (tensor<2x4x!x>, tensor<4xf32>) -> tensor<2x4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32:1, {0.5, 0.25}>
!y = !quant.uniform<i8:f32, 0.5>
func.func @two_scales(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{is not computed on integers: values with more than one scale}}
  %0 = nn.rms_norm %x : (tensor<3x2x!x>) -> tensor<3x2x!y>
  func.return
}
// -----
!x = !quant.uniform<i32:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.5>
func.func @wide(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{is not computed on integers: values of !quant.uniform<i32:f32, 5.000000e-01>: at most 16 bits, which stand for f32}}
  %0 = nn.rms_norm %x : (tensor<3x2x!x>) -> tensor<3x2x!y>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @other_precision(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{is not computed on integers: precision f64}}
  %0 = nn.rms_norm %x {precision = f64} : tensor<3x2x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @open_rows(%x: tensor<3x?x!x>) {
  // expected-error @+1 {{is not computed on integers: rows of no known length}}
  %0 = nn.rms_norm %x : tensor<3x?x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @quantized_scale(%x: tensor<2x4x!x>, %s: tensor<4x!x>) {
  // expected-error @+1 {{has a scale and a bias in the float type of the data, f32, found tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>}}
  %0 = nn.layer_norm %x, %s : (tensor<2x4x!x>, tensor<4x!x>) -> tensor<2x4x!x>
  func.return
}
// -----
func.func @scale_of_another_type(%x: tensor<2x4xf32>, %s: tensor<4xf16>) {
  // expected-error @+1 {{has a scale and a bias in the float type of the data, f32, found tensor<4xf16>}}
  %0 = nn.layer_norm %x, %s : (tensor<2x4xf32>, tensor<4xf16>) -> tensor<2x4xf32>
  func.return
}
