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

// The first two taps by the other algorithm, of whose larger tiles the second would leave the image.
func.func @f4() {
  %x = arith.constant dense<[[[[1], [2], [3], [4], [5], [6], [7]], [[8], [9], [10], [11], [12], [13], [14]], [[15], [16], [17], [18], [19], [20], [21]], [[22], [23], [24], [25], [26], [27], [28]], [[29], [30], [31], [32], [33], [34], [35]], [[36], [37], [38], [39], [40], [41], [42]]]]> : tensor<1x6x7x1xi8>
  %w = arith.constant dense<[[[[0], [0], [0], [0], [0], [0]], [[0], [48], [16], [-40], [-24], [-96]], [[0], [16], [48], [-24], [-40], [-96]], [[0], [-40], [-24], [36], [28], [96]], [[0], [-24], [-40], [28], [36], [96]], [[0], [-96], [-96], [96], [96], [288]]]]> : tensor<1x6x6x1xi16>
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x7x1xi8>, tensor<1x6x6x1xi16>) -> tensor<1x4x5x1xi32> attributes {algorithm = "f4", input_zero_point = 1 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[[[40], [43], [46], [49], [52]], [[61], [64], [67], [70], [73]], [[82], [85], [88], [91], [94]], [[103], [106], [109], [112], [115]]]]> : tensor<1x4x5x1xi32>
  check.expect_eq %0, %expected : tensor<1x4x5x1xi32>
  func.return
}

// The same two taps as they are.
func.func @f4_bytes() {
  %x = arith.constant dense<[[[[1], [2], [3], [4], [5], [6], [7]], [[8], [9], [10], [11], [12], [13], [14]], [[15], [16], [17], [18], [19], [20], [21]], [[22], [23], [24], [25], [26], [27], [28]], [[29], [30], [31], [32], [33], [34], [35]], [[36], [37], [38], [39], [40], [41], [42]]]]> : tensor<1x6x7x1xi8>
  %w = arith.constant dense<[[[[0], [0], [0]], [[0], [1], [0]], [[0], [0], [2]]]]> : tensor<1x3x3x1xi8>
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x7x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x4x5x1xi32> attributes {algorithm = "f4_bytes", input_zero_point = 1 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<[[[[40], [43], [46], [49], [52]], [[61], [64], [67], [70], [73]], [[82], [85], [88], [91], [94]], [[103], [106], [109], [112], [115]]]]> : tensor<1x4x5x1xi32>
  check.expect_eq %0, %expected : tensor<1x4x5x1xi32>
  func.return
}

// 128 channels of 127 by nine weights of 127: their sum is 18580608, 64 times that of 256 channels would leave 32 bits.
func.func @parts() {
  %x = arith.constant dense<127> : tensor<1x6x6x256xi8>
  %w = arith.constant dense<127> : tensor<1x3x3x256xi8>
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x256xi8>, tensor<1x3x3x256xi8>) -> tensor<1x4x4x1xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %expected = arith.constant dense<37161216> : tensor<1x4x4x1xi32>
  check.expect_eq %0, %expected : tensor<1x4x4x1xi32>
  func.return
}
