// RUN: qmlir run %s

// e^0 : e^ln(3) = 1 : 3.
func.func @softmax() {
  %x = nn.constant dense<[[0.0, 1.0986123], [1000.0, 1000.0]]> : tensor<2x2xf32>
  %0 = nn.softmax %x : tensor<2x2xf32>
  %1 = nn.constant dense<[[0.25, 0.75], [0.5, 0.5]]> : tensor<2x2xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<2x2xf32>
  func.return
}

// What is far below the largest is 0; minus infinity is no obstacle, a row of nothing else is NaN.
func.func @softmax_of_infinities() {
  %x = nn.constant dense<[[0.0, -1000.0], [0xFF800000, 3.0], [0xFF800000, 0xFF800000], [0x7FC00000, 0.0]]> : tensor<4x2xf32>
  %0 = nn.softmax %x {axis = 1} : tensor<4x2xf32>
  %1 = nn.constant dense<[[1.0, 0.0], [0.0, 1.0], [0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000]]> : tensor<4x2xf32>
  check.expect_eq %0, %1 : tensor<4x2xf32>
  func.return
}

// e^0 : e^ln(3) = 1 : 3 of what takes part, however large the rest is; a row of which nothing does is 0, or uniform.
func.func @masked_softmax() {
  %x = nn.constant dense<[[0.0, 1.0986123, 1000.0], [5.0, 7.0, 9.0], [2.0, 0x7F800000, 0xFF800000]]> : tensor<3x3xf32>
  %m = nn.constant dense<[[true, true, false], [false, false, false], [true, false, true]]> : tensor<3x3xi1>
  %0 = nn.softmax %x, %m : (tensor<3x3xf32>, tensor<3x3xi1>) -> tensor<3x3xf32>
  %1 = nn.constant dense<[[0.25, 0.75, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]> : tensor<3x3xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<3x3xf32>
  %2 = nn.softmax %x, %m {empty_rows = "uniform"} : (tensor<3x3xf32>, tensor<3x3xi1>) -> tensor<3x3xf32>
  %3 = nn.constant dense<[[0.25, 0.75, 0.0], [0.33333334, 0.33333334, 0.33333334], [1.0, 0.0, 0.0]]> : tensor<3x3xf32>
  check.expect_close %2, %3 {relative = 1.0e-6} : tensor<3x3xf32>
  func.return
}

// What is masked takes part with a number that is added: e^(ln(3) - ln(3)) = 1 beside e^0.
func.func @filled_softmax() {
  %x = nn.constant dense<[0.0, 1.0986123]> : tensor<2xf32>
  %m = nn.constant dense<[true, false]> : tensor<2xi1>
  %0 = nn.softmax %x, %m {fill = -1.0986123 : f32} : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  %1 = nn.constant dense<[0.5, 0.5]> : tensor<2xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<2xf32>
  func.return
}

// Stored integers: what is masked is the zero point of the result.
func.func @masked_softmax_of_integers() {
  %x = nn.constant dense<[[-100, -100, 127], [1, 2, 3]]> : tensor<2x3xi8> -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  %m = nn.constant dense<[[true, true, false], [false, false, false]]> : tensor<2x3xi1>
  %0 = nn.softmax %x, %m : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>, tensor<2x3xi1>) -> tensor<2x3x!quant.uniform<i8:f32, 0.00390625:-128>>
  %1 = nn.constant dense<[[0, 0, -128], [-128, -128, -128]]> : tensor<2x3xi8> -> tensor<2x3x!quant.uniform<i8:f32, 0.00390625:-128>>
  check.expect_eq %0, %1 : tensor<2x3x!quant.uniform<i8:f32, 0.00390625:-128>>
  func.return
}

// Of f16, no power is larger than 1: e^12 would be no f16.
func.func @softmax_f16() {
  %x = nn.constant dense<[[12.0, 12.0, 12.0, 12.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf16>
  %0 = nn.softmax %x {axis = -1} : tensor<2x4xf16>
  %1 = nn.constant dense<0.25> : tensor<2x4xf16>
  check.expect_eq %0, %1 : tensor<2x4xf16>
  func.return
}

// -ln(1 + 3), ln(3) - ln(4); what softmax rounds to 0 keeps its logarithm.
func.func @log_softmax() {
  %x = nn.constant dense<[[0.0, 1.0986123], [0.0, 1000.0]]> : tensor<2x2xf32>
  %0 = nn.log_softmax %x : tensor<2x2xf32>
  %1 = nn.constant dense<[[-1.3862944, -0.28768207], [-1000.0, 0.0]]> : tensor<2x2xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<2x2xf32>
  func.return
}

// The first of the largest; along the first axis.
func.func @hardmax() {
  %x = nn.constant dense<[[1.0, 3.0, 3.0], [2.0, -1.0, 3.0]]> : tensor<2x3xf32>
  %0 = nn.hardmax %x : tensor<2x3xf32>
  %1 = nn.constant dense<[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<2x3xf32>
  check.expect_eq %0, %1 : tensor<2x3xf32>
  %2 = nn.hardmax %x {axis = 0} : tensor<2x3xf32>
  %3 = nn.constant dense<[[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]> : tensor<2x3xf32>
  check.expect_eq %2, %3 : tensor<2x3xf32>
  func.return
}

// Nothing along the axis, and nothing beside it.
func.func @empty() {
  %x = nn.constant dense<> : tensor<2x0xf32>
  %0 = nn.softmax %x : tensor<2x0xf32>
  check.expect_eq %0, %x : tensor<2x0xf32>
  %1 = nn.log_softmax %x {axis = 0} : tensor<2x0xf32>
  check.expect_eq %1, %x : tensor<2x0xf32>
  %2 = nn.hardmax %x : tensor<2x0xf32>
  check.expect_eq %2, %x : tensor<2x0xf32>
  func.return
}
