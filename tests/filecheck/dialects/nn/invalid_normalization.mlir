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
