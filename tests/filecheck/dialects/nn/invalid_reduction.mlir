// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @axes_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes must be unique, but got [0, -2]}}
  %0 = nn.reduce_sum %x {axes = [0, -2]} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  func.return
}
// -----
func.func @axes_count(%x: tensor<2x3xf32>, %a: tensor<?xi64>) {
  // expected-error @+1 {{the number of axes must be static}}
  %0 = nn.reduce_sum %x, %a {keep_dims = false} : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<?xf32>
  func.return
}
// -----
func.func @booleans(%x: tensor<2xi1>) {
  // expected-error @+1 {{does not support operand type 'tensor<2xi1>'; its elements may be float, integer}}
  %0 = nn.reduce_prod %x : (tensor<2xi1>) -> tensor<1xi1>
  func.return
}
// -----
func.func @extreme_parameters(%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.reduce_max %x {axes = [0]} : (tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<1x3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @arg_axis(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = nn.arg_max %x {axis = 1} : (tensor<2xf32>) -> tensor<1xi64>
  func.return
}
// -----
func.func @scan_axis(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis -2 is out of range for rank 1}}
  %0 = nn.cum_sum %x {axis = -2} : tensor<2xf32>
  func.return
}
