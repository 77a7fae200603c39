// RUN: qmlir run %s

!q = !quant.uniform<i8<-127:127>:f32, 0.5:3>
!w = !quant.uniform<i8:f32:0, {0.5:3, 0.25:-4}>

// The stored integers are compared where the scale is one, real values (0.5 * (2 - 3) and 0.25 * (2 + 4)) where it is not.
func.func @quantized() {
  %x = nn.constant dense<[[2, 4], [2, -1]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %0 = nn.reduce_max %x {axes = [1], keep_dims = false} : (tensor<2x2x!w>) -> tensor<2x!w>
  %a = nn.constant dense<[4, 2]> : tensor<2xi8> -> tensor<2x!w>
  check.expect_eq %0, %a : tensor<2x!w>
  %1 = nn.arg_max %x {axis = 0, keep_dims = false} : (tensor<2x2x!w>) -> tensor<2xi64>
  %b = nn.constant dense<[1, 1]> : tensor<2xi64>
  check.expect_eq %1, %b : tensor<2xi64>
  %e = nn.constant dense<> : tensor<0xi8> -> tensor<0x!q>
  %2 = nn.reduce_max %e {keep_dims = false} : (tensor<0x!q>) -> tensor<!q>
  %c = nn.constant dense<-127> : tensor<i8> -> tensor<!q>
  check.expect_eq %2, %c : tensor<!q>
  %axes = nn.constant dense<0> : tensor<1xi64>
  %y = nn.constant dense<[4, 6]> : tensor<2xi8> -> tensor<2x!q>
  %3 = nn.reduce_sum %y, %axes {keep_dims = false} : (tensor<2x!q>, tensor<1xi64>) -> tensor<!q>
  %d = nn.constant dense<7> : tensor<i8> -> tensor<!q>
  check.expect_eq %3, %d : tensor<!q>
  func.return
}

// Reduced along no axes, each element is reduced by itself.
func.func @kinds() {
  %x = nn.constant dense<[[3.0, -4.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %0 = nn.reduce_l1 %x {axes = [1], keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  %a = nn.constant dense<[7.0, 1.0]> : tensor<2xf32>
  check.expect_eq %0, %a : tensor<2xf32>
  %1 = nn.reduce_l2 %x {axes = [1], keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  %b = nn.constant dense<[5.0, 1.0]> : tensor<2xf32>
  check.expect_eq %1, %b : tensor<2xf32>
  %2 = nn.reduce_sum_square %x {axes = [1], keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  %c = nn.constant dense<[25.0, 1.0]> : tensor<2xf32>
  check.expect_eq %2, %c : tensor<2xf32>
  %3 = nn.reduce_prod %x {axes = [-2], keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  %d = nn.constant dense<[3.0, 0.0]> : tensor<2xf32>
  check.expect_eq %3, %d : tensor<2xf32>
  %4 = nn.reduce_log_sum %x {axes = [1], keep_dims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  %e = nn.constant dense<[0x7FC00000, 0.0]> : tensor<2xf32>
  check.expect_eq %4, %e : tensor<2xf32>
  %5 = nn.reduce_sum_square %x {noop_with_empty_axes = true} : tensor<2x2xf32>
  %f = nn.constant dense<[[9.0, 16.0], [1.0, 0.0]]> : tensor<2x2xf32>
  check.expect_eq %5, %f : tensor<2x2xf32>
  func.return
}

// 1000 + ln 2, where e^1000 overflows; the logarithm of 0, and of infinity.
func.func @log_sum_exp() {
  %x = nn.constant dense<[[1000.0, 1000.0], [0xFF800000, 0xFF800000], [0x7F800000, 0.0]]> : tensor<3x2xf32>
  %0 = nn.reduce_log_sum_exp %x {axes = [1], keep_dims = false} : (tensor<3x2xf32>) -> tensor<3xf32>
  %a = nn.constant dense<[1000.6931, 0xFF800000, 0x7F800000]> : tensor<3xf32>
  check.expect_close %0, %a {relative = 1.0e-6 : f64} : tensor<3xf32>
  func.return
}

// (2^31 - 1) * -6 wraps to 6; -3.5 is rounded towards 0; 7 + 1 wraps at four bits.
func.func @integers() {
  %x = nn.constant dense<[2147483647, 1, -6]> : tensor<3xi32>
  %0 = nn.reduce_sum %x {keep_dims = false} : (tensor<3xi32>) -> tensor<i32>
  %a = nn.constant dense<2147483642> : tensor<i32>
  check.expect_eq %0, %a : tensor<i32>
  %1 = nn.reduce_prod %x {keep_dims = false} : (tensor<3xi32>) -> tensor<i32>
  %b = nn.constant dense<6> : tensor<i32>
  %y = nn.constant dense<[-3, -4]> : tensor<2xi32>
  check.expect_eq %1, %b : tensor<i32>
  %2 = nn.reduce_mean %y {keep_dims = false} : (tensor<2xi32>) -> tensor<i32>
  %c = nn.constant dense<-3> : tensor<i32>
  check.expect_eq %2, %c : tensor<i32>
  %3 = nn.reduce_l2 %y {keep_dims = false} : (tensor<2xi32>) -> tensor<i32>
  %d = nn.constant dense<5> : tensor<i32>
  check.expect_eq %3, %d : tensor<i32>
  %n = nn.constant dense<[7, 1]> : tensor<2xi4>
  %4 = nn.reduce_sum %n {keep_dims = false} : (tensor<2xi4>) -> tensor<i4>
  %e = nn.constant dense<-8> : tensor<i4>
  check.expect_eq %4, %e : tensor<i4>
  func.return
}

// Of no elements: the value that changes nothing.
func.func @empty_sets() {
  %x = nn.constant dense<> : tensor<2x0xf32>
  %0 = nn.reduce_sum %x {axes = [1], keep_dims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %a = nn.constant dense<0.0> : tensor<2xf32>
  check.expect_eq %0, %a : tensor<2xf32>
  %1 = nn.reduce_prod %x {axes = [1], keep_dims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %b = nn.constant dense<1.0> : tensor<2xf32>
  check.expect_eq %1, %b : tensor<2xf32>
  %2 = nn.reduce_max %x {axes = [1], keep_dims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  %c = nn.constant dense<0xFF800000> : tensor<2xf32>
  check.expect_eq %2, %c : tensor<2xf32>
  %3 = nn.reduce_log_sum_exp %x {axes = [1], keep_dims = false} : (tensor<2x0xf32>) -> tensor<2xf32>
  check.expect_eq %3, %c : tensor<2xf32>
  %i = nn.constant dense<> : tensor<0xui8>
  %4 = nn.reduce_min %i {keep_dims = false} : (tensor<0xui8>) -> tensor<ui8>
  %d = nn.constant dense<255> : tensor<ui8>
  check.expect_eq %4, %d : tensor<ui8>
  %p = nn.constant dense<> : tensor<0xi1>
  %5 = nn.reduce_min %p {keep_dims = false} : (tensor<0xi1>) -> tensor<i1>
  %true = nn.constant dense<true> : tensor<i1>
  check.expect_eq %5, %true : tensor<i1>
  %6 = nn.reduce_max %p {keep_dims = false} : (tensor<0xi1>) -> tensor<i1>
  %false = nn.constant dense<false> : tensor<i1>
  check.expect_eq %6, %false : tensor<i1>
  func.return
}

// Sums of f16 and bf16 run in f32: neither small terms nor large sums are lost.
func.func @half_precision() {
  %x = nn.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %0 = nn.reduce_sum %x {keep_dims = false} : (tensor<3xf16>) -> tensor<f16>
  %a = nn.constant dense<2050.0> : tensor<f16>
  check.expect_eq %0, %a : tensor<f16>
  %y = nn.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %1 = nn.reduce_sum %y {keep_dims = false} : (tensor<3xbf16>) -> tensor<bf16>
  %b = nn.constant dense<258.0> : tensor<bf16>
  check.expect_eq %1, %b : tensor<bf16>
  %z = nn.constant dense<60000.0> : tensor<2xf16>
  %2 = nn.reduce_mean %z {keep_dims = false} : (tensor<2xf16>) -> tensor<f16>
  %c = nn.constant dense<60000.0> : tensor<f16>
  check.expect_eq %2, %c : tensor<f16>
  %3 = nn.cum_sum %x {axis = 0} : tensor<3xf16>
  %d = nn.constant dense<[2048.0, 2048.0, 2050.0]> : tensor<3xf16>
  check.expect_eq %3, %d : tensor<3xf16>
  func.return
}

func.func @axes_at_run_time() {
  %x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %axes = nn.constant dense<-1> : tensor<1xi64>
  %0 = nn.reduce_sum %x, %axes {keep_dims = false} : (tensor<2x2xi32>, tensor<1xi64>) -> tensor<?xi32>
  %1 = nn.reshape %0 : (tensor<?xi32>) -> tensor<2xi32>
  %a = nn.constant dense<[3, 7]> : tensor<2xi32>
  check.expect_eq %1, %a : tensor<2xi32>
  func.return
}

// The first of equal elements, or the last one; a NaN is the largest of all.
func.func @places_of_extremes() {
  %x = nn.constant dense<[2, 3, 1, 3, 1]> : tensor<5xi8>
  %0 = nn.arg_max %x : (tensor<5xi8>) -> tensor<1xi64>
  %a = nn.constant dense<1> : tensor<1xi64>
  check.expect_eq %0, %a : tensor<1xi64>
  %1 = nn.arg_max %x {select_last_index = true, keep_dims = false} : (tensor<5xi8>) -> tensor<i64>
  %b = nn.constant dense<3> : tensor<i64>
  check.expect_eq %1, %b : tensor<i64>
  %2 = nn.arg_min %x {axis = -1, select_last_index = true} : (tensor<5xi8>) -> tensor<1xi64>
  %c = nn.constant dense<4> : tensor<1xi64>
  check.expect_eq %2, %c : tensor<1xi64>
  %nan = nn.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %3 = nn.reduce_max %nan {keep_dims = false} : (tensor<2xf32>) -> tensor<f32>
  %d = nn.constant dense<0x7FC00000> : tensor<f32>
  check.expect_eq %3, %d : tensor<f32>
  func.return
}

func.func @scans() {
  %x = nn.constant dense<[1, 2, 3]> : tensor<3xi32>
  %axis = nn.constant dense<0> : tensor<i64>
  %0 = nn.cum_sum %x, %axis : (tensor<3xi32>, tensor<i64>) -> tensor<3xi32>
  %a = nn.constant dense<[1, 3, 6]> : tensor<3xi32>
  check.expect_eq %0, %a : tensor<3xi32>
  %1 = nn.cum_sum %x {axis = 0, exclusive = true, reverse = true} : tensor<3xi32>
  %b = nn.constant dense<[5, 3, 0]> : tensor<3xi32>
  check.expect_eq %1, %b : tensor<3xi32>
  %2 = nn.cum_prod %x {axis = -1, exclusive = true, reverse = true} : tensor<3xi32>
  %c = nn.constant dense<[6, 3, 1]> : tensor<3xi32>
  check.expect_eq %2, %c : tensor<3xi32>
  %e = nn.constant dense<> : tensor<0xi32>
  %3 = nn.cum_sum %e {axis = 0, exclusive = true} : tensor<0xi32>
  check.expect_eq %3, %e : tensor<0xi32>
  func.return
}
