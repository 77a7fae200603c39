// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rows_to_several_scales(%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{a gather that requantizes must have a result with one scale, but got '!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01}>'}}
  %0 = nn.gather %x, %i : (tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1xi64>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  func.return
}
// -----
func.func @rows_to_floats(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{operands and result must all be quantized or all be plain, but got result 'tensor<1xf32>'; use quant.qcast or quant.dcast}}
  %0 = nn.gather %x, %i : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1xi64>) -> tensor<1xf32>
  func.return
}
// -----
func.func @rows_by_shifts(%x: tensor<2x!quant.uniform<i8:f32:0, {0.25, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{cannot requantize in mode 'shift': a shift requires a power of two as the ratio of scales, but got}}
  %0 = nn.gather %x, %i {requantize = #kernel.requantize<shift, up>} : (tensor<2x!quant.uniform<i8:f32:0, {0.25, 0.2}>>, tensor<1xi64>) -> tensor<1x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @moved_integers(%x: tensor<2x!quant.uniform<i8:f32, 0.25>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{'requantize' requires integers with one scale to rescale}}
  %0 = nn.gather %x, %i {requantize = #kernel.requantize<f32>} : (tensor<2x!quant.uniform<i8:f32, 0.25>>, tensor<1xi64>) -> tensor<1x!quant.uniform<i8:f32, 0.25>>
  func.return
}
// -----
func.func @gather_indices(%x: tensor<2xf32>, %i: tensor<1xf32>) {
  // expected-error @+1 {{indices must be integers, but got 'tensor<1xf32>'}}
  %0 = nn.gather %x, %i : (tensor<2xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return
}
// -----
func.func @elements_rank(%x: tensor<2x2xf32>, %i: tensor<1xi64>) {
  // expected-error @+1 {{indices must have the rank of the data (2), but got shape [1]}}
  %0 = nn.gather_elements %x, %i : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return
}
// -----
func.func @elements_size(%x: tensor<2x2xf32>, %i: tensor<1x3xi64>) {
  // expected-error @+1 {{indices of shape [1, 3] are larger than the data [2, 2] along axis 1}}
  %0 = nn.gather_elements %x, %i : (tensor<2x2xf32>, tensor<1x3xi64>) -> tensor<1x3xf32>
  func.return
}
// -----
func.func @elements_parameters(%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1x3xi64>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.gather_elements %x, %i {axis = 1} : (tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1x3xi64>) -> tensor<1x3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @tuple_open(%x: tensor<2xf32>, %i: tensor<2x?xi64>) {
  // expected-error @+1 {{the last dimension of indices must be static}}
  %0 = nn.gather_nd %x, %i : (tensor<2xf32>, tensor<2x?xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @tuple_length(%x: tensor<2xf32>, %i: tensor<2x2xi64>) {
  // expected-error @+1 {{the last dimension of indices must be between 1 and the number of indexed axes, but got 2 for data of rank 1}}
  %0 = nn.gather_nd %x, %i : (tensor<2xf32>, tensor<2x2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @batch_dims(%x: tensor<2x2xf32>, %i: tensor<3x1xi64>) {
  // expected-error @+1 {{data [2, 2] and indices [3, 1] must agree in the first 1 dimensions}}
  %0 = nn.gather_nd %x, %i {batch_dims = 1} : (tensor<2x2xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  func.return
}
// -----
func.func @batch_count(%x: tensor<2x2xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{batch_dims must be smaller than the ranks of data (2) and indices (2), but got 2}}
  %0 = nn.gather_nd %x, %i {batch_dims = 2} : (tensor<2x2xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @updates_shape(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error @+1 {{expected updates of shape [2], but got 'tensor<3xf32>'}}
  %0 = nn.scatter_elements %x, %i, %u : (tensor<3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_reduction(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{reduction must be one of none, add, mul, min, max, but got 'sum'}}
  %0 = nn.scatter_elements %x, %i, %u {reduction = "sum"} : (tensor<3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_rescale(%x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %i: tensor<2xi64>, %u: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{reduction 'add' is not supported on quantized values}}
  %0 = nn.scatter_elements %x, %i, %u {reduction = "add"} : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<2xi64>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @scatter_parameters(%x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %i: tensor<2x1xi64>, %u: tensor<2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{cannot requantize the updates: expected elements of type '!quant.uniform<i8:f32, 1.000000e-01>', but got '!quant.uniform<i8:f32, 2.000000e-01>'}}
  %0 = nn.scatter_nd %x, %i, %u : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<2x1xi64>, tensor<2x!quant.uniform<i8:f32, 0.2>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @one_hot_values(%i: tensor<3xi64>, %v: tensor<3xf32>) {
  // expected-error @+1 {{values must be two elements (off, on), but got 'tensor<3xf32>'}}
  %0 = nn.one_hot %i, %v {depth = 2} : (tensor<3xi64>, tensor<3xf32>) -> tensor<3x2xf32>
  func.return
}
// -----
func.func @one_hot_depth(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{depth must be >= 0, but got -2}}
  %0 = nn.one_hot %i, %v {depth = -2} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return
}
