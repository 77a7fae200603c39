// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @element_kind(%x: tensor<2xi8>) {
  // expected-error @+1 {{'nn.sigmoid' op (gate) does not support operand type 'tensor<2xi8>'; its elements may be float, quantized}}
  %0 = nn.sigmoid %x : tensor<2xi8> {origin = "gate"}
  func.return
}
// -----
func.func @mixed_kinds(%x: tensor<2xf32>, %y: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{operands must have the same kind of element type, but got tensor<2xf32> and tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>; insert a cast}}
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  func.return
}
// -----
func.func @mixed_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{operands must have one element type, but got f32, f16}}
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}
// -----
func.func @broadcast(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{sizes 2 and 3 cannot be broadcast}}
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @result_shape(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected a result with the shape of 'tensor<2xf32>', but got 'tensor<3xf32>'}}
  %0 = nn.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @result_element(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected a result with elements of type 'f32', but got 'f64'}}
  %0 = nn.relu %x : (tensor<2xf32>) -> tensor<2xf64>
  func.return
}
// -----
func.func @half_quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{operands and result must all be quantized or all be plain, but got result 'tensor<2xf32>'; use quant.qcast or quant.dcast}}
  %0 = nn.relu %x : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  func.return
}
// -----
func.func @parameters_of_tensor(%x: tensor<2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) {
  // expected-error @+1 {{quantized dimension 1 must be less than tensor rank 1}}
  %0 = nn.relu %x : tensor<2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
  func.return
}
// -----
func.func @shared_parameters(%x: tensor<2x3x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{cannot requantize the elements it moves: expected result elements of type '!quant.uniform<i8:f32, 1.000000e-01>'}}
  %0 = nn.reshape %x : (tensor<2x3x!quant.uniform<i8:f32, 0.1>>) -> tensor<6x!quant.uniform<i8:f32, 0.2>>
  func.return
}
// -----
func.func @lost_axis(%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.reshape %x : (tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<6x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @reshape_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{cannot reshape [2, 3] (6 elements) to [5] (5 elements)}}
  %0 = nn.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  func.return
}
// -----
func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[0, 0] is not a permutation of 2 axes}}
  %0 = nn.transpose %x {permutation = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @axis_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = nn.softmax %x {axis = 2} : tensor<2x3xf32>
  func.return
}
// -----
func.func @slice_step(%x: tensor<4xf32>) {
  // expected-error @+1 {{step must not be 0}}
  %0 = nn.slice %x {starts = [0], ends = [4], steps = [0]} : tensor<4xf32>
  func.return
}
// -----
func.func @concat_sizes(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{operands must agree along axis 1, but got shapes [[2, 3], [2, 4]]}}
  %0 = nn.concat %x, %y {axis = 0} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @concat_parameters(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{cannot requantize the elements it joins: operands must have one type, but got !quant.uniform<i8:f32, 1.000000e-01>, !quant.uniform<i8:f32, 2.000000e-01>}}
  %0 = nn.concat %x, %y {axis = 0} : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32, 0.2>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @matmul_sum(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{operands of shapes [2, 3] and [4, 2] cannot be multiplied: inner dimensions are 3 and 4}}
  %0 = nn.matmul %x, %y : (tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  func.return
}
// -----
func.func @weight_axis(%x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %w: tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) {
  // expected-error @+1 {{per-channel weights must be quantized along axis 0, but got axis 1}}
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @bias_scale(%x: tensor<1x2x!quant.uniform<i8:f32, 0.5>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i32:f32, 0.5>>) {
  // expected-error @+1 {{bias must have the scale of the data times the scale of the weights (0.25), but got 0.5}}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i32:f32, 0.5>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @bias_zero_point(%x: tensor<1x2x!quant.uniform<i8:f32, 0.5>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i32:f32, 0.25:1>>) {
  // expected-error @+1 {{bias must have zero point 0, but got '!quant.uniform<i32:f32, 2.500000e-01:1>'}}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i32:f32, 0.25:1>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @data_per_axis(%x: tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, %w: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{data must have one scale, but got '!quant.uniform<i8:f32:1, {1.000000e-01, 2.000000e-01}>'}}
  %0 = nn.matmul %x, %w : (tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @conv_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<2x2x1x1xf32>) {
  // expected-error @+1 {{weights expect 2 x 1 input channels, but the data has 3}}
  %0 = nn.conv %x, %w : (tensor<1x3x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// -----
func.func @conv_groups(%x: tensor<1x4x4x4xf32>, %w: tensor<3x2x1x1xf32>) {
  // expected-error @+1 {{groups (2) must divide the number of output channels (3)}}
  %0 = nn.conv %x, %w {groups = 2} : (tensor<1x4x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
  func.return
}
// -----
func.func @conv_window(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x3x3xf32>) {
  // expected-error @+1 {{window of 3 elements is larger than spatial axis 0 (2 elements, padding 0 and 0)}}
  %0 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  func.return
}
// -----
func.func @pads_count(%x: tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{pads must be 4 values >= 0, but got [1, 1]}}
  %0 = nn.max_pool %x {kernel = [2, 2], pads = [1, 1]} : tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @batch_norm_channels(%x: tensor<1x3x4xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{parameters must have one element per channel (3), but got 'tensor<2xf32>'}}
  %0 = nn.batch_norm %x, %s, %s, %s, %s : (tensor<1x3x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  func.return
}
// -----
func.func @recurrence_shape(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x3xf32>) {
  // expected-error @+1 {{expected recurrence of shape [1, 8, 2], but got 'tensor<1x8x3xf32>'}}
  %a, %b, %c = nn.lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x3xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @direction(%x: tensor<5x1x3xf32>, %w: tensor<1x6x3xf32>, %r: tensor<1x6x2xf32>) {
  // expected-error @+1 {{direction must be one of forward, reverse, bidirectional, but got 'sideways'}}
  %a, %b = nn.gru %x, %w, %r {hidden_size = 2, direction = "sideways"} : (tensor<5x1x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @constant_storage() {
  // expected-error @+1 {{expected a value of type 'tensor<2xi8>' for result 'tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>', but got 'tensor<2xi16>'}}
  %0 = nn.constant dense<1> : tensor<2xi16> -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @unknown_property(%x: tensor<2xf32>) {
  // expected-error @+1 {{nn.relu has no property 'alpha'}}
  %0 = nn.relu %x {alpha = 1.0} : tensor<2xf32>
  func.return
}
// -----
func.func @missing_operand(%x: tensor<2xf32>) {
  // expected-error @+1 {{nn.lstm expects more operands}}
  %0 = nn.lstm %x {hidden_size = 2} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @island_of_quantized_values(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{operands and results must be plain tensors or sequences of them, but got 'tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>'}}
  %0 = nn.onnx_island %x {model = dense<1> : tensor<4xi8>, reason = ""} : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2xf32>
  func.return
}
// -----
func.func @island_of_numbers(%x: tensor<2xf32>) {
  // expected-error @+1 {{model must be a 1-D tensor of i8, but got 'tensor<4xi32>'}}
  %0 = nn.onnx_island %x {model = dense<1> : tensor<4xi32>, reason = ""} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @island_without_a_tensor(%x: index) {
  // expected-error @+1 {{operands and results must be plain tensors or sequences of them, but got 'index'}}
  %0 = nn.onnx_island %x {model = dense<1> : tensor<4xi8>, reason = ""} : (index) -> tensor<2xf32>
  func.return
}
