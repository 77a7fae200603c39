// RUN: qmlir run %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel -o %t && qmlir run %t
// RUN: qmlir-opt %s -p 'convert-nn-to-kernel,math-expand,kernel-split-rows{isa=avx2}' -o %t && qmlir run %t

!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<u16:f32, 0.5:3>
!y = !quant.uniform<i16:f32, 0.0078125:-7>

// d = -6, 2, 0, 4 around any zero point: n d - t = -24, 8, 0, 16, and n sum(d^2) - t^2 = 224. With epsilon 2, which is
// 16 * 2 / 0.25 = 128 here, the root is 1 / sqrt(352): -1.27920, 0.42640, 0, 0.85280. Times 1, 2, 3, 4, plus 0.5, and
// times 128: -99.7, 173.2, 64, 500.6. The row of equal numbers is its bias.
func.func @layer_norm() {
  %0 = nn.constant dense<[[-3, 5, 3, 7], [9, 9, 9, 9]]> : tensor<2x4xi8> -> tensor<2x4x!x>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = nn.constant dense<0.5> : tensor<1xf32>
  %1 = nn.layer_norm %0, %s, %b {epsilon = 2.0} : (tensor<2x4x!x>, tensor<4xf32>, tensor<1xf32>) -> tensor<2x4x!y>
  %2 = nn.constant dense<[[-107, 166, 57, 494], [57, 57, 57, 57]]> : tensor<2x4xi16> -> tensor<2x4x!y>
  check.expect_eq %1, %2 : tensor<2x4x!y>
  func.return
}

// No mean: n d = -12, 4, 0, 8, n sum(d^2) = 56, and epsilon is 16 * 0.5 / 0.25 = 32 here. The zero point counts: 65535 is
// 65532 above it, and twice the root of the mean square.
func.func @rms_norm() {
  %0 = nn.constant dense<[[0, 4, 3, 5], [3, 65535, 3, 3]]> : tensor<2x4xui16> -> tensor<2x4x!w>
  %1 = nn.rms_norm %0 {epsilon = 0.5} : (tensor<2x4x!w>) -> tensor<2x4x!y>
  %2 = nn.constant dense<[[-171, 48, -7, 102], [-7, 249, -7, -7]]> : tensor<2x4xi16> -> tensor<2x4x!y>
  check.expect_eq %1, %2 : tensor<2x4x!y>
  func.return
}

// Two groups of two channels: n d - t = -2, 2 and 0, 0, n sum(d^2) - t^2 = 4, and epsilon 3 is 4 * 3 / 0.25 = 48 here.
func.func @group_norm() {
  %0 = nn.constant dense<[[[1], [3], [0], [0]]]> : tensor<1x4x1xi8> -> tensor<1x4x1x!x>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = nn.constant dense<[0.0, 0.0, 5.0, 6.0]> : tensor<4xf32>
  %1 = nn.group_norm %0, %s, %b {groups = 2, epsilon = 3.0} : (tensor<1x4x1x!x>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x1x!y>
  %2 = nn.constant dense<[[[-43], [64], [633], [761]]]> : tensor<1x4x1xi16> -> tensor<1x4x1x!y>
  check.expect_eq %1, %2 : tensor<1x4x1x!y>
  func.return
}

// The same numbers as images of single channels: (1, 3) and (0, 0), then the scale and the bias of the channel.
func.func @instance_norm() {
  %0 = nn.constant dense<[[[1, 3], [0, 0]]]> : tensor<1x2x2xi8> -> tensor<1x2x2x!x>
  %s = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant dense<[0.0, 5.0]> : tensor<2xf32>
  %1 = nn.instance_norm %0, %s, %b {epsilon = 3.0} : (tensor<1x2x2x!x>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x!y>
  %2 = nn.constant dense<[[[-43, 29], [633, 633]]]> : tensor<1x2x2xi16> -> tensor<1x2x2x!y>
  check.expect_eq %1, %2 : tensor<1x2x2x!y>
  func.return
}
