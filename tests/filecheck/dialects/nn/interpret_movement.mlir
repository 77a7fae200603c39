// RUN: qmlir run %s

!q = !quant.uniform<i8:f32, 0.5:3>

// 0 copies a size, unless `allow_zero` says that it is one; -1 is what the others leave.
func.func @reshape_at_run_time() {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %s = nn.constant dense<[0, 1, -1]> : tensor<3xi64>
  %0 = nn.reshape %x, %s : (tensor<2x3xi8>, tensor<3xi64>) -> tensor<?x?x?xi8>
  %1 = nn.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8> -> tensor<2x1x3xi8>
  %2 = nn.reshape %0 : (tensor<?x?x?xi8>) -> tensor<2x1x3xi8>
  check.expect_eq %2, %1 : tensor<2x1x3xi8>
  %e = nn.constant dense<> : tensor<2x0xi8>
  %z = nn.constant dense<[0, 7]> : tensor<2xi64>
  %3 = nn.reshape %e, %z {allow_zero = true} : (tensor<2x0xi8>, tensor<2xi64>) -> tensor<?x?xi8>
  %4 = nn.shape %3 : (tensor<?x?xi8>) -> tensor<2xi64>
  check.expect_eq %4, %z : tensor<2xi64>
  func.return
}

// The last part is smaller where the parts cannot be equal; a part may be empty.
func.func @split() {
  %x = nn.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi8> -> tensor<5x!q>
  %0, %1, %2 = nn.split %x : (tensor<5x!q>) -> (tensor<2x!q>, tensor<2x!q>, tensor<1x!q>)
  %a = nn.constant dense<[3, 4]> : tensor<2xi8> -> tensor<2x!q>
  %b = nn.constant dense<5> : tensor<1xi8> -> tensor<1x!q>
  check.expect_eq %1, %a : tensor<2x!q>
  check.expect_eq %2, %b : tensor<1x!q>
  %3, %4 = nn.split %x {axis = -1, split = [0, 5]} : (tensor<5x!q>) -> (tensor<0x!q>, tensor<5x!q>)
  check.expect_eq %4, %x : tensor<5x!q>
  func.return
}

// DCR numbers a channel by its place in the block first, CRD by the depth first.
func.func @blocks() {
  %x = nn.constant dense<[[[[0]], [[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]]]]> : tensor<1x8x1x1xi8>
  %0 = nn.depth_to_space %x {block_size = 2} : (tensor<1x8x1x1xi8>) -> tensor<1x2x2x2xi8>
  %a = nn.constant dense<[[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]]> : tensor<1x2x2x2xi8>
  check.expect_eq %0, %a : tensor<1x2x2x2xi8>
  %1 = nn.depth_to_space %x {block_size = 2, mode = "CRD"} : (tensor<1x8x1x1xi8>) -> tensor<1x2x2x2xi8>
  %b = nn.constant dense<[[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]> : tensor<1x2x2x2xi8>
  check.expect_eq %1, %b : tensor<1x2x2x2xi8>
  %2 = nn.space_to_depth %a {block_size = 2} : (tensor<1x2x2x2xi8>) -> tensor<1x8x1x1xi8>
  check.expect_eq %2, %x : tensor<1x8x1x1xi8>
  %3 = nn.space_to_depth %b {block_size = 2, mode = "CRD"} : (tensor<1x2x2x2xi8>) -> tensor<1x8x1x1xi8>
  check.expect_eq %3, %x : tensor<1x8x1x1xi8>
  func.return
}
