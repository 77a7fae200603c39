// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @top_k(%x: tensor<3xf32>) {
  // expected-error @+1 {{cannot take 4 of the 3 elements along axis 0}}
  %0, %1 = nn.top_k %x {k = 4} : (tensor<3xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  func.return
}
// -----
func.func @top_k_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0 of the per-axis parameters does not survive}}
  %0, %1 = nn.top_k %x {k = 2} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<2xi64>)
  func.return
}
// -----
func.func @both_k(%x: tensor<3xf32>, %k: tensor<1xi64>) {
  // expected-error @+1 {{has both the property 'k' and the operand 'k_value'}}
  %0, %1 = nn.top_k %x, %k {k = 2} : (tensor<3xf32>, tensor<1xi64>) -> (tensor<2xf32>, tensor<2xi64>)
  func.return
}
// -----
func.func @non_zero(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{is not accepted; its elements may be float, integer, boolean}}
  %0 = nn.non_zero %x : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x?xi64>
  func.return
}
// -----
func.func @sequence_axes(%x: tensor<3x3xf32>, %l: tensor<3xi64>) {
  // expected-error @+1 {{reverses along one axis for each of another, found axis 0 for both}}
  %0 = nn.reverse_sequence %x, %l {batch_axis = 0} : (tensor<3x3xf32>, tensor<3xi64>) -> tensor<3x3xf32>
  func.return
}
// -----
func.func @sequence_lengths(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{takes an integer for each of 3 sequences, found tensor<2xi64>}}
  %0 = nn.reverse_sequence %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @range_type(%x: tensor<f32>, %i: tensor<f16>) {
  // expected-error @+1 {{operands have different element types: f32, f16}}
  %0 = nn.range %x, %x, %i : (tensor<f32>, tensor<f32>, tensor<f16>) -> tensor<?xf32>
  func.return
}
// -----
func.func @range_rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{takes scalars, found tensor<2xf32>, tensor<2xf32>, tensor<2xf32>}}
  %0 = nn.range %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?xf32>
  func.return
}
