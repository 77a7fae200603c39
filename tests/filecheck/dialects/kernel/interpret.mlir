// RUN: qmlir run %s

// (1 - 1)(1 - 2) + (3 - 1)(-2 - 2) = -8, and so on; the bias goes on top of every row.
func.func @matrix_product() {
  %x = arith.constant dense<[[1, 3], [-1, 0]]> : tensor<2x2xi8>
  %w = arith.constant dense<[[1, -2], [2, 4]]> : tensor<2x2xi8>
  %b = arith.constant dense<[100, -100]> : tensor<2xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x2xi8>, tensor<2x2xi8>) epilogue(%b : tensor<2xi32>) -> tensor<2x2xi32>
      attributes {input_zero_point = 1 : i32, weight_zero_point = 2 : i32, epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  %expected = arith.constant dense<[[92, -96], [106, -102]]> : tensor<2x2xi32>
  check.expect_eq %0, %expected : tensor<2x2xi32>
  func.return
}

// 255 * 255 + 254 * 1 with a zero point for each channel: bytes read as the operation says.
func.func @unsigned_bytes() {
  %x = arith.constant dense<[[-1, -2]]> : tensor<1x2xi8>
  %w = arith.constant dense<[[-1, 1], [3, 5]]> : tensor<2x2xi8>
  %z = arith.constant dense<[0, 4]> : tensor<2xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) weight_zero_points(%z : tensor<2xi32>) -> tensor<1x2xi32>
      attributes {input_unsigned, weight_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[65279, -1]]> : tensor<1x2xi32>
  check.expect_eq %0, %expected : tensor<1x2xi32>
  func.return
}

// Two heads share the weights of their batch: 1 + 2, 3 + 4, and three times 5 + 6 and 7 + 8.
func.func @shared_weights() {
  %x = arith.constant dense<[[[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]]]> : tensor<2x2x1x2xi16>
  %w = arith.constant dense<[[[1, 1]], [[3, 3]]]> : tensor<2x1x2xi16>
  %0 = kernel.matmul ins(%x, %w : tensor<2x2x1x2xi16>, tensor<2x1x2xi16>) -> tensor<2x2x1x1xi64> {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  %expected = arith.constant dense<[[[[3]], [[7]]], [[[33]], [[45]]]]> : tensor<2x2x1x1xi64>
  check.expect_eq %0, %expected : tensor<2x2x1x1xi64>
  func.return
}

// Each batch of the data has its own weights; the second weights are three times the first.
func.func @batches() {
  %x = arith.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi16>
  %w = arith.constant dense<[[[1, 1]], [[3, 3]]]> : tensor<2x1x2xi16>
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x2xi16>, tensor<2x1x2xi16>) -> tensor<2x1x1xi64> {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  %expected = arith.constant dense<[[[3]], [[21]]]> : tensor<2x1x1xi64>
  check.expect_eq %0, %expected : tensor<2x1x1xi64>
  func.return
}

// Channels last, two groups of one channel, every second place, taps two apart: [1 + 3, 3 + 5] and 10 times the rest.
func.func @convolution() {
  %x = arith.constant dense<[[[1, 10], [2, 20], [3, 30], [4, 40], [5, 50]]]> : tensor<1x5x2xi8>
  %w = arith.constant dense<[[[1], [1]], [[1], [-1]]]> : tensor<2x2x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x5x2xi8>, tensor<2x2x1xi8>) -> tensor<1x2x2xi32>
      attributes {strides = array<i64: 2>, dilations = array<i64: 2>, groups = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[[4, -20], [8, -20]]]> : tensor<1x2x2xi32>
  check.expect_eq %0, %expected : tensor<1x2x2xi32>
  func.return
}

// f16 factors, an f32 sum: 2049 is not an f16, and rounds to 2048 at the end only.
func.func @floats() {
  %x = arith.constant dense<[[2048.0, 1.0]]> : tensor<1x2xf16>
  %w = arith.constant dense<[[1.0, 1.0], [1.0, -1.0]]> : tensor<2x2xf16>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xf16>, tensor<2x2xf16>) -> tensor<1x2xf16> {
  ^bb0(%sum: f32):
    %one = arith.constant 1.0 : f32
    %1 = arith.addf %sum, %one : f32
    %2 = arith.truncf %1 : f32 to f16
    kernel.yield %2 : f16
  }
  %expected = arith.constant dense<[[2050.0, 2048.0]]> : tensor<1x2xf16>
  check.expect_eq %0, %expected : tensor<1x2xf16>
  func.return
}

func.func @memory() {
  %x = memref.alloc() : memref<1x2xi8>
  %y = memref.alloc() : memref<1x1xi32>
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %five = arith.constant 5 : i8
  %seven = arith.constant 7 : i8
  memref.store %five, %x[%i0, %i0] : memref<1x2xi8>
  memref.store %seven, %x[%i0, %i1] : memref<1x2xi8>
  // 5 * 5 + 7 * 7
  kernel.matmul ins(%x, %x : memref<1x2xi8>, memref<1x2xi8>) outs(%y : memref<1x1xi32>) {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  // A view: what is written through it is seen.
  %z = kernel.reshape %y : memref<1x1xi32> to memref<1xi32>
  %found = memref.load %z[%i0] : memref<1xi32>
  %0 = tensor.from_elements %found : tensor<1xi32>
  %expected = arith.constant dense<[74]> : tensor<1xi32>
  check.expect_eq %0, %expected : tensor<1xi32>
  func.return
}

// Row-major order, whatever the shape.
func.func @reshape() {
  %x = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = kernel.reshape %x : tensor<2x3xi8> to tensor<3x2xi8>
  %expected = arith.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  check.expect_eq %0, %expected : tensor<3x2xi8>
  func.return
}

func.func @requantize() {
  %five = arith.constant 5 : i32
  %minus = arith.constant -5 : i32
  %many = arith.constant 100000 : i32
  %half = arith.constant 5.000000e-01 : f32
  // rne(2.5) = 2, and 3 for the zero point.
  %0 = kernel.requantize %five, %half {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
  %1 = kernel.requantize %many, %half {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 100} : i32, f32 -> i8
  // rne(2.5 + 3) = 6: the zero point is added first.
  %13 = kernel.requantize %five, %half {mode = #kernel.requantize<qlinear>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
  // 5 * 2^-1: ties to even, up, away from 0.
  %n = arith.constant 1 : i8
  %2 = kernel.requantize %five, %n {mode = #kernel.requantize<shift, even>, zero_point = 0, minimum = -128, maximum = 127} : i32, i8 -> i8
  %3 = kernel.requantize %minus, %n {mode = #kernel.requantize<shift, up>, zero_point = 0, minimum = -128, maximum = 127} : i32, i8 -> i8
  %4 = kernel.requantize %minus, %n {mode = #kernel.requantize<shift, away>, zero_point = 0, minimum = -128, maximum = 127} : i32, i8 -> i8
  // 5 * 2^30 >> 31 with a half added: 3.
  %q = arith.constant 1073741824 : i32
  %s = arith.constant 31 : i8
  %5 = kernel.requantize %five, %q, %s {mode = #kernel.requantize<single_round>, zero_point = 0, minimum = -128, maximum = 127} : i32, i32, i8 -> i8
  %6 = kernel.requantize %minus, %q, %s {mode = #kernel.requantize<single_round>, zero_point = 0, minimum = -128, maximum = 127} : i32, i32, i8 -> i8
  // -6 * 2^30 >> 32 is -1.5: a half is added, and with two rounds 2^30 taken away from what is negative.
  %six = arith.constant -6 : i32
  %t = arith.constant 32 : i8
  %7 = kernel.requantize %six, %q, %t {mode = #kernel.requantize<single_round>, zero_point = 0, minimum = -128, maximum = 127} : i32, i32, i8 -> i8
  %8 = kernel.requantize %six, %q, %t {mode = #kernel.requantize<double_round>, zero_point = 0, minimum = -128, maximum = 127} : i32, i32, i8 -> i8
  // An f32 holds no 16777217: it is rounded to 16777216, even by a multiplier of 1. 200 is -56 in a byte.
  %odd = arith.constant 16777217 : i32
  %one = arith.constant 1.000000e+00 : f32
  %9 = kernel.requantize %odd, %one {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -2147483648, maximum = 2147483647} : i32, f32 -> i32
  %10 = kernel.requantize %many, %half {mode = #kernel.requantize<f32>, zero_point = 0, minimum = 0, maximum = 200} : i32, f32 -> i8
  %bytes = tensor.from_elements %0, %1, %2, %3, %4, %5, %6, %7, %8, %10, %13 : tensor<11xi8>
  %expected = arith.constant dense<[5, 100, 2, -2, -3, 3, -2, -1, -2, -56, 6]> : tensor<11xi8>
  check.expect_eq %bytes, %expected : tensor<11xi8>
  %word = tensor.from_elements %9 : tensor<1xi32>
  %expected_word = arith.constant dense<[16777216]> : tensor<1xi32>
  check.expect_eq %word, %expected_word : tensor<1xi32>
  // 50000 is cut off at 12, which is -4 in four bits; rne(2.5) + 3 is 5.
  %11 = kernel.requantize %many, %half {mode = #kernel.requantize<f32>, zero_point = 3, minimum = 0, maximum = 12} : i32, f32 -> i4
  %12 = kernel.requantize %five, %half {mode = #kernel.requantize<f32>, zero_point = 3, minimum = 0, maximum = 15} : i32, f32 -> i4
  %nibbles = tensor.from_elements %11, %12 : tensor<2xi4>
  %expected_nibbles = arith.constant dense<[-4, 5]> : tensor<2xi4>
  check.expect_eq %nibbles, %expected_nibbles : tensor<2xi4>
  func.return
}

// 0x3F800000 is 1.0, the bytes from the lowest one on.
func.func @joined_bytes() {
  %last = arith.constant dense<[63, -65]> : tensor<2xi8>
  %empty = tensor.empty() : tensor<2xf32>
  %none = tensor.empty() : tensor<2xi32>
  %0, %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%last : tensor<2xi8>) outs(%empty, %none : tensor<2xf32>, tensor<2xi32>) {
  ^bb0(%a: i8, %o: f32, %p: i32):
    %zero = arith.constant 0 : i8
    %third = arith.constant -128 : i8
    %2 = kernel.join %zero, %zero, %third, %a : f32
    %3 = kernel.join %a, %third, %zero, %zero : i32
    linalg.yield %2, %3 : f32, i32
  } -> tensor<2xf32>, tensor<2xi32>
  %numbers = arith.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %integers = arith.constant dense<[32831, 32959]> : tensor<2xi32>
  check.expect_eq %0, %numbers : tensor<2xf32>
  check.expect_eq %1, %integers : tensor<2xi32>
  func.return
}

// 1 / 5, f32's nearest to 1 / sqrt(2), and 1. The root of 5013461258953004 is next to the middle of two numbers of f32:
// rounded in f64 first, it would come out as 0x3272a236. The largest integer that has a root is 2^62 - 1.
func.func @reciprocal_roots() {
  %x = arith.constant dense<[25, 2, 1, 5013461258953004, 4611686018427387903]> : tensor<5xi64>
  %y = tensor.empty() : tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<5xi64>) outs(%y : tensor<5xf32>) {
  ^bb0(%a: i64, %o: f32):
    %1 = kernel.reciprocal_root %a
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  %expected = arith.constant dense<[0.2, 0x3f3504f3, 1.0, 0x3272a237, 0x30000000]> : tensor<5xf32>
  check.expect_eq %0, %expected : tensor<5xf32>
  func.return
}
