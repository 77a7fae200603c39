// RUN: qmlir run %s

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#last = affine_map<(d0, d1, d2) -> (d2)>

// Rows of the last two axes: -1, -7 and so on; 127 + 127 + 127 + 127 is -4 in a byte.
func.func @largest_and_sum() {
  %x = arith.constant dense<[[[-8, -2], [-1, -7]], [[127, 127], [127, 127]]]> : tensor<2x2x2xi8>
  %e = tensor.empty() : tensor<2x2x2xi8>
  %0, %1 = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x2x2xi8>) outs(%e, %e : tensor<2x2x2xi8>, tensor<2x2x2xi8>) {
  ^bb0(%a: i8, %o: i8, %p: i8):
    %2 = kernel.row_max %a {dims = array<i64: 1, 2>} : i8
    %3 = kernel.row_sum %a {dims = array<i64: 1, 2>} : i8
    linalg.yield %2, %3 : i8, i8
  } -> tensor<2x2x2xi8>, tensor<2x2x2xi8>
  %largest = arith.constant dense<[[[-1, -1], [-1, -1]], [[127, 127], [127, 127]]]> : tensor<2x2x2xi8>
  %sums = arith.constant dense<[[[-18, -18], [-18, -18]], [[-4, -4], [-4, -4]]]> : tensor<2x2x2xi8>
  check.expect_eq %0, %largest : tensor<2x2x2xi8>
  check.expect_eq %1, %sums : tensor<2x2x2xi8>
  func.return
}

// f32 holds every second integer beyond 2^24. %x goes 2^24, 1, 1, 2: both ones are lost, which leaves 2^24 + 2. %y goes
// 1, 1, 2^24, 1: 2^24 + 3 is rounded to 2^24 + 4; in the order of memory, 1, 2^24, 1, 1, it would be 2^24.
func.func @order_of_a_sum() {
  %x = arith.constant dense<[[[16777216.0, 1.0], [1.0, 2.0]]]> : tensor<1x2x2xf32>
  %y = arith.constant dense<[[[1.0, 16777216.0], [1.0, 1.0]]]> : tensor<1x2x2xf32>
  %e = tensor.empty() : tensor<1x2x2xf32>
  %0, %1, %2 = linalg.generic {indexing_maps = [#all, #all, #all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %y : tensor<1x2x2xf32>, tensor<1x2x2xf32>) outs(%e, %e, %e : tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %p: f32, %q: f32):
    %3 = kernel.row_sum %a {dims = array<i64: 2, 1>} : f32
    %4 = kernel.row_sum %b {dims = array<i64: 2, 1>} : f32
    %5 = kernel.row_max %b {dims = array<i64: 2, 1>} : f32
    linalg.yield %3, %4, %5 : f32, f32, f32
  } -> tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
  %lost = arith.constant dense<16777218.0> : tensor<1x2x2xf32>
  %most = arith.constant dense<16777216.0> : tensor<1x2x2xf32>
  check.expect_eq %0, %lost : tensor<1x2x2xf32>
  %kept = arith.constant dense<16777220.0> : tensor<1x2x2xf32>
  check.expect_eq %1, %kept : tensor<1x2x2xf32>
  check.expect_eq %2, %most : tensor<1x2x2xf32>
  func.return
}

// What is the same for all elements of a row is summed as often as there are elements; NaN is the largest number.
func.func @same_in_a_row() {
  %x = arith.constant dense<[3, 5]> : tensor<2xi32>
  %n = arith.constant dense<[0.0, 0x7FC00000]> : tensor<2xf32>
  %e = tensor.empty() : tensor<4x1x2xi32>
  %f = tensor.empty() : tensor<4x1x2xf32>
  %0, %1 = linalg.generic {indexing_maps = [#last, #last, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %n : tensor<2xi32>, tensor<2xf32>) outs(%e, %f : tensor<4x1x2xi32>, tensor<4x1x2xf32>) {
  ^bb0(%a: i32, %b: f32, %o: i32, %p: f32):
    %2 = kernel.row_sum %a {dims = array<i64: 0>} : i32
    %3 = kernel.row_max %b {dims = array<i64: 0>} : f32
    linalg.yield %2, %3 : i32, f32
  } -> tensor<4x1x2xi32>, tensor<4x1x2xf32>
  %sums = arith.constant dense<[[[12, 20]], [[12, 20]], [[12, 20]], [[12, 20]]]> : tensor<4x1x2xi32>
  %nan = arith.constant dense<[[[0.0, 0x7FC00000]], [[0.0, 0x7FC00000]], [[0.0, 0x7FC00000]], [[0.0, 0x7FC00000]]]> : tensor<4x1x2xf32>
  check.expect_eq %0, %sums : tensor<4x1x2xi32>
  check.expect_eq %1, %nan : tensor<4x1x2xf32>
  func.return
}
