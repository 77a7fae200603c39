// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-nn-to-kernel

func.func @starts_at_run_time(%x: tensor<4xf32>, %starts: tensor<1xi64>) -> tensor<2xf32> {
  %ends = nn.constant dense<4> : tensor<1xi64>
  // expected-error @+1 {{'nn.slice' op cannot be compiled: starts, ends, axes and steps must be constant}}
  %0 = nn.slice %x, %starts, %ends : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @known_index_out_of_range(%x: tensor<4xf32>) -> tensor<1xf32> {
  %i = nn.constant dense<4> : tensor<1xi64>
  // expected-error @+1 {{'nn.gather' op index 4 is out of range for 4 elements}}
  %0 = nn.gather %x, %i : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return %0 : tensor<1xf32>
}
// -----
func.func @no_elements_to_take(%x: tensor<0xf32>, %i: tensor<2xi64>) -> tensor<2xf32> {
  // expected-error @+1 {{'nn.gather' op cannot index an empty axis}}
  %0 = nn.gather %x, %i : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @size_of_the_data(%x: tensor<4xf32>) -> tensor<1x2xi64> {
  // expected-error @+1 {{'nn.non_zero' op cannot be compiled: its output shape depends on the data}}
  %0 = nn.non_zero %x : (tensor<4xf32>) -> tensor<1x2xi64>
  func.return %0 : tensor<1x2xi64>
}
// -----
func.func @sequence(%x: tensor<4xf32>) -> tensor<i64> {
  // expected-error @+1 {{'nn.sequence_construct' op cannot be compiled: sequences of tensors are not supported}}
  %s = nn.sequence_construct %x : (tensor<4xf32>) -> !nn.sequence<tensor<4xf32>>
  %n = nn.sequence_length %s : (!nn.sequence<tensor<4xf32>>) -> tensor<i64>
  func.return %n : tensor<i64>
}
// -----
func.func @text(%x: tensor<4x!nn.string>) -> tensor<2x2x!nn.string> {
  // expected-error @+1 {{'nn.reshape' op cannot be compiled: operand 'tensor<4x!nn.string>' is not a tensor of numbers}}
  %0 = nn.reshape %x : (tensor<4x!nn.string>) -> tensor<2x2x!nn.string>
  func.return %0 : tensor<2x2x!nn.string>
}
// -----
func.func @paddings_at_run_time(%x: tensor<2xi8>, %p: tensor<2xi64>) -> tensor<4xi8> {
  // expected-error @+1 {{'nn.pad' op cannot be compiled: pads and axes must be constant}}
  %0 = nn.pad %x, _, %p {axes = [0]} : (tensor<2xi8>, tensor<2xi64>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
// -----
func.func @padded_axes_at_run_time(%x: tensor<2xi8>, %a: tensor<1xi64>) -> tensor<4xi8> {
  // expected-error @+1 {{'nn.pad' op cannot be compiled: pads and axes must be constant}}
  %0 = nn.pad %x, _, _, %a {pads = [1, 1]} : (tensor<2xi8>, tensor<1xi64>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
