// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @top_k(%x: tensor<3xf32>) {
  // expected-error @+1 {{k must be in [0, 3] along axis 0, but got 4}}
  %0, %1 = nn.top_k %x {k = 4} : (tensor<3xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return
}
// -----
func.func @top_k_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0, %1 = nn.top_k %x {k = 2} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<2xi64>)
  func.return
}
// -----
func.func @both_k(%x: tensor<3xf32>, %k: tensor<1xi64>) {
  // expected-error @+1 {{expected either property 'k' or operand 'k_value', but got both}}
  %0, %1 = nn.top_k %x, %k {k = 2} : (tensor<3xf32>, tensor<1xi64>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return
}
// -----
func.func @non_zero(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{does not support operand type 'tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>'; its elements may be float, integer, boolean}}
  %0 = nn.non_zero %x : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x?xi64>
  func.return
}
// -----
func.func @sequence_axes(%x: tensor<3x3xf32>, %l: tensor<3xi64>) {
  // expected-error @+1 {{batch_axis and time_axis must differ, but both are 0}}
  %0 = nn.reverse_sequence %x, %l {batch_axis = 0} : (tensor<3x3xf32>, tensor<3xi64>) -> tensor<3x3xf32>
  func.return
}
// -----
func.func @sequence_lengths(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{lengths must be one integer for each of 3 sequences, but got 'tensor<2xi64>'}}
  %0 = nn.reverse_sequence %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @range_type(%x: tensor<f32>, %i: tensor<f16>) {
  // expected-error @+1 {{operands must have one element type, but got f32, f16}}
  %0 = nn.range %x, %x, %i : (tensor<f32>, tensor<f32>, tensor<f16>) -> tensor<?xf32>
  func.return
}
// -----
func.func @range_rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{start, limit and delta must be scalars, but got tensor<2xf32>, tensor<2xf32>, tensor<2xf32>}}
  %0 = nn.range %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?xf32>
  func.return
}
