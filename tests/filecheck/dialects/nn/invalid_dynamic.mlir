// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @element(%x: tensor<2xf16>) {
  // expected-error @+1 {{input must be a tensor of f32, but got 'tensor<2xf16>'}}
  %q, %s, %z = nn.dynamic_quantize %x : (tensor<2xf16>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @weights(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{weights must be quantized to 8 bits, but got 'tensor<1x8x3xf32>'}}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @width(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3x!quant.uniform<i8:f32, 0.2>>, %r: tensor<1x8x2x!quant.uniform<i16:f32, 0.2>>) {
  // expected-error @+1 {{weights must be quantized to 8 bits, but got 'tensor<1x8x2x!quant.uniform<i16:f32, 2.000000e-01>>'}}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3x!quant.uniform<i8:f32, 0.2>>, tensor<1x8x2x!quant.uniform<i16:f32, 0.2>>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @zeros(%x: tensor<2xf32>) {
  // expected-error @+1 {{zeros must be one of onnx, onnxruntime, but got 'numpy'}}
  %q, %s, %z = nn.dynamic_quantize %x {zeros = "numpy"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
