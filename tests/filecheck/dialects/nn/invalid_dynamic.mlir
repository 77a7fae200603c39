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
func.func @terms(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3x!quant.uniform<i8:f32:2, {0.5, 0.25, 0.5}>>, %r: tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{weights must have one scale per direction or one per row, but got}}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3x!quant.uniform<i8:f32:2, {0.5, 0.25, 0.5}>>, tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
// As many scales as rows, but each for two rows and one of the two terms.
func.func @blocks(%x: tensor<5x1x2xf32>, %w: tensor<1x8x2x!quant.uniform<i8:f32:{0:1, 1:2, 2:1}, {{{0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}}}>>, %r: tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{weights must have one scale per direction or one per row, but got}}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x2xf32>, tensor<1x8x2x!quant.uniform<i8:f32:{0:1, 1:2, 2:1}, {{{0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}, {0.5, 0.25}}}>>, tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @zero_points(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3x!quant.uniform<i8:f32:1, {0.5:7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, %r: tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) {
  // expected-error @+1 {{all rows of one direction must have the same zero point, but got}}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3x!quant.uniform<i8:f32:1, {0.5:7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, tensor<1x8x2x!quant.uniform<i8:f32, 0.2>>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @zeros(%x: tensor<2xf32>) {
  // expected-error @+1 {{zeros must be one of onnx, onnxruntime, but got 'numpy'}}
  %q, %s, %z = nn.dynamic_quantize %x {zeros = "numpy"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @storage(%x: tensor<2xf32>) {
  // expected-error @+1 {{storage must be one of u8, i8, but got 'i4'}}
  %q, %s, %z = nn.dynamic_quantize %x {storage = "i4"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @scheme(%x: tensor<2xf32>) {
  // expected-error @+1 {{scheme must be one of asymmetric, symmetric, but got 'pow2'}}
  %q, %s, %z = nn.dynamic_quantize %x {scheme = "pow2"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @axes(%x: tensor<2xf32>) {
  // expected-error @+1 {{axes must not be empty; omit them for one range of all elements}}
  %q, %s, %z = nn.dynamic_quantize %x {axes = []} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @axis(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 1 is out of range}}
  %q, %s, %z = nn.dynamic_quantize %x {axes = [1]} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
// -----
func.func @scale(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result with the shape of 'tensor<2x1xf32>', but got 'tensor<f32>'}}
  %q, %s, %z = nn.dynamic_quantize %x {axes = [-1]} : (tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
