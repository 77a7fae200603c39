// RUN: qmlir run %s

// Two outputs, each its own: the sum and the difference of a matrix and a row.
func.func @two_outputs() {
  %x = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %r = arith.constant dense<[10, 20]> : tensor<2xi32>
  %o = tensor.empty() : tensor<2x2xi32>
  %0:2 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x, %r : tensor<2x2xi32>, tensor<2xi32>) outs(%o, %o : tensor<2x2xi32>, tensor<2x2xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %s = arith.addi %a, %b : i32
    %t = arith.subi %a, %b : i32
    linalg.yield %s, %t : i32, i32
  } -> tensor<2x2xi32>, tensor<2x2xi32>
  %e0 = arith.constant dense<[[11, 22], [13, 24]]> : tensor<2x2xi32>
  %e1 = arith.constant dense<[[-9, -7], [-18, -16]]> : tensor<2x2xi32>
  check.expect_eq %0#0, %e0 : tensor<2x2xi32>
  check.expect_eq %0#1, %e1 : tensor<2x2xi32>
  func.return
}

// Sum and maximum of each row, with a scalar input; the reduction runs from left to right, so 2^24 + 1 - 2^24 is 0.
func.func @reductions() {
  %x = arith.constant dense<[[16777216.0, 1.0, -16777216.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>
  %scale = arith.constant 2.0 : f32
  %s = arith.constant dense<0.0> : tensor<2xf32>
  %m = arith.constant dense<0xFF800000> : tensor<2xf32>
  %0:2 = linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> ()>, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x, %scale : tensor<2x3xf32>, f32) outs(%s, %m : tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    %r = arith.maximumf %d, %a : f32
    linalg.yield %q, %r : f32, f32
  } -> tensor<2xf32>, tensor<2xf32>
  %e0 = arith.constant dense<[0.0, 12.0]> : tensor<2xf32>
  %e1 = arith.constant dense<[16777216.0, 3.0]> : tensor<2xf32>
  check.expect_eq %0#0, %e0 : tensor<2xf32>
  check.expect_eq %0#1, %e1 : tensor<2xf32>
  // The initial values have not changed
  %e2 = arith.constant dense<0.0> : tensor<2xf32>
  check.expect_eq %s, %e2 : tensor<2xf32>
  func.return
}

// A scalar as output, and nothing to iterate over.
func.func @rank_0_and_empty() {
  %x = arith.constant dense<[1, 2, 3]> : tensor<3xi8>
  %zero = arith.constant dense<0> : tensor<i8>
  %0 = linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<3xi8>) outs(%zero : tensor<i8>) {
  ^bb0(%a: i8, %b: i8):
    %s = arith.addi %a, %b : i8
    linalg.yield %s : i8
  } -> tensor<i8>
  %e0 = arith.constant dense<6> : tensor<i8>
  check.expect_eq %0, %e0 : tensor<i8>

  %none = arith.constant dense<> : tensor<2x0xi8>
  %init = arith.constant dense<[4, 5]> : tensor<2xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%none : tensor<2x0xi8>) outs(%init : tensor<2xi8>) {
  ^bb0(%a: i8, %b: i8):
    %s = arith.addi %a, %b : i8
    linalg.yield %s : i8
  } -> tensor<2xi8>
  check.expect_eq %1, %init : tensor<2xi8>
  func.return
}

// 10 * row + column; one of the two has a body that is not elementwise arithmetic, and runs point by point.
func.func @index() {
  %o = tensor.empty() : tensor<2x3xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%o : tensor<2x3xindex>) {
  ^bb0(%a: index):
    %ten = arith.constant 10 : index
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %b = arith.muli %i, %ten : index
    %c = arith.addi %b, %j : index
    linalg.yield %c : index
  } -> tensor<2x3xindex>
  %e0 = arith.constant dense<[[0, 1, 2], [10, 11, 12]]> : tensor<2x3xindex>
  check.expect_eq %0, %e0 : tensor<2x3xindex>

  %table = arith.constant dense<[5, 7, 11]> : tensor<3xindex>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%o : tensor<2x3xindex>) {
  ^bb0(%a: index):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %b = tensor.extract %table[%j] : tensor<3xindex>
    %c = arith.addi %b, %i : index
    linalg.yield %c : index
  } -> tensor<2x3xindex>
  %e1 = arith.constant dense<[[5, 7, 11], [6, 8, 12]]> : tensor<2x3xindex>
  check.expect_eq %1, %e1 : tensor<2x3xindex>
  func.return
}

// A constant and a sum in the maps: the first row, and a window of two.
func.func @maps() {
  %x = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>
  %w = arith.constant dense<[1, 10]> : tensor<2xi32>
  %o = arith.constant dense<0> : tensor<3xi32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, k) -> (0, i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x, %w : tensor<2x4xi32>, tensor<2xi32>) outs(%o : tensor<3xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %c, %p : i32
    linalg.yield %s : i32
  } -> tensor<3xi32>
  %e0 = arith.constant dense<[21, 32, 43]> : tensor<3xi32>
  check.expect_eq %0, %e0 : tensor<3xi32>
  func.return
}

// Memory is written in place; a body that reads what it writes elsewhere runs in the order of a loop.
func.func @memory() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %m = memref.alloc() : memref<4xi32>
  linalg.fill ins(%one : i32) outs(%m : memref<4xi32>)
  %left = memref.subview %m[0] [3] [1] : memref<4xi32> to memref<3xi32, strided<[1]>>
  %right = memref.subview %m[1] [3] [1] : memref<4xi32> to memref<3xi32, strided<[1], offset: 1>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%left : memref<3xi32, strided<[1]>>) outs(%right : memref<3xi32, strided<[1], offset: 1>>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  }
  %0 = memref.load %m[%c0] : memref<4xi32>
  %1 = memref.load %m[%c3] : memref<4xi32>
  %found = tensor.from_elements %0, %1 : tensor<2xi32>
  %expected = arith.constant dense<[1, 4]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  func.return
}

func.func @named() {
  %x = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = arith.constant dense<[[5.0, -6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %o = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.add ins(%x, %y : tensor<2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  %e0 = arith.constant dense<[[6.0, -4.0], [10.0, 12.0]]> : tensor<2x2xf32>
  check.expect_eq %0, %e0 : tensor<2x2xf32>
  %1 = linalg.max ins(%x, %y : tensor<2x2xf32>, tensor<2x2xf32>) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  %e1 = arith.constant dense<[[5.0, 2.0], [7.0, 8.0]]> : tensor<2x2xf32>
  check.expect_eq %1, %e1 : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = linalg.matmul ins(%x, %y : tensor<2x2xf32>, tensor<2x2xf32>) outs(%z : tensor<2x2xf32>) -> tensor<2x2xf32>
  %e2 = arith.constant dense<[[19.0, 10.0], [43.0, 14.0]]> : tensor<2x2xf32>
  check.expect_eq %2, %e2 : tensor<2x2xf32>
  %t = tensor.empty() : tensor<3x2xf32>
  %r = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %3 = linalg.broadcast ins(%r : tensor<2xf32>) outs(%t : tensor<3x2xf32>) dimensions = [0]
  %e3 = arith.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<3x2xf32>
  check.expect_eq %3, %e3 : tensor<3x2xf32>
  %u = tensor.empty() : tensor<2x3xf32>
  %4 = linalg.transpose ins(%3 : tensor<3x2xf32>) outs(%u : tensor<2x3xf32>) permutation = [1, 0]
  %e4 = arith.constant dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf32>
  check.expect_eq %4, %e4 : tensor<2x3xf32>
  %v = arith.constant dense<[0.0, 100.0]> : tensor<2xf32>
  %5 = linalg.reduce ins(%4 : tensor<2x3xf32>) outs(%v : tensor<2xf32>) dimensions = [1]
  (%in: f32, %acc: f32) {
    %s = arith.addf %in, %acc : f32
    linalg.yield %s : f32
  }
  %e5 = arith.constant dense<[3.0, 106.0]> : tensor<2xf32>
  check.expect_eq %5, %e5 : tensor<2xf32>
  func.return
}

// i8 operands with zero points, accumulated in i32; a convolution with stride 2.
func.func @quantized() {
  %x = arith.constant dense<[[1, -2], [127, 0]]> : tensor<2x2xi8>
  %w = arith.constant dense<[[3], [-128]]> : tensor<2x1xi8>
  %zx = arith.constant 1 : i32
  %zw = arith.constant 2 : i32
  %o = arith.constant dense<5> : tensor<2x1xi32>
  %0 = linalg.quantized_matmul ins(%x, %w, %zx, %zw : tensor<2x2xi8>, tensor<2x1xi8>, i32, i32) outs(%o : tensor<2x1xi32>) -> tensor<2x1xi32>
  %e0 = arith.constant dense<[[395], [261]]> : tensor<2x1xi32>
  check.expect_eq %0, %e0 : tensor<2x1xi32>

  %i = arith.constant dense<[[[[1, 2, 3, 4, 5]]]]> : tensor<1x1x1x5xi8>
  %k = arith.constant dense<[[[[1, 10]]]]> : tensor<1x1x1x2xi8>
  %a = arith.constant dense<0> : tensor<1x1x1x2xi32>
  %1 = linalg.conv_2d_nchw_fchw {strides = dense<[1, 2]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>} ins(%i, %k : tensor<1x1x1x5xi8>, tensor<1x1x1x2xi8>) outs(%a : tensor<1x1x1x2xi32>) -> tensor<1x1x1x2xi32>
  %e1 = arith.constant dense<[[[[21, 43]]]]> : tensor<1x1x1x2xi32>
  check.expect_eq %1, %e1 : tensor<1x1x1x2xi32>
  func.return
}
