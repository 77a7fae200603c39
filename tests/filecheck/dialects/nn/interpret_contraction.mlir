// RUN: qmlir run %s

// What matrix products and convolutions give, by hand.

// Integers wrap as C's do: 100 * 2 + 100 = 300, 200 * 2 = 400.
func.func @matmul_of_integers() {
  %x = nn.constant dense<[[100, 100], [1, -3]]> : tensor<2x2xi8>
  %y = nn.constant dense<[[2], [1]]> : tensor<2x1xi8>
  %r = nn.matmul %x, %y : (tensor<2x2xi8>, tensor<2x1xi8>) -> tensor<2x1xi8>
  %e = nn.constant dense<[[44], [-1]]> : tensor<2x1xi8>
  check.expect_eq %r, %e : tensor<2x1xi8>
  %u = nn.constant dense<[200]> : tensor<1xui8>
  %v = nn.constant dense<[2]> : tensor<1xui8>
  %d = nn.matmul %u, %v : (tensor<1xui8>, tensor<1xui8>) -> tensor<ui8>
  %f = nn.constant dense<144> : tensor<ui8>
  check.expect_eq %d, %f : tensor<ui8>
  // 2^62 * 4 + 5 * 1: beyond what floats hold.
  %l = nn.constant dense<[[4611686018427387904, 5]]> : tensor<1x2xi64>
  %m = nn.constant dense<[4, 1]> : tensor<2xi64>
  %n = nn.matmul %l, %m : (tensor<1x2xi64>, tensor<2xi64>) -> tensor<1xi64>
  %o = nn.constant dense<[5]> : tensor<1xi64>
  check.expect_eq %n, %o : tensor<1xi64>
  func.return
}

// One rounding at the end: step by step, 256 + 1 is 256 in bf16, and 2048 + 1 is 2048 in f16.
func.func @small_floats() {
  %x = nn.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %y = nn.constant dense<[1.0, 1.0, 1.0]> : tensor<3xbf16>
  %r = nn.matmul %x, %y : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<bf16>
  %e = nn.constant dense<258.0> : tensor<bf16>
  check.expect_eq %r, %e : tensor<bf16>
  %w = nn.constant dense<[[1.0]]> : tensor<1x1xf16>
  %d = nn.constant dense<[[2048.0]]> : tensor<1x1xf16>
  %b = nn.constant dense<[1.0]> : tensor<1xf16>
  %s = nn.fully_connected %d, %w, %b : (tensor<1x1xf16>, tensor<1x1xf16>, tensor<1xf16>) -> tensor<1x1xf16>
  check.expect_eq %s, %d : tensor<1x1xf16>
  func.return
}

// Vectors, a batch that is broadcast, and a sum of nothing.
func.func @matmul_shapes() {
  %x = nn.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %y = nn.constant dense<[[[1.0, 0.0], [0.0, 10.0]]]> : tensor<1x2x2xf32>
  %r = nn.matmul %x, %y : (tensor<2x1x2xf32>, tensor<1x2x2xf32>) -> tensor<2x1x2xf32>
  %e = nn.constant dense<[[[1.0, 20.0]], [[3.0, 40.0]]]> : tensor<2x1x2xf32>
  check.expect_eq %r, %e : tensor<2x1x2xf32>
  %v = nn.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %s = nn.matmul %v, %y : (tensor<2xf32>, tensor<1x2x2xf32>) -> tensor<1x2xf32>
  %f = nn.constant dense<[[1.0, 10.0]]> : tensor<1x2xf32>
  check.expect_eq %s, %f : tensor<1x2xf32>
  %a = nn.constant dense<> : tensor<2x0xf32>
  %b = nn.constant dense<> : tensor<0x1xf32>
  %t = nn.matmul %a, %b : (tensor<2x0xf32>, tensor<0x1xf32>) -> tensor<2x1xf32>
  %z = nn.constant dense<0.0> : tensor<2x1xf32>
  check.expect_eq %t, %z : tensor<2x1xf32>
  func.return
}

// A correlation: the kernel is not turned round. Padding before only, and strides.
func.func @conv_1d() {
  %x = nn.constant dense<[[[1.0, 2.0, 4.0, 8.0]]]> : tensor<1x1x4xf32>
  %w = nn.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %r = nn.conv %x, %w : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  %e = nn.constant dense<[[[21.0, 42.0, 84.0]]]> : tensor<1x1x3xf32>
  check.expect_eq %r, %e : tensor<1x1x3xf32>
  %s = nn.conv %x, %w {strides = [2], pads = [1, 0]} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %f = nn.constant dense<[[[10.0, 42.0]]]> : tensor<1x1x2xf32>
  check.expect_eq %s, %f : tensor<1x1x2xf32>
  %t = nn.conv %x, %w {dilations = [3]} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  %g = nn.constant dense<[[[81.0]]]> : tensor<1x1x1xf32>
  check.expect_eq %t, %g : tensor<1x1x1xf32>
  func.return
}

// Two groups of one channel, two outputs each, and a bias; integers wrap: 100 * 2 + 100 = 300.
func.func @conv_groups() {
  %x = nn.constant dense<[[[[1, 2]], [[100, 5]]]]> : tensor<1x2x1x2xi8>
  %w = nn.constant dense<[[[[1]]], [[[10]]], [[[2]]], [[[-1]]]]> : tensor<4x1x1x1xi8>
  %b = nn.constant dense<[0, 1, 100, 0]> : tensor<4xi8>
  %r = nn.conv %x, %w, %b {groups = 2} : (tensor<1x2x1x2xi8>, tensor<4x1x1x1xi8>, tensor<4xi8>) -> tensor<1x4x1x2xi8>
  %e = nn.constant dense<[[[[1, 2]], [[11, 21]], [[44, 110]], [[-100, -5]]]]> : tensor<1x4x1x2xi8>
  check.expect_eq %r, %e : tensor<1x4x1x2xi8>
  func.return
}

// No images, and a window that sees nothing but padding.
func.func @conv_without_elements() {
  %x = nn.constant dense<> : tensor<0x1x3x3xf32>
  %w = nn.constant dense<1.0> : tensor<2x1x2x2xf32>
  %r = nn.conv %x, %w : (tensor<0x1x3x3xf32>, tensor<2x1x2x2xf32>) -> tensor<0x2x2x2xf32>
  %e = nn.constant dense<> : tensor<0x2x2x2xf32>
  check.expect_eq %r, %e : tensor<0x2x2x2xf32>
  %y = nn.constant dense<0x7FC00000> : tensor<1x1x1xf32>
  %v = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %s = nn.conv %y, %v {pads = [1, 0]} : (tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  %f = nn.constant dense<[[[0.0, 0x7FC00000]]]> : tensor<1x1x2xf32>
  check.expect_eq %s, %f : tensor<1x1x2xf32>
  func.return
}

// Each element adds its kernel: 1 * (1, 10, 100) at 0 and 2 * (1, 10, 100) at 2.
func.func @conv_transpose() {
  %x = nn.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %w = nn.constant dense<[[[1.0, 10.0, 100.0]]]> : tensor<1x1x3xf32>
  %b = nn.constant dense<[0.5]> : tensor<1xf32>
  %r = nn.conv_transpose %x, %w {strides = [2]} : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
  %e = nn.constant dense<[[[1.0, 10.0, 102.0, 20.0, 200.0]]]> : tensor<1x1x5xf32>
  check.expect_eq %r, %e : tensor<1x1x5xf32>
  %s = nn.conv_transpose %x, %w, %b {strides = [2], pads = [1, 2], output_padding = [1]} : (tensor<1x1x2xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x3xf32>
  %f = nn.constant dense<[[[10.5, 102.5, 20.5]]]> : tensor<1x1x3xf32>
  check.expect_eq %s, %f : tensor<1x1x3xf32>
  // Beyond the reach of the kernels there is the bias only.
  %t = nn.conv_transpose %x, %w, %b {dilations = [2], output_padding = [2]} : (tensor<1x1x2xf32>, tensor<1x1x3xf32>, tensor<1xf32>) -> tensor<1x1x8xf32>
  %g = nn.constant dense<[[[1.5, 2.5, 10.5, 20.5, 100.5, 200.5, 0.5, 0.5]]]> : tensor<1x1x8xf32>
  check.expect_eq %t, %g : tensor<1x1x8xf32>
  func.return
}

// Two groups: the weights of one have the outputs of one.
func.func @conv_transpose_groups() {
  %x = nn.constant dense<[[[1], [10]]]> : tensor<1x2x1xi32>
  %w = nn.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %r = nn.conv_transpose %x, %w {groups = 2} : (tensor<1x2x1xi32>, tensor<2x2x2xi32>) -> tensor<1x4x2xi32>
  %e = nn.constant dense<[[[1, 2], [3, 4], [50, 60], [70, 80]]]> : tensor<1x4x2xi32>
  check.expect_eq %r, %e : tensor<1x4x2xi32>
  func.return
}
