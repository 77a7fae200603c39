// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @no_kernel(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error @+1 {{does not support requantization mode 'litert_reference'}}
  %0 = nn.exp %x {requantize = #kernel.requantize<litert_reference>} : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  func.return
}
// -----
func.func @float(%x: tensor<2xf32>) {
  // expected-error @+1 {{does not support requantization mode 'litert_xnnpack'}}
  %0 = nn.sigmoid %x {requantize = #kernel.requantize<litert_xnnpack>} : tensor<2xf32>
  func.return
}
// -----
func.func @kernel_only(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error @+1 {{requantization mode 'f64' is for kernels only}}
  %0 = nn.relu %x {requantize = #kernel.requantize<f64>} : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  func.return
}
// -----
func.func @width(%x: tensor<2x!quant.uniform<i16:f32, 0.5>>) {
  // expected-error @+1 {{requantization mode 'litert_reference' requires f32 values quantized to 8 bits with one scale, but got 'tensor<2x!quant.uniform<i16:f32, 5.000000e-01>>'}}
  %0 = nn.hard_swish %x {requantize = #kernel.requantize<litert_reference>} : tensor<2x!quant.uniform<i16:f32, 0.5>>
  func.return
}
// -----
func.func @pool(%x: tensor<1x1x2x2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{requantization mode 'litert_reference' keeps the type '!quant.uniform<i8:f32, 5.000000e-01>' of the operand}}
  %0 = nn.average_pool %x {kernel = [2, 2], requantize = #kernel.requantize<litert_reference>} : (tensor<1x1x2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x1x1x1x!quant.uniform<i8:f32, 0.25>>
  func.return
}
// -----
func.func @softmax(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{requantization mode 'litert_reference' requires a result of scale 0.00390625, but got '!quant.uniform<i8:f32, 5.000000e-01>'}}
  %0 = nn.softmax %x {axis = 0, requantize = #kernel.requantize<litert_reference>} : tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
// -----
func.func @kernel(%x: i32) {
  // expected-error @+1 {{mode litert_reference has no parameters: the operations of a model decide about it}}
  %0 = kernel.requantize %x, %x {mode = #kernel.requantize<litert_reference>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, i32 -> i8
  func.return
}
// -----
func.func @float_without_mode(%x: tensor<2xf32>) {
  // expected-error @+1 {{operands and result must all be quantized or all be plain}}
  %0 = nn.clip %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return
}
