// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// CHECK-LABEL: @numbers_of_a_row(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xi8>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x3x4xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<2x3x4xi8>) outs([[V1]] : tensor<2x3x4xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = kernel.row_max [[V3]] {dims = array<i64: 2, 1>} : i8
// CHECK-NEXT: [[V6:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V7:%.+]] = kernel.row_sum [[V6]] {dims = array<i64: 2, 1>} : f32
// CHECK-NEXT: [[V8:%.+]] = kernel.row_sum [[V7]] {dims = array<i64: 2, 1>, reassoc} : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<2x3x4xf32>
func.func @numbers_of_a_row(%x: tensor<2x3x4xi8>) -> tensor<2x3x4xf32> {
  %0 = tensor.empty() : tensor<2x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4xi8>) outs(%0 : tensor<2x3x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %2 = kernel.row_max %a {dims = array<i64: 2, 1>} : i8
    %3 = arith.sitofp %2 : i8 to f32
    %4 = kernel.row_sum %3 {dims = array<i64: 2, 1>} : f32
    %5 = kernel.row_sum %4 {dims = array<i64: 2, 1>, reassoc} : f32
    linalg.yield %5 : f32
  } -> tensor<2x3x4xf32>
  func.return %1 : tensor<2x3x4xf32>
}
