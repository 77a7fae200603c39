// RUN: qmlir run %s

!rows = !quant.uniform<i8:f32:{0:1, 1:1}, {{{1.0}, {1.0}, {1.0}, {0.5}}, {{1.0}, {1.0}, {1.0}, {0.0009765625}}}>

// From -1 to 254 in 255 steps of 1: the zero point is 1, and halves go to even numbers before it is added.
func.func @steps() {
  %x = nn.constant dense<[-1.0, 0.0, 0.5, 1.5, 254.0]> : tensor<5xf32>
  %q, %s, %z = nn.dynamic_quantize %x : (tensor<5xf32>) -> (tensor<5xui8>, tensor<f32>, tensor<ui8>)
  %0 = nn.constant dense<[0, 1, 1, 3, 255]> : tensor<5xui8>
  %1 = nn.constant dense<1.0> : tensor<f32>
  %2 = nn.constant dense<1> : tensor<ui8>
  check.expect_eq %q, %0 : tensor<5xui8>
  check.expect_eq %s, %1 : tensor<f32>
  check.expect_eq %z, %2 : tensor<ui8>
  func.return
}

// The range is widened to hold 0 on either side.
func.func @one_side() {
  %x = nn.constant dense<[255.0, 510.0]> : tensor<2xf32>
  %q, %s, %z = nn.dynamic_quantize %x : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  %0 = nn.constant dense<[128, 255]> : tensor<2xui8>
  %1 = nn.constant dense<2.0> : tensor<f32>
  %2 = nn.constant dense<0> : tensor<ui8>
  check.expect_eq %q, %0 : tensor<2xui8>
  check.expect_eq %s, %1 : tensor<f32>
  check.expect_eq %z, %2 : tensor<ui8>
  func.return
}

// No elements, and zeros only: a scale of 1 / 255.
func.func @nothing() {
  %x = nn.constant dense<0.0> : tensor<0x3xf32>
  %y = nn.constant dense<0.0> : tensor<2xf32>
  %q, %s, %z = nn.dynamic_quantize %x : (tensor<0x3xf32>) -> (tensor<0x3xui8>, tensor<f32>, tensor<ui8>)
  %r, %t, %u = nn.dynamic_quantize %y : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  %0 = nn.constant dense<0> : tensor<2xui8>
  %one = nn.constant dense<1.0> : tensor<f32>
  %steps = nn.constant dense<255.0> : tensor<f32>
  %1 = nn.div %one, %steps : tensor<f32>
  %2 = nn.constant dense<0> : tensor<ui8>
  check.expect_eq %r, %0 : tensor<2xui8>
  check.expect_eq %s, %1 : tensor<f32>
  check.expect_eq %t, %1 : tensor<f32>
  check.expect_eq %z, %2 : tensor<ui8>
  check.expect_eq %u, %2 : tensor<ui8>
  func.return
}

// ONNX Runtime has a scale of 1 there, and the same of all else.
func.func @nothing_in_onnx_runtime() {
  %y = nn.constant dense<0.0> : tensor<2xf32>
  %r, %t, %u = nn.dynamic_quantize %y {zeros = "onnxruntime"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  %0 = nn.constant dense<0> : tensor<2xui8>
  %1 = nn.constant dense<1.0> : tensor<f32>
  %2 = nn.constant dense<0> : tensor<ui8>
  check.expect_eq %r, %0 : tensor<2xui8>
  check.expect_eq %t, %1 : tensor<f32>
  check.expect_eq %u, %2 : tensor<ui8>
  %x = nn.constant dense<[255.0, 510.0]> : tensor<2xf32>
  %q, %s, %z = nn.dynamic_quantize %x {zeros = "onnxruntime"} : (tensor<2xf32>) -> (tensor<2xui8>, tensor<f32>, tensor<ui8>)
  %3 = nn.constant dense<2.0> : tensor<f32>
  check.expect_eq %s, %3 : tensor<f32>
  func.return
}

// Both directions, with one scale per row: those of the cell gates are 0.5, as below, and 2^-10, so that the second state
// is tanh(2 * 2^-10 * 255) / 2.
func.func @lstm_in_both_directions() {
  %x = nn.constant dense<255.0> : tensor<1x1x1xf32>
  %w = nn.constant dense<[[[0], [0], [0], [2]], [[0], [0], [0], [2]]]> : tensor<2x4x1xi8> -> tensor<2x4x1x!rows>
  %h, %l, %c = nn.dynamic_lstm %x, %w, %w {hidden_size = 1, direction = "bidirectional"} : (tensor<1x1x1xf32>, tensor<2x4x1x!rows>, tensor<2x4x1x!rows>) -> (tensor<1x2x1x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  %0 = nn.constant dense<[[[0.5]], [[0.23028987]]]> : tensor<2x1x1xf32>
  check.expect_close %c, %0 {relative = 1.0e-6} : tensor<2x1x1xf32>
  func.return
}

// One step of one cell: x = 255 of scale 1, weights of 0 but for the input of the cell gate, 2 * 0.5 * 255, which tanh
// takes to 1; the other gates are 1/2, so that c = 1/2 and h = tanh(1/2) / 2.
func.func @lstm() {
  %x = nn.constant dense<255.0> : tensor<1x1x1xf32>
  %w = nn.constant dense<[[[128], [128], [128], [130]]]> : tensor<1x4x1xui8> -> tensor<1x4x1x!quant.uniform<u8:f32, 0.5:128>>
  %r = nn.constant dense<1> : tensor<1x4x1xi8> -> tensor<1x4x1x!quant.uniform<i8:f32:1, {1.0, 1.0, 2.0, 0.5}>>
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 1} : (tensor<1x1x1xf32>, tensor<1x4x1x!quant.uniform<u8:f32, 0.5:128>>, tensor<1x4x1x!quant.uniform<i8:f32:1, {1.0, 1.0, 2.0, 0.5}>>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  %0 = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %1 = nn.constant dense<0.23105858> : tensor<1x1x1xf32>
  check.expect_eq %c, %0 : tensor<1x1x1xf32>
  check.expect_close %l, %1 {relative = 1.0e-6} : tensor<1x1x1xf32>
  func.return
}
