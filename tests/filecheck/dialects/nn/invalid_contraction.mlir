// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @scalar(%x: tensor<f32>, %y: tensor<2x2xf32>) {
  // expected-error @+1 {{operands must not be scalars}}
  %0 = nn.matmul %x, %y : (tensor<f32>, tensor<2x2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @batch(%x: tensor<2x1x2xf32>, %y: tensor<3x2x2xf32>) {
  // expected-error @+1 {{sizes 2 and 3 cannot be broadcast}}
  %0 = nn.matmul %x, %y : (tensor<2x1x2xf32>, tensor<3x2x2xf32>) -> tensor<2x1x2xf32>
  func.return
}
// -----
func.func @conv_rank(%x: tensor<1x1x2xf32>, %w: tensor<1x1x2x2xf32>) {
  // expected-error @+1 {{data and weights must have the same rank, at least 3, but got 'tensor<1x1x2xf32>' and 'tensor<1x1x2x2xf32>'}}
  %0 = nn.conv %x, %w : (tensor<1x1x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x1xf32>
  func.return
}
// -----
func.func @conv_bias(%x: tensor<1x1x2xf32>, %w: tensor<2x1x1xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{bias must have one element per output channel (2), but got 'tensor<3xf32>'}}
  %0 = nn.conv %x, %w, %b : (tensor<1x1x2xf32>, tensor<2x1x1xf32>, tensor<3xf32>) -> tensor<1x2x2xf32>
  func.return
}
// -----
func.func @strides(%x: tensor<1x1x2xf32>, %w: tensor<2x1x1xf32>) {
  // expected-error @+1 {{strides must be 1 values >= 1, but got [0]}}
  %0 = nn.conv %x, %w {strides = [0]} : (tensor<1x1x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2xf32>
  func.return
}
// -----
func.func @transposed_channels(%x: tensor<1x2x2xf32>, %w: tensor<3x1x1xf32>) {
  // expected-error @+1 {{weights expect 3 input channels, but the data has 2}}
  %0 = nn.conv_transpose %x, %w : (tensor<1x2x2xf32>, tensor<3x1x1xf32>) -> tensor<1x1x2xf32>
  func.return
}
// -----
func.func @transposed_groups(%x: tensor<1x3x2xf32>, %w: tensor<3x1x1xf32>) {
  // expected-error @+1 {{groups (2) must divide the number of input channels (3)}}
  %0 = nn.conv_transpose %x, %w {groups = 2} : (tensor<1x3x2xf32>, tensor<3x1x1xf32>) -> tensor<1x2x2xf32>
  func.return
}
// -----
func.func @transposed_bias(%x: tensor<1x2x2xf32>, %w: tensor<2x3x1xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{bias must have one element per output channel (6), but got 'tensor<3xf32>'}}
  %0 = nn.conv_transpose %x, %w, %b {groups = 2} : (tensor<1x2x2xf32>, tensor<2x3x1xf32>, tensor<3xf32>) -> tensor<1x6x2xf32>
  func.return
}
// -----
func.func @output_padding(%x: tensor<1x1x2xf32>, %w: tensor<1x1x1xf32>) {
  // expected-error @+1 {{output_padding must be 1 values >= 0, but got [-1]}}
  %0 = nn.conv_transpose %x, %w {output_padding = [-1]} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  func.return
}
// -----
func.func @all_cut_off(%x: tensor<1x1x2xf32>, %w: tensor<1x1x1xf32>) {
  // expected-error @+1 {{padding (2, 1) exceeds the 2 elements of spatial axis 0}}
  %0 = nn.conv_transpose %x, %w {pads = [2, 1]} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x0xf32>
  func.return
}
// -----
func.func @transposed_channels(%x: tensor<1x2x2x!quant.uniform<i8:f32, 0.5>>, %w: tensor<2x3x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error @+1 {{per-channel weights must be quantized along axis 1, but got axis 0}}
  %0 = nn.conv_transpose %x, %w : (tensor<1x2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x3x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x3x2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @transposed_blocks(%x: tensor<1x4x2x!quant.uniform<i8:f32, 0.5>>, %w: tensor<4x1x1x!quant.uniform<i8:f32:{0:4}, {{{0.5}}}>>) {
  // expected-error @+1 {{the block size of weights must divide the input channels of a group (2), but got}}
  %0 = nn.conv_transpose %x, %w {groups = 2} : (tensor<1x4x2x!quant.uniform<i8:f32, 0.5>>, tensor<4x1x1x!quant.uniform<i8:f32:{0:4}, {{{0.5}}}>>) -> tensor<1x2x2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @transposed_result_along_images(%x: tensor<2x1x1x!quant.uniform<i8:f32, 0.5>>, %w: tensor<1x1x1x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{result must have one scale or one per channel, but got '!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>'}}
  %0 = nn.conv_transpose %x, %w : (tensor<2x1x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x1x1x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x1x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return
}
// -----
func.func @transposed_bias_scale(%x: tensor<1x2x1x!quant.uniform<i8:f32, 0.5>>, %w: tensor<2x2x1x!quant.uniform<i8:f32:1, {0.5, 0.25}>>, %b: tensor<4x!quant.uniform<i32:f32:0, {0.25, 0.25, 0.125, 0.125}>>) {
  // expected-error @+1 {{bias must have the scale of the data times the scale of the weights ([0.25, 0.125, 0.25, 0.125]), but got [0.25, 0.25, 0.125, 0.125]}}
  %0 = nn.conv_transpose %x, %w, %b {groups = 2} : (tensor<1x2x1x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x1x!quant.uniform<i8:f32:1, {0.5, 0.25}>>, tensor<4x!quant.uniform<i32:f32:0, {0.25, 0.25, 0.125, 0.125}>>) -> tensor<1x4x1x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @layer_of_a_vector(%x: tensor<3xf32>, %w: tensor<2x3xf32>) {
  // expected-error @+1 {{expected data of rank >= 2 and weights of rank 2, but got 'tensor<3xf32>' and 'tensor<2x3xf32>'}}
  %0 = nn.fully_connected %x, %w : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @layer_of_many_weights(%x: tensor<1x3xf32>, %w: tensor<1x2x3xf32>) {
  // expected-error @+1 {{expected data of rank >= 2 and weights of rank 2, but got 'tensor<1x3xf32>' and 'tensor<1x2x3xf32>'}}
  %0 = nn.fully_connected %x, %w : (tensor<1x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2xf32>
  func.return
}
// -----
func.func @total_of_floats(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) {
  // expected-error @+1 {{lhs_total requires a quantized lhs and a number >= 0, but got 5 : i64}}
  %0 = nn.matmul %x, %w {lhs_total = 5 : i64} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}
