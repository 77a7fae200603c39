// RUN: qmlir run %s

func.func @elements() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %a = tensor.extract %x[%c1, %c2] : tensor<2x3xi8>
  %y = tensor.insert %a into %x[%c0, %c1] : tensor<2x3xi8>
  %e0 = arith.constant dense<[[1, 6, 3], [4, 5, 6]]> : tensor<2x3xi8>
  check.expect_eq %y, %e0 : tensor<2x3xi8>
  // x has not changed
  %b = tensor.extract %x[%c0, %c1] : tensor<2x3xi8>
  %z = tensor.splat %b : tensor<2x1xi8>
  %e1 = arith.constant dense<2> : tensor<2x1xi8>
  check.expect_eq %z, %e1 : tensor<2x1xi8>
  %grid = tensor.from_elements %a, %b, %b, %a : tensor<2x2xi8>
  %e2 = arith.constant dense<[[6, 2], [2, 6]]> : tensor<2x2xi8>
  check.expect_eq %grid, %e2 : tensor<2x2xi8>
  %none = tensor.from_elements : tensor<0xi8>
  %e3 = arith.constant dense<> : tensor<0xi8>
  check.expect_eq %none, %e3 : tensor<0xi8>
  func.return
}

func.func @slices() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi8>
  %0 = tensor.extract_slice %x[0, 1] [2, 2] [2, 2] : tensor<3x4xi8> to tensor<2x2xi8>
  %e0 = arith.constant dense<[[2, 4], [10, 12]]> : tensor<2x2xi8>
  check.expect_eq %0, %e0 : tensor<2x2xi8>
  // One row, its axis dropped; sizes that are known at run time only
  %1 = tensor.extract_slice %x[%c1, 0] [1, %c2] [1, %c2] : tensor<3x4xi8> to tensor<?xi8>
  %2 = tensor.cast %1 : tensor<?xi8> to tensor<2xi8>
  %e2 = arith.constant dense<[5, 7]> : tensor<2xi8>
  check.expect_eq %2, %e2 : tensor<2xi8>
  %3 = tensor.insert_slice %2 into %x[2, 2] [1, 2] [1, 1] : tensor<2xi8> into tensor<3x4xi8>
  %e3 = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 5, 7]]> : tensor<3x4xi8>
  check.expect_eq %3, %e3 : tensor<3x4xi8>
  %4 = tensor.extract_slice %x[3, 4] [0, 0] [1, 1] : tensor<3x4xi8> to tensor<0x0xi8>
  %e4 = arith.constant dense<> : tensor<0x0xi8>
  check.expect_eq %4, %e4 : tensor<0x0xi8>
  %5 = tensor.extract_slice %x[1, 1] [1, 1] [1, 1] : tensor<3x4xi8> to tensor<i8>
  %e5 = arith.constant dense<6> : tensor<i8>
  check.expect_eq %5, %e5 : tensor<i8>
  func.return
}

func.func @shapes() {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %x = arith.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<3x2xi8> into tensor<6xi8>
  %e0 = arith.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi8>
  check.expect_eq %0, %e0 : tensor<6xi8>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 3] : tensor<6xi8> into tensor<2x3xi8>
  %e1 = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  check.expect_eq %1, %e1 : tensor<2x3xi8>
  %shape = arith.constant dense<[1, 6]> : tensor<2xi32>
  %2 = tensor.reshape %x(%shape) : (tensor<3x2xi8>, tensor<2xi32>) -> tensor<1x6xi8>
  %e2 = arith.constant dense<[[1, 2, 3, 4, 5, 6]]> : tensor<1x6xi8>
  check.expect_eq %2, %e2 : tensor<1x6xi8>
  %3 = tensor.concat dim(0) %x, %x : (tensor<3x2xi8>, tensor<3x2xi8>) -> tensor<6x2xi8>
  %e3 = arith.constant dense<[[1, 2], [3, 4], [5, 6], [1, 2], [3, 4], [5, 6]]> : tensor<6x2xi8>
  check.expect_eq %3, %e3 : tensor<6x2xi8>

  %empty = tensor.empty(%c3) : tensor<2x?xi8>
  %size = tensor.dim %empty, %c1 : tensor<2x?xi8>
  %n = arith.index_cast %size : index to i8
  %found = tensor.from_elements %n : tensor<1xi8>
  %e4 = arith.constant dense<3> : tensor<1xi8>
  check.expect_eq %found, %e4 : tensor<1xi8>
  func.return
}

// What surrounds the source is 0, or 10 * row + column.
func.func @pad() {
  %x = arith.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %0 = tensor.pad %x low[1, 0] high[0, %c1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : i32
  } : tensor<1x2xi32> to tensor<2x?xi32>
  %1 = tensor.cast %0 : tensor<2x?xi32> to tensor<2x3xi32>
  %e1 = arith.constant dense<[[0, 0, 0], [1, 2, 0]]> : tensor<2x3xi32>
  check.expect_eq %1, %e1 : tensor<2x3xi32>
  %ten = arith.constant 10 : index
  %2 = tensor.pad %x low[0, 1] high[1, 0] {
  ^bb0(%i: index, %j: index):
    %a = arith.muli %i, %ten : index
    %b = arith.addi %a, %j : index
    %c = arith.index_cast %b : index to i32
    tensor.yield %c : i32
  } : tensor<1x2xi32> to tensor<2x3xi32>
  %e2 = arith.constant dense<[[0, 1, 2], [10, 11, 12]]> : tensor<2x3xi32>
  check.expect_eq %2, %e2 : tensor<2x3xi32>
  func.return
}
