// RUN: qmlir run %s

// NumPy's RandomState(0) draws .549, .715, .603, .545, .424 and .646 first. Kept is what is drawn at the ratio or above.
func.func @dropout() {
  %x = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %r = nn.constant dense<0.6> : tensor<f32>
  %0, %1 = nn.dropout %x, %r {seed = 0} : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
  %2 = nn.constant dense<[[0.0, 5.0, 7.5], [0.0, 0.0, 15.0]]> : tensor<2x3xf32>
  %3 = nn.constant dense<[[false, true, true], [false, false, true]]> : tensor<2x3xi1>
  check.expect_close %0, %2 {relative = 1.0e-6} : tensor<2x3xf32>
  check.expect_eq %1, %3 : tensor<2x3xi1>
  func.return
}

// Where nothing is dropped the elements are as they were.
func.func @kept() {
  %x = nn.constant dense<[1.5, -2.0]> : tensor<2xf16>
  %r = nn.constant dense<0.6> : tensor<f32>
  %f = nn.constant dense<false> : tensor<i1>
  %z = nn.constant dense<0.0> : tensor<1xf64>
  %ones = nn.constant dense<true> : tensor<2xi1>
  %0, %1 = nn.dropout %x, %r, %f : (tensor<2xf16>, tensor<f32>, tensor<i1>) -> (tensor<2xf16>, tensor<2xi1>)
  check.expect_eq %0, %x : tensor<2xf16>
  check.expect_eq %1, %ones : tensor<2xi1>
  %2, %3 = nn.dropout %x, %z : (tensor<2xf16>, tensor<1xf64>) -> (tensor<2xf16>, tensor<2xi1>)
  check.expect_eq %2, %x : tensor<2xf16>
  check.expect_eq %3, %ones : tensor<2xi1>
  func.return
}

// The channels have the means 2 and 5, the variances 1 and 4. Epsilon makes the deviations sqrt(1 + 3) and sqrt(4 + 3).
func.func @batch_norm() {
  %x = nn.constant dense<[[1.0, 3.0], [3.0, 7.0]]> : tensor<2x2xf32>
  %s = nn.constant dense<[4.0, 2.6457513]> : tensor<2xf32>
  %b = nn.constant dense<[10.0, 0.0]> : tensor<2xf32>
  %m = nn.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %v = nn.constant dense<[8.0, 0.0]> : tensor<2xf32>
  %0, %1, %2, %3, %4 = nn.batch_norm_training %x, %s, %b, %m, %v {epsilon = 3.0, momentum = 0.75} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %5 = nn.constant dense<[[8.0, -2.0], [12.0, 2.0]]> : tensor<2x2xf32>
  %6 = nn.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %7 = nn.constant dense<[6.25, 1.0]> : tensor<2xf32>
  %8 = nn.constant dense<[2.0, 5.0]> : tensor<2xf32>
  %9 = nn.constant dense<[1.0, 4.0]> : tensor<2xf32>
  check.expect_close %0, %5 {relative = 1.0e-6} : tensor<2x2xf32>
  check.expect_eq %1, %6 : tensor<2xf32>
  check.expect_eq %2, %7 : tensor<2xf32>
  check.expect_eq %3, %8 : tensor<2xf32>
  check.expect_eq %4, %9 : tensor<2xf32>
  func.return
}
