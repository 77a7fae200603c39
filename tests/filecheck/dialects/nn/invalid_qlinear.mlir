// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @operation(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error @+1 {{does not support requantization mode 'qlinear' (available: f32, single_round, double_round, shift, litert_reference, litert_xnnpack)}}
  %0 = nn.relu %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  func.return
}
// -----
func.func @width(%x: tensor<2x!quant.uniform<i16:f32, 0.5:3>>) {
  // expected-error @+1 {{requantization mode 'qlinear' requires f32 values quantized to 8 bits with one scale, but got 'tensor<2x!quant.uniform<i16:f32, 5.000000e-01:3>>'}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i16:f32, 0.5:3>>
  func.return
}
// -----
func.func @channels(%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error @+1 {{requantization mode 'qlinear' requires f32 values quantized to 8 bits with one scale, but got 'tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>>'}}
  %0 = nn.mul %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return
}
// -----
func.func @floats(%x: tensor<2xf32>) {
  // expected-error @+1 {{requantization mode 'qlinear' requires f32 values quantized to 8 bits with one scale, but got 'tensor<2xf32>'}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2xf32>
  func.return
}
// -----
func.func @ratio(%x: tensor<2x!quant.uniform<i8:f32, 1.0e10>>) {
  // expected-error @+1 {{the ratio of its scales takes results beyond 32 bits in requantization mode 'qlinear'}}
  %0 = nn.mul %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32, 1.0e10>>
  func.return
}
// -----
func.func @ratio_beyond_floats(%x: tensor<2x!quant.uniform<i8:f32, 1.0e30>>) {
  // expected-error @+1 {{cannot requantize in mode 'qlinear': the ratio of the scales 1.0000000150474662e+30 and 1.0000000031710769e-30 is beyond the range of f32}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : (tensor<2x!quant.uniform<i8:f32, 1.0e30>>, tensor<2x!quant.uniform<i8:f32, 1.0e30>>) -> tensor<2x!quant.uniform<i8:f32, 1.0e-30>>
  func.return
}
// -----
func.func @steps(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{the ratio of its scales takes results beyond 32 bits in requantization mode 'qlinear'}}
  %0 = nn.softmax %x {requantize = #kernel.requantize<qlinear>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 1.0e-20>>
  func.return
}
