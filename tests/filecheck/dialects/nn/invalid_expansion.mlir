// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @expand(%x: tensor<2xf32>) {
  // expected-error @+1 {{sizes 2 and 3 do not broadcast}}
  %0 = nn.expand %x {shape = [3]} : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @expand_negative(%x: tensor<2xf32>) {
  // expected-error @+1 {{expands to sizes of 0 at least, found [-1]}}
  %0 = nn.expand %x {shape = [-1]} : tensor<2xf32>
  func.return
}
// -----
func.func @tile(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{repeats are a number of 0 at least for each of 2 axes, found [2]}}
  %0 = nn.tile %x {repeats = [2]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @tile_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0 of the per-axis parameters does not survive}}
  %0 = nn.tile %x {repeats = [2]} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @pad_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{pads are two numbers for each of 2 axes, found [1, 1]}}
  %0 = nn.pad %x {pads = [1, 1]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @pad_below_zero(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 0 of 2 elements cannot lose 3}}
  %0 = nn.pad %x {pads = [-1, -2]} : (tensor<2xf32>) -> tensor<0xf32>
  func.return
}
// -----
func.func @pad_mode(%x: tensor<2xf32>) {
  // expected-error @+1 {{mode must be one of ['constant', 'reflect', 'edge', 'wrap'], found 'symmetric'}}
  %0 = nn.pad %x {pads = [0, 0], mode = "symmetric"} : tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_mode(%x: tensor<2xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{takes a value in the mode 'constant', found 'edge'}}
  %0 = nn.pad %x, %v {pads = [0, 0], mode = "edge"} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_size(%x: tensor<2xf32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{the value is one element, found tensor<2xf32>}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_type(%x: tensor<2xf32>, %v: tensor<f16>) {
  // expected-error @+1 {{operands have different element types: f32, f16}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : (tensor<2xf32>, tensor<f16>) -> tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_parameters(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %v: tensor<!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{pads without a rescale}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.2>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @pad_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0 of the per-axis parameters does not survive}}
  %0 = nn.pad %x {pads = [1, 0]} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @trilu(%x: tensor<2xf32>) {
  // expected-error @+1 {{takes matrices, found tensor<2xf32>}}
  %0 = nn.trilu %x : tensor<2xf32>
  func.return
}
