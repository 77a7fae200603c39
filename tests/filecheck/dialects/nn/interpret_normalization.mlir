// RUN: qmlir run %s

// (x - 1) / sqrt(3 + 1) * 4 + 10, and (x + 2) / sqrt(0 + 1) * 1 - 1.
func.func @batch_norm() {
  %x = nn.constant dense<[[[1.0, 3.0], [-2.0, 5.0]]]> : tensor<1x2x2xf32>
  %s = nn.constant dense<[4.0, 1.0]> : tensor<2xf32>
  %b = nn.constant dense<[10.0, -1.0]> : tensor<2xf32>
  %m = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %v = nn.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %0 = nn.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0} : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  %1 = nn.constant dense<[[[10.0, 14.0], [-1.0, 6.0]]]> : tensor<1x2x2xf32>
  check.expect_eq %0, %1 : tensor<1x2x2xf32>
  func.return
}

// f16 in f32, rounded once: 300^2 is more than f16 holds.
func.func @instance_norm() {
  %x = nn.constant dense<[[[-300.0, 300.0], [1.0, 1.0]]]> : tensor<1x2x2xf16>
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf16>
  %b = nn.constant dense<[0.5, -1.0]> : tensor<2xf16>
  %0 = nn.instance_norm %x, %s, %b : (tensor<1x2x2xf16>, tensor<2xf16>, tensor<2xf16>) -> tensor<1x2x2xf16>
  %1 = nn.constant dense<[[[-1.5, 2.5], [-1.0, -1.0]]]> : tensor<1x2x2xf16>
  check.expect_eq %0, %1 : tensor<1x2x2xf16>
  func.return
}

// Two groups of two channels: means 3 and 0, divided by sqrt(1 + 3) and sqrt(0 + 3).
func.func @group_norm() {
  %x = nn.constant dense<[[[2.0], [4.0], [0.0], [0.0]]]> : tensor<1x4x1xf32>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = nn.constant dense<[0.0, 0.0, 5.0, 6.0]> : tensor<4xf32>
  %0 = nn.group_norm %x, %s, %b {groups = 2, epsilon = 3.0} : (tensor<1x4x1xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x1xf32>
  %1 = nn.constant dense<[[[-0.5], [1.0], [5.0], [6.0]]]> : tensor<1x4x1xf32>
  check.expect_eq %0, %1 : tensor<1x4x1xf32>
  func.return
}

// The mean is 2, the variance 1; then the scale of each place, and one bias for all.
func.func @layer_norm() {
  %x = nn.constant dense<[[1.0, 3.0], [3.0, 1.0]]> : tensor<2x2xf32>
  %s = nn.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %b = nn.constant dense<[0.5]> : tensor<1xf32>
  %0 = nn.layer_norm %x, %s, %b {epsilon = 0.0} : (tensor<2x2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
  %1 = nn.constant dense<[[-9.5, 20.5], [10.5, -19.5]]> : tensor<2x2xf32>
  check.expect_eq %0, %1 : tensor<2x2xf32>
  // Over both axes the numbers are the same: as many of each.
  %2 = nn.layer_norm %x, %s, %b {axis = -2, epsilon = 0.0} : (tensor<2x2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
  check.expect_eq %2, %1 : tensor<2x2xf32>
  func.return
}

// The first stage is rounded to f16 before the scale: 1 / sqrt(3) is 0.57714844 there, times 1024 is 591, not 591.2.
func.func @two_stages() {
  %x = nn.constant dense<[1.0, 1.0, 1.0]> : tensor<3xf16>
  %s = nn.constant dense<[1024.0]> : tensor<1xf16>
  %0 = nn.rms_norm %x, %s {epsilon = 2.0} : (tensor<3xf16>, tensor<1xf16>) -> tensor<3xf16>
  %1 = nn.constant dense<591.0> : tensor<3xf16>
  check.expect_eq %0, %1 : tensor<3xf16>
  func.return
}

// 300 is 300 in f32; its square is not an f16, and 1 + 2^-10 is 1 in bf16.
func.func @precision() {
  %x = nn.constant dense<[1.0009765625, 1.0009765625]> : tensor<2xf32>
  %0 = nn.rms_norm %x {precision = bf16, epsilon = 3.0} : tensor<2xf32>
  %1 = nn.constant dense<0.5> : tensor<2xf32>
  check.expect_eq %0, %1 : tensor<2xf32>
  func.return
}

// Square roots of the means of the squares: 5 of (1, 7), and of (-5, 5).
func.func @rms_norm() {
  %x = nn.constant dense<[[1.0, 7.0], [-5.0, 5.0]]> : tensor<2x2xf32>
  %0 = nn.rms_norm %x {epsilon = 0.0} : tensor<2x2xf32>
  %1 = nn.constant dense<[[0.2, 1.4], [-1.0, 1.0]]> : tensor<2x2xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<2x2xf32>
  func.return
}

// A sum of 0 gives 0.
func.func @lp_norm() {
  %x = nn.constant dense<[[3.0, -4.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = nn.lp_norm %x : tensor<2x2xf32>
  %1 = nn.constant dense<[[0.6, -0.8], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<2x2xf32>
  %2 = nn.lp_norm %x {p = 1} : tensor<2x2xf32>
  %3 = nn.constant dense<[[0.42857143, -0.5714286], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_close %2, %3 {relative = 1.0e-6} : tensor<2x2xf32>
  %4 = nn.lp_norm %x {axis = 0, p = 1} : tensor<2x2xf32>
  %5 = nn.constant dense<[[1.0, -1.0], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_eq %4, %5 : tensor<2x2xf32>
  // The norm of 5 is kept above 8, that of 0 too.
  %6 = nn.lp_norm %x {epsilon = 8.0} : tensor<2x2xf32>
  %7 = nn.constant dense<[[0.375, -0.5], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_eq %6, %7 : tensor<2x2xf32>
  func.return
}

// Of two channels, the neighbourhood is the channel and the next: 1 + 2 / 2 * (1 + 4), (4 + 9), 9.
func.func @local_response_norm() {
  %x = nn.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %0 = nn.local_response_norm %x {size = 2, alpha = 2.0, beta = 1.0} : tensor<1x3xf32>
  %1 = nn.constant dense<[[0.16666667, 0.14285715, 0.3]]> : tensor<1x3xf32>
  check.expect_close %0, %1 {relative = 1.0e-6} : tensor<1x3xf32>
  func.return
}

// No instances, and nothing in an instance.
func.func @empty() {
  %x = nn.constant dense<> : tensor<0x2x3xf32>
  %c = nn.constant dense<1.0> : tensor<2xf32>
  %0 = nn.instance_norm %x, %c, %c : (tensor<0x2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<0x2x3xf32>
  check.expect_eq %0, %x : tensor<0x2x3xf32>
  %1 = nn.group_norm %x, %c, %c {groups = 2} : (tensor<0x2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<0x2x3xf32>
  check.expect_eq %1, %x : tensor<0x2x3xf32>
  %y = nn.constant dense<> : tensor<2x2x0xf32>
  %2 = nn.instance_norm %y, %c, %c : (tensor<2x2x0xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x0xf32>
  check.expect_eq %2, %y : tensor<2x2x0xf32>
  %3 = nn.rms_norm %y : tensor<2x2x0xf32>
  check.expect_eq %3, %y : tensor<2x2x0xf32>
  %4 = nn.lp_norm %y : tensor<2x2x0xf32>
  check.expect_eq %4, %y : tensor<2x2x0xf32>
  %5 = nn.local_response_norm %y {size = 2} : tensor<2x2x0xf32>
  check.expect_eq %5, %y : tensor<2x2x0xf32>
  func.return
}
