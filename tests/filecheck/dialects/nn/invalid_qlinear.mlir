// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @operation(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error @+1 {{has no arithmetic of mode qlinear; accepted: f32, }}
  %0 = nn.relu %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  func.return
}
// -----
func.func @width(%x: tensor<2x!quant.uniform<i16:f32, 0.5:3>>) {
  // expected-error @+1 {{takes values of 8 bits, of f32 and with one scale, in mode qlinear, found tensor<2x!quant.uniform<i16:f32, 5.000000e-01:3>>}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i16:f32, 0.5:3>>
  func.return
}
// -----
func.func @channels(%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error @+1 {{takes values of 8 bits, of f32 and with one scale, in mode qlinear}}
  %0 = nn.mul %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  func.return
}
// -----
func.func @floats(%x: tensor<2xf32>) {
  // expected-error @+1 {{takes values of 8 bits, of f32 and with one scale, in mode qlinear, found tensor<2xf32>}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2xf32>
  func.return
}
// -----
func.func @ratio(%x: tensor<2x!quant.uniform<i8:f32, 1.0e10>>) {
  // expected-error @+1 {{has scales whose ratio takes results of mode qlinear beyond 32 bits}}
  %0 = nn.mul %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!quant.uniform<i8:f32, 1.0e10>>
  func.return
}
// -----
func.func @ratio_beyond_floats(%x: tensor<2x!quant.uniform<i8:f32, 1.0e30>>) {
  // expected-error @+1 {{cannot requantize by qlinear: no f32 holds the ratio of the scales}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : (tensor<2x!quant.uniform<i8:f32, 1.0e30>>, tensor<2x!quant.uniform<i8:f32, 1.0e30>>) -> tensor<2x!quant.uniform<i8:f32, 1.0e-30>>
  func.return
}
// -----
func.func @steps(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{has scales whose ratio takes results of mode qlinear beyond 32 bits}}
  %0 = nn.softmax %x {requantize = #kernel.requantize<qlinear>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 1.0e-20>>
  func.return
}
