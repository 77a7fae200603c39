// RUN: qmlir-opt %s -p kernel-propagate-layout | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-propagate-layout,kernel-propagate-layout' -o %t.twice && qmlir-opt %s -p kernel-propagate-layout | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-propagate-layout --verify-each=exec -o %t.checked

#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#last = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#first = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>

// Channels last in, channels last out: no transpose is left, and a row has its iterators in the order that they had.
// CHECK-LABEL: @rows_of_an_image(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<1x3x4x5xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x3x4x5xf32>) outs([[V1]] : tensor<1x3x4x5xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = kernel.row_sum [[V3]] {dims = array<i64: 1, 2>} : f32
// CHECK-NEXT: [[V6:%.+]] = kernel.row_max [[V3]] {dims = array<i64: 1, 2>} : f32
// CHECK-NEXT: [[V7:%.+]] = arith.divf [[V6]], [[V5]] : f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<1x3x4x5xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<1x3x4x5xf32>
func.func @rows_of_an_image(%x: tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32> {
  %e = tensor.empty() : tensor<1x5x3x4xf32>
  %0 = linalg.generic {indexing_maps = [#first, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x3x4x5xf32>) outs(%e : tensor<1x5x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x5x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x5x3x4xf32>) outs(%e : tensor<1x5x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = kernel.row_sum %a {dims = array<i64: 2, 3>} : f32
    %4 = kernel.row_max %a {dims = array<i64: 2, 3>} : f32
    %5 = arith.divf %4, %3 : f32
    linalg.yield %5 : f32
  } -> tensor<1x5x3x4xf32>
  %f = tensor.empty() : tensor<1x3x4x5xf32>
  %2 = linalg.generic {indexing_maps = [#last, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<1x5x3x4xf32>) outs(%f : tensor<1x3x4x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x3x4x5xf32>
  func.return %2 : tensor<1x3x4x5xf32>
}

// The row goes across: its last iterator stays the one that runs fastest.
// CHECK-LABEL: @row_in_another_order(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x3x5xf32>) -> tensor<1x5x3x4xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<1x4x3x5xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x4x3x5xf32>) outs([[V1]] : tensor<1x4x3x5xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = kernel.row_sum [[V3]] {dims = array<i64: 2, 1>} : f32
// CHECK-NEXT: [[V6:%.+]] = arith.divf [[V3]], [[V5]] : f32
// CHECK-NEXT: linalg.yield [[V6]] : f32
// CHECK-NEXT: } -> tensor<1x4x3x5xf32>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<1x5x3x4xf32>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V2]] : tensor<1x4x3x5xf32>) outs([[V7]] : tensor<1x5x3x4xf32>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: f32, [[V10:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V9]] : f32
// CHECK-NEXT: } -> tensor<1x5x3x4xf32>
// CHECK-NEXT: func.return [[V8]] : tensor<1x5x3x4xf32>
func.func @row_in_another_order(%x: tensor<1x4x3x5xf32>) -> tensor<1x5x3x4xf32> {
  %e = tensor.empty() : tensor<1x5x3x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x4x3x5xf32>) outs(%e : tensor<1x5x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x5x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x5x3x4xf32>) outs(%e : tensor<1x5x3x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %3 = kernel.row_sum %a {dims = array<i64: 2, 3>} : f32
    %4 = arith.divf %a, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<1x5x3x4xf32>
  func.return %1 : tensor<1x5x3x4xf32>
}
