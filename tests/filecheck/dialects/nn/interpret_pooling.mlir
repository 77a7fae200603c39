// RUN: qmlir run %s

// What pools give, by hand.

// Padding never wins, of no type; a NaN does.
func.func @max_pool() {
  %x = nn.constant dense<[[[-3.0, -2.0, -5.0, 0x7FC00000]]]> : tensor<1x1x4xf32>
  %r = nn.max_pool %x {kernel = [2], pads = [1, 0]} : tensor<1x1x4xf32>
  %e = nn.constant dense<[[[-3.0, -2.0, -2.0, 0x7FC00000]]]> : tensor<1x1x4xf32>
  check.expect_eq %r, %e : tensor<1x1x4xf32>
  %y = nn.constant dense<[[[-128, -127]]]> : tensor<1x1x2xi8>
  %s = nn.max_pool %y {kernel = [2], pads = [1, 1]} : (tensor<1x1x2xi8>) -> tensor<1x1x3xi8>
  %f = nn.constant dense<[[[-128, -127, -127]]]> : tensor<1x1x3xi8>
  check.expect_eq %s, %f : tensor<1x1x3xi8>
  %u = nn.constant dense<[[[0, 200, 255]]]> : tensor<1x1x3xui8>
  %t = nn.max_pool %u {kernel = [2], dilations = [2]} : (tensor<1x1x3xui8>) -> tensor<1x1x1xui8>
  %g = nn.constant dense<[[[255]]]> : tensor<1x1x1xui8>
  check.expect_eq %t, %g : tensor<1x1x1xui8>
  func.return
}

// With `ceil_mode` a last window may be short, but starts inside the data.
func.func @ceil_mode() {
  %x = nn.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %r = nn.max_pool %x {kernel = [2], strides = [2], ceil_mode = true} : (tensor<1x1x5xf32>) -> tensor<1x1x3xf32>
  %e = nn.constant dense<[[[2.0, 4.0, 5.0]]]> : tensor<1x1x3xf32>
  check.expect_eq %r, %e : tensor<1x1x3xf32>
  %s = nn.max_pool %x {kernel = [1], strides = [3], ceil_mode = true} : (tensor<1x1x5xf32>) -> tensor<1x1x2xf32>
  %f = nn.constant dense<[[[1.0, 4.0]]]> : tensor<1x1x2xf32>
  check.expect_eq %s, %f : tensor<1x1x2xf32>
  func.return
}

// Of equal elements the first in row-major order; indices run on from channel to channel.
func.func @max_pool_with_indices() {
  %x = nn.constant dense<[[[[1, 7, 7], [7, 2, 7]], [[0, 0, 0], [0, 0, 9]]]]> : tensor<1x2x2x3xi32>
  %r, %i = nn.max_pool_with_indices %x {kernel = [2, 2]} : (tensor<1x2x2x3xi32>) -> (tensor<1x2x1x2xi32>, tensor<1x2x1x2xi64>)
  %e = nn.constant dense<[[[[7, 7]], [[0, 9]]]]> : tensor<1x2x1x2xi32>
  %j = nn.constant dense<[[[[1, 1]], [[6, 11]]]]> : tensor<1x2x1x2xi64>
  check.expect_eq %r, %e : tensor<1x2x1x2xi32>
  check.expect_eq %i, %j : tensor<1x2x1x2xi64>
  %s, %k = nn.max_pool_with_indices %x {kernel = [2, 2], column_major = true} : (tensor<1x2x2x3xi32>) -> (tensor<1x2x1x2xi32>, tensor<1x2x1x2xi64>)
  %l = nn.constant dense<[[[[2, 2]], [[6, 11]]]]> : tensor<1x2x1x2xi64>
  check.expect_eq %k, %l : tensor<1x2x1x2xi64>
  func.return
}

// The lowest value is found too; a window of padding only has no index.
func.func @indices_at_the_edge() {
  %x = nn.constant dense<[[[-128, -128]]]> : tensor<1x1x2xi8>
  %r, %i = nn.max_pool_with_indices %x {kernel = [1], pads = [1, 0]} : (tensor<1x1x2xi8>) -> (tensor<1x1x3xi8>, tensor<1x1x3xi64>)
  %j = nn.constant dense<[[[-1, 0, 1]]]> : tensor<1x1x3xi64>
  check.expect_eq %i, %j : tensor<1x1x3xi64>
  func.return
}

// The divisor: elements of the data; with `count_include_pad` the padding too, but not what lies beyond it.
func.func @average_pool() {
  %x = nn.constant dense<[[[6.0, 12.0, 18.0]]]> : tensor<1x1x3xf32>
  %r = nn.average_pool %x {kernel = [3], pads = [1, 1]} : tensor<1x1x3xf32>
  %e = nn.constant dense<[[[9.0, 12.0, 15.0]]]> : tensor<1x1x3xf32>
  check.expect_eq %r, %e : tensor<1x1x3xf32>
  %s = nn.average_pool %x {kernel = [3], pads = [1, 1], count_include_pad = true} : tensor<1x1x3xf32>
  %f = nn.constant dense<[[[6.0, 12.0, 10.0]]]> : tensor<1x1x3xf32>
  check.expect_eq %s, %f : tensor<1x1x3xf32>
  %t = nn.average_pool %x {kernel = [4], strides = [2], pads = [1, 1], ceil_mode = true, count_include_pad = true} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  %g = nn.constant dense<[[[9.0, 10.0]]]> : tensor<1x1x2xf32>
  check.expect_eq %t, %g : tensor<1x1x2xf32>
  func.return
}

// Summed up in f32, rounded once: in f16, 2048 + 1 is 2048.
func.func @averages_of_small_floats() {
  %x = nn.constant dense<[[[2048.0, 1.0, 1.0, 6.0]]]> : tensor<1x1x4xf16>
  %e = nn.constant dense<[[[514.0]]]> : tensor<1x1x1xf16>
  %r = nn.average_pool %x {kernel = [4]} : (tensor<1x1x4xf16>) -> tensor<1x1x1xf16>
  check.expect_eq %r, %e : tensor<1x1x1xf16>
  %s = nn.global_average_pool %x : (tensor<1x1x4xf16>) -> tensor<1x1x1xf16>
  check.expect_eq %s, %e : tensor<1x1x1xf16>
  func.return
}

func.func @norms() {
  %x = nn.constant dense<[[[3.0, -4.0, 0.0]]]> : tensor<1x1x3xf32>
  %r = nn.lp_pool %x {kernel = [2]} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  %e = nn.constant dense<[[[5.0, 4.0]]]> : tensor<1x1x2xf32>
  check.expect_eq %r, %e : tensor<1x1x2xf32>
  %s = nn.lp_pool %x {kernel = [2], p = 1, pads = [1, 0]} : tensor<1x1x3xf32>
  %f = nn.constant dense<[[[3.0, 7.0, 4.0]]]> : tensor<1x1x3xf32>
  check.expect_eq %s, %f : tensor<1x1x3xf32>
  // The cube root of 27 + 64.
  %t = nn.global_lp_pool %x {p = 3} : (tensor<1x1x3xf32>) -> tensor<1x1x1xf32>
  %g = nn.constant dense<[[[4.49794145]]]> : tensor<1x1x1xf32>
  check.expect_close %t, %g {relative = 0.000001} : tensor<1x1x1xf32>
  func.return
}

func.func @global_max_pool() {
  %x = nn.constant dense<[[[[-3, -2]], [[-128, -128]]]]> : tensor<1x2x1x2xi8>
  %r = nn.global_max_pool %x : (tensor<1x2x1x2xi8>) -> tensor<1x2x1x1xi8>
  %e = nn.constant dense<[[[[-2]], [[-128]]]]> : tensor<1x2x1x1xi8>
  check.expect_eq %r, %e : tensor<1x2x1x1xi8>
  %y = nn.constant dense<> : tensor<0x2x3xbf16>
  %s = nn.global_max_pool %y : (tensor<0x2x3xbf16>) -> tensor<0x2x1xbf16>
  %f = nn.constant dense<> : tensor<0x2x1xbf16>
  check.expect_eq %s, %f : tensor<0x2x1xbf16>
  func.return
}

// Stored integers, unchanged.
func.func @quantized() {
  %x = nn.constant dense<[[[-3, 7, 7]]]> : tensor<1x1x3xi8> -> tensor<1x1x3x!quant.uniform<i8:f32, 0.5:5>>
  %r, %i = nn.max_pool_with_indices %x {kernel = [2]} : (tensor<1x1x3x!quant.uniform<i8:f32, 0.5:5>>) -> (tensor<1x1x2x!quant.uniform<i8:f32, 0.5:5>>, tensor<1x1x2xi64>)
  %e = nn.constant dense<[[[7, 7]]]> : tensor<1x1x2xi8> -> tensor<1x1x2x!quant.uniform<i8:f32, 0.5:5>>
  %j = nn.constant dense<[[[1, 1]]]> : tensor<1x1x2xi64>
  check.expect_eq %r, %e : tensor<1x1x2x!quant.uniform<i8:f32, 0.5:5>>
  check.expect_eq %i, %j : tensor<1x1x2xi64>
  %s = nn.global_max_pool %x : (tensor<1x1x3x!quant.uniform<i8:f32, 0.5:5>>) -> tensor<1x1x1x!quant.uniform<i8:f32, 0.5:5>>
  %f = nn.constant dense<[[[7]]]> : tensor<1x1x1xi8> -> tensor<1x1x1x!quant.uniform<i8:f32, 0.5:5>>
  check.expect_eq %s, %f : tensor<1x1x1x!quant.uniform<i8:f32, 0.5:5>>
  func.return
}
