// RUN: qmlir run %s

!q = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32:0, {0.5:3, 0.25:-4}>

// Expansion goes both ways: the shape may be shorter, or have sizes of 1.
func.func @expand() {
  %x = nn.constant dense<[[1], [2]]> : tensor<2x1xi8>
  %0 = nn.expand %x {shape = [3]} : (tensor<2x1xi8>) -> tensor<2x3xi8>
  %a = nn.constant dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi8>
  check.expect_eq %0, %a : tensor<2x3xi8>
  %s = nn.constant dense<7.0> : tensor<f32>
  %1 = nn.expand %s {shape = [2, 0]} : (tensor<f32>) -> tensor<2x0xf32>
  %2 = nn.size %1 : (tensor<2x0xf32>) -> tensor<i64>
  %zero = nn.constant dense<0> : tensor<i64>
  check.expect_eq %2, %zero : tensor<i64>
  func.return
}

func.func @tile() {
  %x = nn.constant dense<[[1, 2]]> : tensor<1x2xui8>
  %0 = nn.tile %x {repeats = [2, 2]} : (tensor<1x2xui8>) -> tensor<2x4xui8>
  %a = nn.constant dense<[[1, 2, 1, 2], [1, 2, 1, 2]]> : tensor<2x4xui8>
  check.expect_eq %0, %a : tensor<2x4xui8>
  func.return
}

// Elements are taken away before others are added.
func.func @pad() {
  %x = nn.constant dense<[1, 2, 3]> : tensor<3xi8>
  %0 = nn.pad %x {pads = [2, 1]} : (tensor<3xi8>) -> tensor<6xi8>
  %a = nn.constant dense<[0, 0, 1, 2, 3, 0]> : tensor<6xi8>
  check.expect_eq %0, %a : tensor<6xi8>
  %v = nn.constant dense<9> : tensor<i8>
  %1 = nn.pad %x, %v {pads = [-1, 2]} : (tensor<3xi8>, tensor<i8>) -> tensor<4xi8>
  %b = nn.constant dense<[2, 3, 9, 9]> : tensor<4xi8>
  check.expect_eq %1, %b : tensor<4xi8>
  %2 = nn.pad %x {pads = [2, 2], mode = "reflect"} : (tensor<3xi8>) -> tensor<7xi8>
  %c = nn.constant dense<[3, 2, 1, 2, 3, 2, 1]> : tensor<7xi8>
  check.expect_eq %2, %c : tensor<7xi8>
  %3 = nn.pad %x {pads = [1, -2], mode = "edge"} : (tensor<3xi8>) -> tensor<2xi8>
  %d = nn.constant dense<[1, 1]> : tensor<2xi8>
  check.expect_eq %3, %d : tensor<2xi8>
  %4 = nn.pad %x {pads = [1, 2], mode = "wrap"} : (tensor<3xi8>) -> tensor<6xi8>
  %e = nn.constant dense<[3, 1, 2, 3, 1, 2]> : tensor<6xi8>
  check.expect_eq %4, %e : tensor<6xi8>
  %n = nn.constant dense<> : tensor<0xi8>
  %5 = nn.pad %n, %v {pads = [1, 1]} : (tensor<0xi8>, tensor<i8>) -> tensor<2xi8>
  %f = nn.constant dense<[9, 9]> : tensor<2xi8>
  check.expect_eq %5, %f : tensor<2xi8>
  func.return
}

func.func @pad_at_run_time() {
  %x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %pads = nn.constant dense<[0, 1]> : tensor<2xi64>
  %axes = nn.constant dense<-1> : tensor<1xi64>
  %0 = nn.pad %x, _, %pads, %axes : (tensor<2x2xi8>, tensor<2xi64>, tensor<1xi64>) -> tensor<?x?xi8>
  %1 = nn.reshape %0 : (tensor<?x?xi8>) -> tensor<6xi8>
  %a = nn.constant dense<[1, 2, 0, 3, 4, 0]> : tensor<6xi8>
  check.expect_eq %1, %a : tensor<6xi8>
  func.return
}

// Quantized values are padded with the integer that stands for 0, row by row where each has its own.
func.func @zero_points() {
  %x = nn.constant dense<[[1, 2], [5, 6]]> : tensor<2x2xi8> -> tensor<2x2x!q>
  %0 = nn.pad %x {pads = [1, 0], axes = [1]} : (tensor<2x2x!q>) -> tensor<2x3x!q>
  %a = nn.constant dense<[[3, 1, 2], [3, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!q>
  check.expect_eq %0, %a : tensor<2x3x!q>
  %y = nn.constant dense<[[1, 2], [5, 6]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %1 = nn.pad %y {pads = [1, 0], axes = [1]} : (tensor<2x2x!w>) -> tensor<2x3x!w>
  %b = nn.constant dense<[[3, 1, 2], [-4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  check.expect_eq %1, %b : tensor<2x3x!w>
  %2 = nn.trilu %y {upper = false} : tensor<2x2x!w>
  %c = nn.constant dense<[[1, 3], [5, 6]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  check.expect_eq %2, %c : tensor<2x2x!w>
  func.return
}

// What is masked is gone, a NaN too.
func.func @triangles() {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = nn.trilu %x {k = 1} : tensor<2x3xi8>
  %a = nn.constant dense<[[0, 2, 3], [0, 0, 6]]> : tensor<2x3xi8>
  check.expect_eq %0, %a : tensor<2x3xi8>
  %1 = nn.trilu %x {k = -1, upper = false} : tensor<2x3xi8>
  %b = nn.constant dense<[[0, 0, 0], [4, 0, 0]]> : tensor<2x3xi8>
  check.expect_eq %1, %b : tensor<2x3xi8>
  %nan = nn.constant dense<[[0x7FC00000, 1.0], [0x7FC00000, 1.0]]> : tensor<2x2xf32>
  %2 = nn.trilu %nan {k = 1} : tensor<2x2xf32>
  %c = nn.constant dense<[[0.0, 1.0], [0.0, 0.0]]> : tensor<2x2xf32>
  check.expect_eq %2, %c : tensor<2x2xf32>
  func.return
}
