// RUN: qmlir run %s

// The first of equal elements comes first, among the largest and among the smallest; unsigned stays unsigned.
func.func @ties() {
  %x = nn.constant dense<[2, 3, 1, 3, 1]> : tensor<5xi32>
  %v, %i = nn.top_k %x {k = 3} : (tensor<5xi32>) -> (tensor<3xi32>, tensor<3xi64>)
  %a = nn.constant dense<[3, 3, 2]> : tensor<3xi32>
  %b = nn.constant dense<[1, 3, 0]> : tensor<3xi64>
  check.expect_eq %v, %a : tensor<3xi32>
  check.expect_eq %i, %b : tensor<3xi64>
  %w, %j = nn.top_k %x {k = 2, largest = false} : (tensor<5xi32>) -> (tensor<2xi32>, tensor<2xi64>)
  %c = nn.constant dense<[1, 1]> : tensor<2xi32>
  %d = nn.constant dense<[2, 4]> : tensor<2xi64>
  check.expect_eq %w, %c : tensor<2xi32>
  check.expect_eq %j, %d : tensor<2xi64>
  %y = nn.constant dense<[0, 255, 128]> : tensor<3xui8>
  %u, %k = nn.top_k %y {k = 1} : (tensor<3xui8>) -> (tensor<1xui8>, tensor<1xi64>)
  %e = nn.constant dense<255> : tensor<1xui8>
  check.expect_eq %u, %e : tensor<1xui8>
  func.return
}

// A NaN is not 0, -0.0 is; a scalar has no index, but it counts.
func.func @non_zero() {
  %x = nn.constant dense<[[0.0, -0.5], [0x7FC00000, -0.0]]> : tensor<2x2xf32>
  %0 = nn.non_zero %x : (tensor<2x2xf32>) -> tensor<2x?xi64>
  %1 = nn.reshape %0 : (tensor<2x?xi64>) -> tensor<4xi64>
  %a = nn.constant dense<[0, 1, 1, 0]> : tensor<4xi64>
  check.expect_eq %1, %a : tensor<4xi64>
  %s = nn.constant dense<7> : tensor<i8>
  %2 = nn.non_zero %s : (tensor<i8>) -> tensor<0x?xi64>
  %3 = nn.shape %2 : (tensor<0x?xi64>) -> tensor<2xi64>
  %b = nn.constant dense<[0, 1]> : tensor<2xi64>
  check.expect_eq %3, %b : tensor<2xi64>
  func.return
}

// The first example of ONNX's documentation.
func.func @unique() {
  %x = nn.constant dense<[2, 1, 1, 3, 4, 3]> : tensor<6xi8>
  %y, %first, %inverse, %counts = nn.unique %x {sorted_values = false} : (tensor<6xi8>) -> (tensor<4xi8>, tensor<4xi64>, tensor<6xi64>, tensor<4xi64>)
  %a = nn.constant dense<[2, 1, 3, 4]> : tensor<4xi8>
  %b = nn.constant dense<[0, 1, 3, 4]> : tensor<4xi64>
  %c = nn.constant dense<[0, 1, 1, 2, 3, 2]> : tensor<6xi64>
  %d = nn.constant dense<[1, 2, 2, 1]> : tensor<4xi64>
  check.expect_eq %y, %a : tensor<4xi8>
  check.expect_eq %first, %b : tensor<4xi64>
  check.expect_eq %inverse, %c : tensor<6xi64>
  check.expect_eq %counts, %d : tensor<4xi64>
  func.return
}

func.func @reverse_sequence() {
  %x = nn.constant dense<[[0, 4], [1, 5], [2, 6]]> : tensor<3x2xi8>
  %l = nn.constant dense<[3, 2]> : tensor<2xi64>
  %0 = nn.reverse_sequence %x, %l : (tensor<3x2xi8>, tensor<2xi64>) -> tensor<3x2xi8>
  %a = nn.constant dense<[[2, 5], [1, 4], [0, 6]]> : tensor<3x2xi8>
  check.expect_eq %0, %a : tensor<3x2xi8>
  func.return
}
