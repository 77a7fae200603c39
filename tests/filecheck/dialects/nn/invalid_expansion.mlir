// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @expand(%x: tensor<2xf32>) {
  // expected-error @+1 {{sizes 2 and 3 cannot be broadcast}}
  %0 = nn.expand %x {shape = [3]} : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @expand_negative(%x: tensor<2xf32>) {
  // expected-error @+1 {{sizes must be >= 0, but got [-1]}}
  %0 = nn.expand %x {shape = [-1]} : tensor<2xf32>
  func.return
}
// -----
func.func @tile(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{repeats must have one value >= 0 for each of 2 axes, but got [2]}}
  %0 = nn.tile %x {repeats = [2]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @tile_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.tile %x {repeats = [2]} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @pad_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{pads must have two values for each of 2 axes, but got [1, 1]}}
  %0 = nn.pad %x {pads = [1, 1]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
// -----
func.func @pad_below_zero(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot remove 3 of the 2 elements along axis 0}}
  %0 = nn.pad %x {pads = [-1, -2]} : (tensor<2xf32>) -> tensor<0xf32>
  func.return
}
// -----
func.func @pad_mode(%x: tensor<2xf32>) {
  // expected-error @+1 {{mode must be one of constant, reflect, edge, wrap, but got 'symmetric'}}
  %0 = nn.pad %x {pads = [0, 0], mode = "symmetric"} : tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_mode(%x: tensor<2xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{a padding value requires mode 'constant', but got mode 'edge'}}
  %0 = nn.pad %x, %v {pads = [0, 0], mode = "edge"} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_size(%x: tensor<2xf32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{padding value must be one element, but got 'tensor<2xf32>'}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_type(%x: tensor<2xf32>, %v: tensor<f16>) {
  // expected-error @+1 {{operands must have one element type, but got f32, f16}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : (tensor<2xf32>, tensor<f16>) -> tensor<2xf32>
  func.return
}
// -----
func.func @pad_value_parameters(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %v: tensor<!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{cannot requantize the padding value: expected type '!quant.uniform<i8:f32, 1.000000e-01>', but got '!quant.uniform<i8:f32, 2.000000e-01>'}}
  %0 = nn.pad %x, %v {pads = [0, 0]} : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.2>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @pad_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.pad %x {pads = [1, 0]} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @trilu(%x: tensor<2xf32>) {
  // expected-error @+1 {{input must have rank >= 2, but got 'tensor<2xf32>'}}
  %0 = nn.trilu %x : tensor<2xf32>
  func.return
}
