// RUN: qmlir-opt %s -p kernel-propagate-layout | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-propagate-layout,kernel-propagate-layout' -o %t.twice && qmlir-opt %s -p kernel-propagate-layout | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-propagate-layout --verify-each=exec -o %t.checked

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#to_last = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#to_first = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>

// Between two channels-last operations: pointwise work with a bias by channel, padding, joining. No transpose is left.
// CHECK-LABEL: @chain(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x4xi32>, [[V1:%.+]]: tensor<4x1x1xi32>) -> tensor<1x3x3x8xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x2x3x4xi32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<1x2x3x4xi32>, tensor<4x1x1xi32>) outs([[V2]] : tensor<1x2x3x4xi32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32, [[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: linalg.yield [[V7]] : i32
// CHECK-NEXT: } -> tensor<1x2x3x4xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<1x3x3x8xi32>
// CHECK-NEXT: [[V10:%.+]] = linalg.fill ins([[V8]] : i32) outs([[V9]] : tensor<1x3x3x8xi32>) -> tensor<1x3x3x8xi32>
// CHECK-NEXT: [[V11:%.+]] = tensor.insert_slice [[V3]] into [[V10]][0, 0, 0, 0] [1, 2, 3, 4] [1, 1, 1, 1] : tensor<1x2x3x4xi32> into tensor<1x3x3x8xi32>
// CHECK-NEXT: [[V12:%.+]] = tensor.insert_slice [[V3]] into [[V11]][0, 1, 0, 4] [1, 2, 3, 4] [1, 1, 1, 1] : tensor<1x2x3x4xi32> into tensor<1x3x3x8xi32>
// CHECK-NEXT: func.return [[V12]] : tensor<1x3x3x8xi32>
func.func @chain(%x: tensor<1x2x3x4xi32>, %b: tensor<4x1x1xi32>) -> tensor<1x3x3x8xi32> {
  %e = tensor.empty() : tensor<1x4x2x3xi32>
  %0 = linalg.generic {indexing_maps = [#to_first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x3x4xi32>) outs(%e : tensor<1x4x2x3xi32>) {
  ^bb0(%a: i32, %o: i32):
    linalg.yield %a : i32
  } -> tensor<1x4x2x3xi32>
  %1 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %b : tensor<1x4x2x3xi32>, tensor<4x1x1xi32>) outs(%e : tensor<1x4x2x3xi32>) {
  ^bb0(%a: i32, %c: i32, %o: i32):
    %2 = arith.addi %a, %c : i32
    linalg.yield %2 : i32
  } -> tensor<1x4x2x3xi32>
  %zero = arith.constant 0 : i32
  %p = tensor.empty() : tensor<1x8x3x3xi32>
  %3 = linalg.fill ins(%zero : i32) outs(%p : tensor<1x8x3x3xi32>) -> tensor<1x8x3x3xi32>
  %4 = tensor.insert_slice %1 into %3[0, 0, 0, 0] [1, 4, 2, 3] [1, 1, 1, 1] : tensor<1x4x2x3xi32> into tensor<1x8x3x3xi32>
  %5 = tensor.insert_slice %1 into %4[0, 4, 1, 0] [1, 4, 2, 3] [1, 1, 1, 1] : tensor<1x4x2x3xi32> into tensor<1x8x3x3xi32>
  %f = tensor.empty() : tensor<1x3x3x8xi32>
  %6 = linalg.generic {indexing_maps = [#to_last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<1x8x3x3xi32>) outs(%f : tensor<1x3x3x8xi32>) {
  ^bb0(%a: i32, %o: i32):
    linalg.yield %a : i32
  } -> tensor<1x3x3x8xi32>
  func.return %6 : tensor<1x3x3x8xi32>
}

// Constants are transposed now; slices are taken first; axes of one step do not matter.
// CHECK-LABEL: @edges(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x4xi8>) -> (tensor<1x4x1x2xi8>, tensor<1x4x2x1xi8>, tensor<2x1x3xi8>)
// CHECK-NEXT: [[V1:%.+]] = tensor.extract_slice [[V0]][0, 1, 1, 0] [1, 1, 2, 4] [1, 1, 1, 1] : tensor<1x2x3x4xi8> to tensor<1x1x2x4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x4x1x2xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V1]] : tensor<1x1x2x4xi8>) outs([[V2]] : tensor<1x4x1x2xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<1x4x1x2xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.extract_slice [[V0]][0, 0, 0, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x3x4xi8> to tensor<1x2x1x4xi8>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<1x4x2x1xi8>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V6]] : tensor<1x2x1x4xi8>) outs([[V7]] : tensor<1x4x2x1xi8>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<1x4x2x1xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.constant dense<{{\[\[}}[1, 3, 5]], {{\[\[}}2, 4, 6]]]> : tensor<2x1x3xi8>
// CHECK-NEXT: func.return [[V3]], [[V8]], [[V11]] : tensor<1x4x1x2xi8>, tensor<1x4x2x1xi8>, tensor<2x1x3xi8>
func.func @edges(%x: tensor<1x2x3x4xi8>) -> (tensor<1x4x1x2xi8>, tensor<1x4x2x1xi8>, tensor<2x1x3xi8>) {
  %e = tensor.empty() : tensor<1x4x2x3xi8>
  %0 = linalg.generic {indexing_maps = [#to_first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x3x4xi8>) outs(%e : tensor<1x4x2x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x4x2x3xi8>
  %1 = tensor.extract_slice %0[0, 0, 1, 1] [1, 4, 1, 2] [1, 1, 1, 1] : tensor<1x4x2x3xi8> to tensor<1x4x1x2xi8>
  %2 = tensor.extract_slice %0[0, 0, 0, 0] [1, 4, 2, 1] [1, 1, 1, 1] : tensor<1x4x2x3xi8> to tensor<1x4x2x1xi8>
  %c = arith.constant dense<[[[1, 2]], [[3, 4]], [[5, 6]]]> : tensor<3x1x2xi8>
  %f = tensor.empty() : tensor<2x1x3xi8>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c : tensor<3x1x2xi8>) outs(%f : tensor<2x1x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<2x1x3xi8>
  func.return %1, %2, %3 : tensor<1x4x1x2xi8>, tensor<1x4x2x1xi8>, tensor<2x1x3xi8>
}

// A flattened image: the product's weights take the order of its terms, and a mean reads through the transpose.
// CHECK-LABEL: @flattened(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x2xi8>) -> (tensor<1x2xi32>, tensor<1x2xi32>)
// CHECK-NEXT: [[V1:%.+]] = kernel.reshape [[V0]] : tensor<1x1x2x2xi8> to tensor<1x4xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<{{\[\[}}1, 3, 2, 4], [5, 7, 6, 8]]> : tensor<2x4xi8>
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V1]], [[V2]] : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V4]] : i32
// CHECK: [[V5:%.+]] = arith.constant dense<0> : tensor<1x2xi32>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins([[V0]] : tensor<1x1x2x2xi8>) outs([[V5]] : tensor<1x2xi32>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i32):
// CHECK-NEXT: [[V9:%.+]] = arith.extsi [[V7]] : i8 to i32
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V9]] : i32
// CHECK-NEXT: linalg.yield [[V10]] : i32
// CHECK-NEXT: } -> tensor<1x2xi32>
// CHECK-NEXT: func.return [[V3]], [[V6]] : tensor<1x2xi32>, tensor<1x2xi32>
func.func @flattened(%x: tensor<1x1x2x2xi8>) -> (tensor<1x2xi32>, tensor<1x2xi32>) {
  %e = tensor.empty() : tensor<1x2x1x2xi8>
  %0 = linalg.generic {indexing_maps = [#to_first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x1x2x2xi8>) outs(%e : tensor<1x2x1x2xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x2x1x2xi8>
  %1 = kernel.reshape %0 : tensor<1x2x1x2xi8> to tensor<1x4xi8>
  %w = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %2 = kernel.matmul ins(%1, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %init = arith.constant dense<0> : tensor<1x2xi32>
  %3 = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%0 : tensor<1x2x1x2xi8>) outs(%init : tensor<1x2xi32>) {
  ^bb0(%a: i8, %o: i32):
    %4 = arith.extsi %a : i8 to i32
    %5 = arith.addi %o, %4 : i32
    linalg.yield %5 : i32
  } -> tensor<1x2xi32>
  func.return %2, %3 : tensor<1x2xi32>, tensor<1x2xi32>
}

// Rows that changed places are no order of terms: the weights stay.
// CHECK-LABEL: @rows_exchanged(
// CHECK: arith.constant dense<{{\[\[}}1, 2, 3, 4]]> : tensor<1x4xi8>
// CHECK: kernel.matmul
func.func @rows_exchanged(%x: tensor<2x3x2x2xi8>) -> tensor<3x2x1xi32> {
  %e = tensor.empty() : tensor<3x2x2x2xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0, d3, d2)>, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x2x2xi8>) outs(%e : tensor<3x2x2x2xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<3x2x2x2xi8>
  %1 = kernel.reshape %0 : tensor<3x2x2x2xi8> to tensor<3x2x4xi8>
  %w = arith.constant dense<[[1, 2, 3, 4]]> : tensor<1x4xi8>
  %2 = kernel.matmul ins(%1, %w : tensor<3x2x4xi8>, tensor<1x4xi8>) -> tensor<3x2x1xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %2 : tensor<3x2x1xi32>
}

// Channels that are divided into groups stay beside each other: one transpose is left of three.
// CHECK-LABEL: @shuffled(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x4xi8>) -> tensor<1x2x3x4xi8>
// CHECK-NEXT: [[V1:%.+]] = kernel.reshape [[V0]] : tensor<1x2x3x4xi8> to tensor<1x2x3x2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x2x3x2x2xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins([[V1]] : tensor<1x2x3x2x2xi8>) outs([[V2]] : tensor<1x2x3x2x2xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<1x2x3x2x2xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<1x2x3x2x2xi8> to tensor<1x2x3x4xi8>
// CHECK-NEXT: func.return [[V6]] : tensor<1x2x3x4xi8>
func.func @shuffled(%x: tensor<1x2x3x4xi8>) -> tensor<1x2x3x4xi8> {
  %e = tensor.empty() : tensor<1x4x2x3xi8>
  %0 = linalg.generic {indexing_maps = [#to_first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x3x4xi8>) outs(%e : tensor<1x4x2x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x4x2x3xi8>
  %1 = kernel.reshape %0 : tensor<1x4x2x3xi8> to tensor<1x2x2x2x3xi8>
  %f = tensor.empty() : tensor<1x2x2x2x3xi8>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<1x2x2x2x3xi8>) outs(%f : tensor<1x2x2x2x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x2x2x2x3xi8>
  %3 = kernel.reshape %2 : tensor<1x2x2x2x3xi8> to tensor<1x4x2x3xi8>
  %g = tensor.empty() : tensor<1x2x3x4xi8>
  %4 = linalg.generic {indexing_maps = [#to_last, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<1x4x2x3xi8>) outs(%g : tensor<1x2x3x4xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x2x3x4xi8>
  func.return %4 : tensor<1x2x3x4xi8>
}

// Slices whose places are operands stay where they are, behind the transpose.
// CHECK-LABEL: @places_as_operands(
// CHECK: [[MOVED:%.+]] = linalg.generic
// CHECK: tensor.extract_slice [[MOVED]][0, 0, {{%.+}}, 1] [1, 4, 1, 2] [1, 1, 1, 1] : tensor<1x4x2x3xi8>
// CHECK: tensor.insert_slice [[MOVED]] into {{%.+}}[0, 0, 0, {{%.+}}] [1, 4, 2, 3] [1, 1, 1, 1] : tensor<1x4x2x3xi8>
func.func @places_as_operands(%x: tensor<1x2x3x4xi8>) -> (tensor<1x4x1x2xi8>, tensor<1x4x2x6xi8>) {
  %e = tensor.empty() : tensor<1x4x2x3xi8>
  %0 = linalg.generic {indexing_maps = [#to_first, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x2x3x4xi8>) outs(%e : tensor<1x4x2x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<1x4x2x3xi8>
  %at = arith.constant 1 : index
  %1 = "tensor.extract_slice"(%0, %at) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, static_offsets = array<i64: 0, 0, -9223372036854775808, 1>, static_sizes = array<i64: 1, 4, 1, 2>, static_strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x4x2x3xi8>, index) -> tensor<1x4x1x2xi8>
  %zero = arith.constant 0 : i8
  %g = tensor.empty() : tensor<1x4x2x6xi8>
  %2 = linalg.fill ins(%zero : i8) outs(%g : tensor<1x4x2x6xi8>) -> tensor<1x4x2x6xi8>
  %3 = "tensor.insert_slice"(%0, %2, %at) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, static_offsets = array<i64: 0, 0, 0, -9223372036854775808>, static_sizes = array<i64: 1, 4, 2, 3>, static_strides = array<i64: 1, 1, 1, 1>}> : (tensor<1x4x2x3xi8>, tensor<1x4x2x6xi8>, index) -> tensor<1x4x2x6xi8>
  func.return %1, %3 : tensor<1x4x1x2xi8>, tensor<1x4x2x6xi8>
}
