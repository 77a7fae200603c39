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

// A range for each row; each zero point is that of its row, and i8 holds 128 less than u8.
func.func @rows() {
  %x = nn.constant dense<[[-1.0, 0.0, 0.5, 1.5, 254.0], [510.0, 0.0, 1.0, 3.0, 255.0]]> : tensor<2x5xf32>
  %q, %s, %z = nn.dynamic_quantize %x {axes = [-1]} : (tensor<2x5xf32>) -> (tensor<2x5xui8>, tensor<2x1xf32>, tensor<2x1xui8>)
  %r, %t, %u = nn.dynamic_quantize %x {storage = "i8", axes = [-1]} : (tensor<2x5xf32>) -> (tensor<2x5xi8>, tensor<2x1xf32>, tensor<2x1xi8>)
  %0 = nn.constant dense<[[0, 1, 1, 3, 255], [255, 0, 0, 2, 128]]> : tensor<2x5xui8>
  %1 = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %2 = nn.constant dense<[[1], [0]]> : tensor<2x1xui8>
  %3 = nn.constant dense<[[-128, -127, -127, -125, 127], [127, -128, -128, -126, 0]]> : tensor<2x5xi8>
  %4 = nn.constant dense<[[-127], [-128]]> : tensor<2x1xi8>
  check.expect_eq %q, %0 : tensor<2x5xui8>
  check.expect_eq %s, %1 : tensor<2x1xf32>
  check.expect_eq %z, %2 : tensor<2x1xui8>
  check.expect_eq %r, %3 : tensor<2x5xi8>
  check.expect_eq %t, %1 : tensor<2x1xf32>
  check.expect_eq %u, %4 : tensor<2x1xi8>
  func.return
}

// 127 steps of the largest absolute value on either side of 0; a row of zeros has the scale 1 / 127, or 1.
func.func @symmetric() {
  %x = nn.constant dense<[[-127.0, 0.5, 1.5, 63.5], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf32>
  %q, %s, %z = nn.dynamic_quantize %x {storage = "i8", scheme = "symmetric", axes = [1]} : (tensor<2x4xf32>) -> (tensor<2x4xi8>, tensor<2x1xf32>, tensor<i8>)
  %r, %t, %u = nn.dynamic_quantize %x {zeros = "onnxruntime", scheme = "symmetric", axes = [1]} : (tensor<2x4xf32>) -> (tensor<2x4xui8>, tensor<2x1xf32>, tensor<ui8>)
  %0 = nn.constant dense<[[-127, 0, 2, 64], [0, 0, 0, 0]]> : tensor<2x4xi8>
  %1 = nn.constant dense<[[127.0], [1.0]]> : tensor<2x1xf32>
  %steps = nn.constant dense<127.0> : tensor<f32>
  %2 = nn.div %1, %steps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = nn.constant dense<0> : tensor<i8>
  %4 = nn.constant dense<[[1, 128, 130, 192], [128, 128, 128, 128]]> : tensor<2x4xui8>
  %5 = nn.constant dense<1.0> : tensor<2x1xf32>
  %6 = nn.constant dense<128> : tensor<ui8>
  check.expect_eq %q, %0 : tensor<2x4xi8>
  check.expect_eq %s, %2 : tensor<2x1xf32>
  check.expect_eq %z, %3 : tensor<i8>
  check.expect_eq %r, %4 : tensor<2x4xui8>
  check.expect_eq %t, %5 : tensor<2x1xf32>
  check.expect_eq %u, %6 : tensor<ui8>
  func.return
}

// What is not finite makes the scale of its row NaN or infinite, and its integers 0; other rows are as without it.
func.func @not_finite() {
  %x = nn.constant dense<[[0x7FC00000, 1.0], [2.0, 255.0], [1.0, 0x7F800000]]> : tensor<3x2xf32>
  %q, %s, %z = nn.dynamic_quantize %x {axes = [-1]} : (tensor<3x2xf32>) -> (tensor<3x2xui8>, tensor<3x1xf32>, tensor<3x1xui8>)
  %0 = nn.constant dense<[[0, 0], [2, 255], [0, 0]]> : tensor<3x2xui8>
  %1 = nn.constant dense<[[0x7FC00000], [1.0], [0x7F800000]]> : tensor<3x1xf32>
  %2 = nn.constant dense<0> : tensor<3x1xui8>
  check.expect_eq %q, %0 : tensor<3x2xui8>
  check.expect_eq %s, %1 : tensor<3x1xf32>
  check.expect_eq %z, %2 : tensor<3x1xui8>
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
