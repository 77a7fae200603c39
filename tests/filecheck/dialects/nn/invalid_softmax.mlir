// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @axis_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis -3 is out of range for rank 2}}
  %0 = nn.log_softmax %x {axis = -3} : tensor<2x3xf32>
  func.return
}
// -----
func.func @no_axes(%x: tensor<f32>) {
  // expected-error @+1 {{axis -1 is out of range for rank 0}}
  %0 = nn.hardmax %x : tensor<f32>
  func.return
}
// -----
func.func @integers(%x: tensor<2xi8>) {
  // expected-error @+1 {{does not support operand type 'tensor<2xi8>'; its elements may be float}}
  %0 = nn.hardmax %x : tensor<2xi8>
  func.return
}
// -----
func.func @mask_of_numbers(%x: tensor<2x3xf32>, %m: tensor<2x3xf32>) {
  // expected-error @+1 {{mask must have elements of type i1, but got 'tensor<2x3xf32>'}}
  %0 = nn.softmax %x, %m : tensor<2x3xf32>
  func.return
}
// -----
func.func @mask_of_another_shape(%x: tensor<1x3xf32>, %m: tensor<2x3xi1>) {
  // expected-error @+1 {{mask must broadcast to the input 'tensor<1x3xf32>', but got 'tensor<2x3xi1>'}}
  %0 = nn.softmax %x, %m : (tensor<1x3xf32>, tensor<2x3xi1>) -> tensor<1x3xf32>
  func.return
}
// -----
func.func @unknown_empty_rows(%x: tensor<2x3xf32>, %m: tensor<3xi1>) {
  // expected-error @+1 {{empty_rows must be one of zero, uniform, but got 'nan'}}
  %0 = nn.softmax %x, %m {empty_rows = "nan"} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @fill_without_a_mask(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{fill requires a mask, and 'empty_rows' other than uniform}}
  %0 = nn.softmax %x {fill = -20.0 : f32} : tensor<2x3xf32>
  func.return
}
// -----
func.func @qlinear_with_a_mask(%x: tensor<3x!quant.uniform<u8:f32, 0.1>>, %m: tensor<3xi1>) {
  // expected-error @+1 {{requantization mode 'qlinear' does not support a mask}}
  %0 = nn.softmax %x, %m {requantize = #kernel.requantize<qlinear>} : (tensor<3x!quant.uniform<u8:f32, 0.1>>, tensor<3xi1>) -> tensor<3x!quant.uniform<u8:f32, 0.00390625>>
  func.return
}
