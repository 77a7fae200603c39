// RUN: qmlir-opt %s -p kernel-fuse | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-fuse,kernel-fuse' -o %t.twice && qmlir-opt %s -p kernel-fuse | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-fuse --verify-each=exec -o %t.checked

#all = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#last = affine_map<(d0, d1) -> (d1)>
#first = affine_map<(d0, d1) -> (d0)>

// What comes before a row and what comes behind it are computed with it: a mask, and a result in another layout.
// CHECK-LABEL: @before_and_behind(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xf32>, [[V1:%.+]]: tensor<8xf32>) -> tensor<8x2xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<8x2xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xf32>, tensor<8xf32>) outs([[V2]] : tensor<8x2xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.addf [[V4]], [[V5]] : f32
// CHECK-NEXT: [[V8:%.+]] = kernel.row_max [[V7]] {dims = array<i64: 0>} : f32
// CHECK-NEXT: [[V9:%.+]] = arith.subf [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.negf [[V9]] : f32
// CHECK-NEXT: linalg.yield [[V10]] : f32
// CHECK-NEXT: } -> tensor<8x2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<8x2xf32>
func.func @before_and_behind(%x: tensor<2x8xf32>, %mask: tensor<8xf32>) -> tensor<8x2xf32> {
  %e = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %mask : tensor<2x8xf32>, tensor<8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %3 = arith.addf %a, %b : f32
    linalg.yield %3 : f32
  } -> tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = kernel.row_max %a {dims = array<i64: 1>} : f32
    %4 = arith.subf %a, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<2x8xf32>
  %t = tensor.empty() : tensor<8x2xf32>
  %2 = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<2x8xf32>) outs(%t : tensor<8x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = arith.negf %a : f32
    linalg.yield %3 : f32
  } -> tensor<8x2xf32>
  func.return %2 : tensor<8x2xf32>
}

// Left alone: a part of a row, a sum of rows, another row, and the epilogue of a product.
// CHECK-LABEL: @part_of_a_row(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xf32>, [[V1:%.+]]: tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x8xf32>) outs([[V2]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: [[V6:%.+]] = kernel.row_sum [[V4]] {dims = array<i64: 1>} : f32
// CHECK-NEXT: [[V7:%.+]] = arith.subf [[V4]], [[V6]] : f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, (d1 * 2))>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V3]], [[V1]] : tensor<2x8xf32>, tensor<2x4xf32>) outs([[V8]] : tensor<2x4xf32>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: f32, [[V11:%.+]]: f32, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.mulf [[V10]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V13]] : f32
// CHECK-NEXT: } -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[V9]] : tensor<2x4xf32>
func.func @part_of_a_row(%x: tensor<2x8xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = kernel.row_sum %a {dims = array<i64: 1>} : f32
    %3 = arith.subf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x8xf32>
  %p = tensor.empty() : tensor<2x4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 * 2)>, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %y : tensor<2x8xf32>, tensor<2x4xf32>) outs(%p : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %2 = arith.mulf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @sum_of_rows(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi32>, [[V1:%.+]]: tensor<2xi32>) -> tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x8xi32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x8xi32>) outs([[V2]] : tensor<2x8xi32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = kernel.row_max [[V4]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V7:%.+]] = arith.subi [[V4]], [[V6]] : i32
// CHECK-NEXT: linalg.yield [[V7]] : i32
// CHECK-NEXT: } -> tensor<2x8xi32>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V3]] : tensor<2x8xi32>) outs([[V1]] : tensor<2xi32>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: i32):
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V10]], [[V9]] : i32
// CHECK-NEXT: linalg.yield [[V11]] : i32
// CHECK-NEXT: } -> tensor<2xi32>
// CHECK-NEXT: func.return [[V8]] : tensor<2xi32>
func.func @sum_of_rows(%x: tensor<2x8xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %e = tensor.empty() : tensor<2x8xi32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x8xi32>) outs(%e : tensor<2x8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %2 = kernel.row_max %a {dims = array<i64: 1>} : i32
    %3 = arith.subi %a, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<2x8xi32>
  %1 = linalg.generic {indexing_maps = [#all, #first], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<2x8xi32>) outs(%y : tensor<2xi32>) {
  ^bb0(%a: i32, %o: i32):
    %2 = arith.addi %o, %a : i32
    linalg.yield %2 : i32
  } -> tensor<2xi32>
  func.return %1 : tensor<2xi32>
}

// CHECK-LABEL: @another_row(
// CHECK-SAME: [[V0:%.+]]: tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8x8xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<8x8xf32>) outs([[V1]] : tensor<8x8xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = kernel.row_max [[V3]] {dims = array<i64: 1>} : f32
// CHECK-NEXT: [[V6:%.+]] = arith.subf [[V3]], [[V5]] : f32
// CHECK-NEXT: linalg.yield [[V6]] : f32
// CHECK-NEXT: } -> tensor<8x8xf32>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V2]] : tensor<8x8xf32>) outs([[V1]] : tensor<8x8xf32>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: f32, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = kernel.row_max [[V8]] {dims = array<i64: 0>} : f32
// CHECK-NEXT: [[V11:%.+]] = arith.subf [[V8]], [[V10]] : f32
// CHECK-NEXT: linalg.yield [[V11]] : f32
// CHECK-NEXT: } -> tensor<8x8xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<8x8xf32>
func.func @another_row(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = kernel.row_max %a {dims = array<i64: 1>} : f32
    %3 = arith.subf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = kernel.row_max %a {dims = array<i64: 0>} : f32
    %3 = arith.subf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: @epilogues(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xi8>, [[V1:%.+]]: tensor<8x4xi8>, [[V2:%.+]]: tensor<2x8xi32>) -> (tensor<2x8xi32>, tensor<2x8xi32>)
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xi32>
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x4xi8>, tensor<8x4xi8>) -> tensor<2x8xi32> {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V5]] : i32
// CHECK: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]] : tensor<2x8xi32>) outs([[V3]] : tensor<2x8xi32>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32, [[V8:%.+]]: i32):
// CHECK-NEXT: [[V9:%.+]] = kernel.row_max [[V7]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V7]], [[V9]] : i32
// CHECK-NEXT: linalg.yield [[V10]] : i32
// CHECK-NEXT: } -> tensor<2x8xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V2]] : tensor<2x8xi32>) outs([[V3]] : tensor<2x8xi32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = kernel.row_max [[V12]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: linalg.yield [[V14]] : i32
// CHECK-NEXT: } -> tensor<2x8xi32>
// CHECK-NEXT: [[V15:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x4xi8>, tensor<8x4xi8>) epilogue([[V11]] : tensor<2x8xi32>) -> tensor<2x8xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d0, d1)>]} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: i32, [[V17:%.+]]: i32):
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V16]], [[V17]] : i32
// CHECK-NEXT: kernel.yield [[V18]] : i32
// CHECK: func.return [[V6]], [[V15]] : tensor<2x8xi32>, tensor<2x8xi32>
func.func @epilogues(%x: tensor<2x4xi8>, %w: tensor<8x4xi8>, %y: tensor<2x8xi32>) -> (tensor<2x8xi32>, tensor<2x8xi32>) {
  %e = tensor.empty() : tensor<2x8xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<8x4xi8>) -> tensor<2x8xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x8xi32>) outs(%e : tensor<2x8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %4 = kernel.row_max %a {dims = array<i64: 1>} : i32
    %5 = arith.subi %a, %4 : i32
    linalg.yield %5 : i32
  } -> tensor<2x8xi32>
  %2 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<2x8xi32>) outs(%e : tensor<2x8xi32>) {
  ^bb0(%a: i32, %o: i32):
    %4 = kernel.row_max %a {dims = array<i64: 1>} : i32
    linalg.yield %4 : i32
  } -> tensor<2x8xi32>
  %3 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<8x4xi8>) epilogue(%2 : tensor<2x8xi32>) -> tensor<2x8xi32> attributes {epilogue_maps = [#all]} {
  ^bb0(%sum: i32, %a: i32):
    %4 = arith.addi %sum, %a : i32
    kernel.yield %4 : i32
  }
  func.return %1, %3 : tensor<2x8xi32>, tensor<2x8xi32>
}
