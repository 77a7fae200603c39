// RUN: qmlir run %s

// One channel, weights [[0, 0, 0], [0, 1, 0], [0, 0, 2]]: each sum is the element in the middle and twice the one below on
// the right, less three times the zero point. 2 G of them is [[0, 0, 0, 0], [0, 3, 1, 4], [0, 1, 3, 4], [0, 4, 4, 8]].
func.func @two_taps() {
  %x = arith.constant dense<[[[[1], [2], [3], [4]], [[5], [6], [7], [8]], [[9], [10], [11], [12]], [[13], [14], [15], [16]]]]> : tensor<1x4x4x1xi8>
  %w = arith.constant dense<[[[[0], [0], [0], [0]], [[0], [3], [1], [4]], [[0], [1], [3], [4]], [[0], [4], [4], [8]]]]> : tensor<1x4x4x1xi16>
  %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> attributes {input_zero_point = 1 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[[[25], [28]], [[37], [40]]]]> : tensor<1x2x2x1xi32>
  check.expect_eq %0, %expected : tensor<1x2x2x1xi32>
  func.return
}

// The same weights, of bytes read as unsigned, on an image of odd sizes with two channels: the second counts ten times.
func.func @odd_sizes() {
  %x = arith.constant dense<[[[[1, 0], [1, 0], [1, 0], [1, 0], [1, 0]], [[1, 0], [-1, 0], [2, 0], [3, 1], [1, 0]], [[1, 0], [4, 0], [5, 0], [6, 0], [1, 0]],
    [[1, 0], [7, 0], [8, 0], [9, 0], [1, 2]], [[1, 0], [1, 0], [1, 0], [1, 0], [1, 3]]]]> : tensor<1x5x5x2xi8>
  %w = arith.constant dense<[[[[0, 0], [0, 0], [0, 0], [0, 0]], [[0, 0], [3, 30], [1, 10], [4, 40]], [[0, 0], [1, 10], [3, 30], [4, 40]],
    [[0, 0], [4, 40], [4, 40], [8, 80]]]]> : tensor<1x4x4x2xi16>
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x4x4x2xi16>) -> tensor<1x3x3x1xi32> attributes {input_unsigned} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[[[265], [14], [15]], [[20], [23], [48]], [[9], [10], [71]]]]> : tensor<1x3x3x1xi32>
  check.expect_eq %0, %expected : tensor<1x3x3x1xi32>
  func.return
}

// What does not fit wraps: the transform of this input is 4 * 16384 = 2^16 where the weight is not 0, so 0 in 16 bits.
func.func @wraps() {
  %x = arith.constant dense<16384> : tensor<1x4x4x1xi16>
  %w = arith.constant dense<[[[[0], [0], [0], [0]], [[0], [1], [0], [0]], [[0], [0], [0], [0]], [[0], [0], [0], [0]]]]> : tensor<1x4x4x1xi16>
  %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x1xi16>, tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<0> : tensor<1x2x2x1xi32>
  check.expect_eq %0, %expected : tensor<1x2x2x1xi32>
  func.return
}
