// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @no_channels(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{data must have rank >= 2, but got 'tensor<3xf32>'}}
  %0 = nn.instance_norm %x, %s, %s : tensor<3xf32>
  func.return
}
// -----
func.func @instance_channels(%x: tensor<1x3x4xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{parameters must have one element per channel (3), but got 'tensor<2xf32>'}}
  %0 = nn.instance_norm %x, %s, %s : (tensor<1x3x4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @mean_without_variance(%x: tensor<1x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{mean and variance must be passed together}}
  %0 = nn.batch_norm %x, %s, %s, %s : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @groups(%x: tensor<1x3x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{groups (2) must divide the number of channels (3)}}
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @precision(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{precision must be f16, bf16, f32 or f64, but got 'i32'}}
  %0 = nn.rms_norm %x {precision = i32} : tensor<1x3xf32>
  func.return
}
// -----
func.func @scale(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{scale and bias must broadcast to the data 'tensor<2x3xf32>', but got 'tensor<2xf32>'}}
  %0 = nn.layer_norm %x, %s : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @scale_of_more_axes(%x: tensor<3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @+1 {{scale and bias must broadcast to the data 'tensor<3xf32>', but got 'tensor<2x3xf32>'}}
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
  // expected-error @+1 {{p must be 1 or 2, but got 3}}
  %0 = nn.lp_norm %x {p = 3} : tensor<2x3xf32>
  func.return
}
// -----
func.func @least_norm(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{epsilon must be positive and finite, but got 0.0}}
  %0 = nn.lp_norm %x {epsilon = 0.0} : tensor<2x3xf32>
  func.return
}
// -----
func.func @neighbourhood(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{size must be >= 1, but got 0}}
  %0 = nn.local_response_norm %x {size = 0} : tensor<2x3xf32>
  func.return
}
// -----
func.func @neighbourhood_of_nothing(%x: tensor<3xf32>) {
  // expected-error @+1 {{input must have rank >= 2, but got 'tensor<3xf32>'}}
  %0 = nn.local_response_norm %x {size = 1} : tensor<3xf32>
  func.return
}
// -----
!x = !quant.uniform<i16:f32, 0.5>
func.func @long_rows(%x: tensor<1x40000x!x>) {
  // expected-error @+1 {{has no integer arithmetic: sums of 32 bits hold at most 32768 elements of 16 bits, but rows have 40000; set 'components' to quantize its parts separately}}
  %0 = nn.rms_norm %x : tensor<1x40000x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @no_epsilon(%x: tensor<2x4x!x>, %s: tensor<4xf32>) {
  // expected-error @+1 {{has no integer arithmetic: epsilon must be positive and finite, but got 0; set 'components' to quantize its parts separately}}
  %0 = nn.layer_norm %x, %s {epsilon = 0.0} : (tensor<2x4x!x>, tensor<4xf32>) -> tensor<2x4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32:1, {0.5, 0.25}>
!y = !quant.uniform<i8:f32, 0.5>
func.func @two_scales(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{has no integer arithmetic: expected one scale, but got '!quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>'; set 'components' to quantize its parts separately}}
  %0 = nn.rms_norm %x : (tensor<3x2x!x>) -> tensor<3x2x!y>
  func.return
}
// -----
!x = !quant.uniform<i32:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.5>
func.func @wide(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{has no integer arithmetic: expected f32 values quantized to at most 16 bits, but got '!quant.uniform<i32:f32, 5.000000e-01>'; set 'components' to quantize its parts separately}}
  %0 = nn.rms_norm %x : (tensor<3x2x!x>) -> tensor<3x2x!y>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @other_precision(%x: tensor<3x2x!x>) {
  // expected-error @+1 {{has no integer arithmetic: precision f64; set 'components' to quantize its parts separately}}
  %0 = nn.rms_norm %x {precision = f64} : tensor<3x2x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @open_rows(%x: tensor<3x?x!x>) {
  // expected-error @+1 {{has no integer arithmetic: the row length is dynamic; set 'components' to quantize its parts separately}}
  %0 = nn.rms_norm %x : tensor<3x?x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @quantized_scale(%x: tensor<2x4x!x>, %s: tensor<4x!x>) {
  // expected-error @+1 {{scale and bias must have the float type of the data (f32), but got 'tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>'}}
  %0 = nn.layer_norm %x, %s : (tensor<2x4x!x>, tensor<4x!x>) -> tensor<2x4x!x>
  func.return
}
// -----
func.func @scale_of_another_type(%x: tensor<2x4xf32>, %s: tensor<4xf16>) {
  // expected-error @+1 {{scale and bias must have the float type of the data (f32), but got 'tensor<4xf16>'}}
  %0 = nn.layer_norm %x, %s : (tensor<2x4xf32>, tensor<4xf16>) -> tensor<2x4xf32>
  func.return
}
