// RUN: qmlir run %s

!q = !quant.uniform<i8:f32, 0.5:3>

// Negative indices count from the end.
func.func @gather() {
  %x = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!q>
  %i = nn.constant dense<-1> : tensor<i32>
  %0 = nn.gather %x, %i : (tensor<3x2x!q>, tensor<i32>) -> tensor<2x!q>
  %a = nn.constant dense<[5, 6]> : tensor<2xi8> -> tensor<2x!q>
  check.expect_eq %0, %a : tensor<2x!q>
  %j = nn.constant dense<[[-1, 0]]> : tensor<1x2xi64>
  %1 = nn.gather_elements %x, %j : (tensor<3x2x!q>, tensor<1x2xi64>) -> tensor<1x2x!q>
  %b = nn.constant dense<[[5, 2]]> : tensor<1x2xi8> -> tensor<1x2x!q>
  check.expect_eq %1, %b : tensor<1x2x!q>
  %t = nn.constant dense<[[-1, 0], [0, -1]]> : tensor<2x2xi64>
  %2 = nn.gather_nd %x, %t : (tensor<3x2x!q>, tensor<2x2xi64>) -> tensor<2x!q>
  %c = nn.constant dense<[5, 2]> : tensor<2xi8> -> tensor<2x!q>
  check.expect_eq %2, %c : tensor<2x!q>
  %u = nn.constant dense<[[1], [0], [-2]]> : tensor<3x1xi64>
  %3 = nn.gather_nd %x, %u {batch_dims = 1} : (tensor<3x2x!q>, tensor<3x1xi64>) -> tensor<3x!q>
  %d = nn.constant dense<[2, 3, 5]> : tensor<3xi8> -> tensor<3x!q>
  check.expect_eq %3, %d : tensor<3x!q>
  func.return
}

// Rows with parameters of their own are rescaled to the result: by 1, 0.5 and 4. Ties go to the even one, or up.
!rows = !quant.uniform<i8:f32:0, {0.5, 0.25, 2.0:1}>
!y = !quant.uniform<i16:f32, 0.5:3>

func.func @gather_rows() {
  %x = nn.constant dense<[[1, -2], [3, 5], [127, 0]]> : tensor<3x2xi8> -> tensor<3x2x!rows>
  %i = nn.constant dense<[-1, 0, 1]> : tensor<3xi64>
  %0 = nn.gather %x, %i : (tensor<3x2x!rows>, tensor<3xi64>) -> tensor<3x2x!y>
  %a = nn.constant dense<[[507, -1], [4, 1], [5, 5]]> : tensor<3x2xi16> -> tensor<3x2x!y>
  check.expect_eq %0, %a : tensor<3x2x!y>
  %1 = nn.gather %x, %i {requantize = #kernel.requantize<single_round>} : (tensor<3x2x!rows>, tensor<3xi64>) -> tensor<3x2x!y>
  %b = nn.constant dense<[[507, -1], [4, 1], [5, 6]]> : tensor<3x2xi16> -> tensor<3x2x!y>
  check.expect_eq %1, %b : tensor<3x2x!y>
  func.return
}

// Blocks of one element: -7 * 0.25 / 0.5 is -3.5, and 2 * 2 / 0.5 is 8.
!blocks = !quant.uniform<i4:f32:{0:1, 1:1}, {{0.5, 1.0}, {0.25, 2.0}}>
!z = !quant.uniform<i8:f32, 0.5>

func.func @gather_blocks() {
  %x = nn.constant dense<[[1, 3], [-7, 2]]> : tensor<2x2xi4> -> tensor<2x2x!blocks>
  %i = nn.constant dense<1> : tensor<i32>
  %0 = nn.gather %x, %i : (tensor<2x2x!blocks>, tensor<i32>) -> tensor<2x!z>
  %a = nn.constant dense<[-4, 8]> : tensor<2xi8> -> tensor<2x!z>
  check.expect_eq %0, %a : tensor<2x!z>
  func.return
}

// Two updates of one element: the last one stays, or both are joined to it; 20 + 100 + 12 wraps to -124.
func.func @scatter() {
  %x = nn.constant dense<[10, 20, 30]> : tensor<3xi8>
  %i = nn.constant dense<[1, -2]> : tensor<2xi64>
  %u = nn.constant dense<[100, 12]> : tensor<2xi8>
  %0 = nn.scatter_elements %x, %i, %u : (tensor<3xi8>, tensor<2xi64>, tensor<2xi8>) -> tensor<3xi8>
  %a = nn.constant dense<[10, 12, 30]> : tensor<3xi8>
  check.expect_eq %0, %a : tensor<3xi8>
  %1 = nn.scatter_elements %x, %i, %u {reduction = "add"} : (tensor<3xi8>, tensor<2xi64>, tensor<2xi8>) -> tensor<3xi8>
  %b = nn.constant dense<[10, -124, 30]> : tensor<3xi8>
  check.expect_eq %1, %b : tensor<3xi8>
  %2 = nn.scatter_elements %x, %i, %u {reduction = "min"} : (tensor<3xi8>, tensor<2xi64>, tensor<2xi8>) -> tensor<3xi8>
  check.expect_eq %2, %a : tensor<3xi8>
  %t = nn.constant dense<[[1], [-2]]> : tensor<2x1xi64>
  %3 = nn.scatter_nd %x, %t, %u {reduction = "max"} : (tensor<3xi8>, tensor<2x1xi64>, tensor<2xi8>) -> tensor<3xi8>
  %c = nn.constant dense<[10, 100, 30]> : tensor<3xi8>
  check.expect_eq %3, %c : tensor<3xi8>
  func.return
}

// 2048 + 1 is 2048 in f16, but the sum runs in f32.
func.func @half_precision_sums() {
  %x = nn.constant dense<2048.0> : tensor<1xf16>
  %i = nn.constant dense<[0, 0]> : tensor<2xi64>
  %u = nn.constant dense<1.0> : tensor<2xf16>
  %0 = nn.scatter_elements %x, %i, %u {reduction = "add"} : (tensor<1xf16>, tensor<2xi64>, tensor<2xf16>) -> tensor<1xf16>
  %a = nn.constant dense<2050.0> : tensor<1xf16>
  check.expect_eq %0, %a : tensor<1xf16>
  func.return
}

// -1 is the last place; 3 and -4 are nowhere.
func.func @one_hot() {
  %i = nn.constant dense<[0, -1, 3, -4]> : tensor<4xi64>
  %v = nn.constant dense<[2, 5]> : tensor<2xi8> -> tensor<2x!q>
  %0 = nn.one_hot %i, %v {depth = 3} : (tensor<4xi64>, tensor<2x!q>) -> tensor<4x3x!q>
  %a = nn.constant dense<[[5, 2, 2], [2, 2, 5], [2, 2, 2], [2, 2, 2]]> : tensor<4x3xi8> -> tensor<4x3x!q>
  check.expect_eq %0, %a : tensor<4x3x!q>
  %s = nn.constant dense<1> : tensor<i64>
  %b = nn.constant dense<[2, 5]> : tensor<2xi8> -> tensor<2x!q>
  %1 = nn.one_hot %s, %v {depth = 2, axis = 0} : (tensor<i64>, tensor<2x!q>) -> tensor<2x!q>
  check.expect_eq %1, %b : tensor<2x!q>
  func.return
}
