// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rows_to_several_scales(%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{rescales slices to one scale for all of them, found !quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01}>}}
  %0 = nn.gather %x, %i : (tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1xi64>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  func.return
}
// -----
func.func @rows_to_floats(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{operands and result must both be quantized or both not, found result tensor<1xf32>}}
  %0 = nn.gather %x, %i : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1xi64>) -> tensor<1xf32>
  func.return
}
// -----
func.func @rows_by_shifts(%x: tensor<2x!quant.uniform<i8:f32:0, {0.25, 0.2}>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{cannot requantize by shift}}
  %0 = nn.gather %x, %i {requantize = #kernel.requantize<shift, up>} : (tensor<2x!quant.uniform<i8:f32:0, {0.25, 0.2}>>, tensor<1xi64>) -> tensor<1x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @moved_integers(%x: tensor<2x!quant.uniform<i8:f32, 0.25>>, %i: tensor<1xi64>) {
  // expected-error @+1 {{names a requantization, and has no exact integers of one scale to rescale}}
  %0 = nn.gather %x, %i {requantize = #kernel.requantize<f32>} : (tensor<2x!quant.uniform<i8:f32, 0.25>>, tensor<1xi64>) -> tensor<1x!quant.uniform<i8:f32, 0.25>>
  func.return
}
// -----
func.func @gather_indices(%x: tensor<2xf32>, %i: tensor<1xf32>) {
  // expected-error @+1 {{indices are integers, found tensor<1xf32>}}
  %0 = nn.gather %x, %i : (tensor<2xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return
}
// -----
func.func @elements_rank(%x: tensor<2x2xf32>, %i: tensor<1xi64>) {
  // expected-error @+1 {{indices of shape [1] do not have the rank of the data, 2}}
  %0 = nn.gather_elements %x, %i : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return
}
// -----
func.func @elements_size(%x: tensor<2x2xf32>, %i: tensor<1x3xi64>) {
  // expected-error @+1 {{indices of shape [1, 3] exceed the data [2, 2] along axis 1}}
  %0 = nn.gather_elements %x, %i : (tensor<2x2xf32>, tensor<1x3xi64>) -> tensor<1x3xf32>
  func.return
}
// -----
func.func @elements_parameters(%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<1x3xi64>) {
  // expected-error @+1 {{axis 0 of the per-axis parameters does not survive}}
  %0 = nn.gather_elements %x, %i {axis = 1} : (tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1x3xi64>) -> tensor<1x3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @tuple_open(%x: tensor<2xf32>, %i: tensor<2x?xi64>) {
  // expected-error @+1 {{the length of the index tuples, the last size of the indices, must be known}}
  %0 = nn.gather_nd %x, %i : (tensor<2xf32>, tensor<2x?xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @tuple_length(%x: tensor<2xf32>, %i: tensor<2x2xi64>) {
  // expected-error @+1 {{index tuples of 2 numbers do not fit data of rank 1}}
  %0 = nn.gather_nd %x, %i : (tensor<2xf32>, tensor<2x2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @batch_dims(%x: tensor<2x2xf32>, %i: tensor<3x1xi64>) {
  // expected-error @+1 {{data [2, 2] and indices [3, 1] do not agree in their first 1 axes}}
  %0 = nn.gather_nd %x, %i {batch_dims = 1} : (tensor<2x2xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  func.return
}
// -----
func.func @batch_count(%x: tensor<2x2xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{batch_dims is 2, the ranks are 2 and 2}}
  %0 = nn.gather_nd %x, %i {batch_dims = 2} : (tensor<2x2xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @updates_shape(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  // expected-error @+1 {{updates have the shape [2], found tensor<3xf32>}}
  %0 = nn.scatter_elements %x, %i, %u : (tensor<3xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_reduction(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{reduction must be one of ['none', 'add', 'mul', 'min', 'max'], found 'sum'}}
  %0 = nn.scatter_elements %x, %i, %u {reduction = "sum"} : (tensor<3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @scatter_rescale(%x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %i: tensor<2xi64>, %u: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{the reduction 'add' on quantized values needs a rescale}}
  %0 = nn.scatter_elements %x, %i, %u {reduction = "add"} : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<2xi64>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @scatter_parameters(%x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %i: tensor<2x1xi64>, %u: tensor<2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{writes without a rescale}}
  %0 = nn.scatter_nd %x, %i, %u : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<2x1xi64>, tensor<2x!quant.uniform<i8:f32, 0.2>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @one_hot_values(%i: tensor<3xi64>, %v: tensor<3xf32>) {
  // expected-error @+1 {{the values are two, those off and on, found tensor<3xf32>}}
  %0 = nn.one_hot %i, %v {depth = 2} : (tensor<3xi64>, tensor<3xf32>) -> tensor<3x2xf32>
  func.return
}
// -----
func.func @one_hot_depth(%i: tensor<3xi64>, %v: tensor<2xf32>) {
  // expected-error @+1 {{the depth is 0 at least, found -2}}
  %0 = nn.one_hot %i, %v {depth = -2} : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return
}
