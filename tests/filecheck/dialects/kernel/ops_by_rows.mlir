// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>

// Axes of one element may stand between those of the rows.
func.func @rows(%x: tensor<2x1x3x4xi8>) -> (tensor<2x1x3x4xi8>, tensor<2x3xi8>) {
  %0 = tensor.empty() : tensor<2x1x3x4xi8>
  %1 = tensor.empty() : tensor<2x3xi8>
  %2, %3 = kernel.row_fusion outs(%0, %1 : tensor<2x1x3x4xi8>, tensor<2x3xi8>) -> tensor<2x1x3x4xi8>, tensor<2x3xi8> attributes {rows = array<i64: 2, 3>, note = "kept"} {
  ^bb0(%y: tensor<2x1x3x4xi8>, %z: tensor<2x3xi8>):
    %least = arith.constant -128 : i8
    %4 = linalg.fill ins(%least : i8) outs(%z : tensor<2x3xi8>) -> tensor<2x3xi8>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<2x1x3x4xi8>) outs(%4 : tensor<2x3xi8>) {
    ^bb0(%a: i8, %o: i8):
      %7 = arith.maxsi %a, %o : i8
      linalg.yield %7 : i8
    } -> tensor<2x3xi8>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>, #row, affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %5 : tensor<2x1x3x4xi8>, tensor<2x3xi8>) outs(%y : tensor<2x1x3x4xi8>) {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %7 = arith.subi %a, %b : i8
      linalg.yield %7 : i8
    } -> tensor<2x1x3x4xi8>
    kernel.yield %6, %5 : tensor<2x1x3x4xi8>, tensor<2x3xi8>
  }
  func.return %2, %3 : tensor<2x1x3x4xi8>, tensor<2x3xi8>
}

// CHECK-LABEL: @rows(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1x3x4xi8>) -> (tensor<2x1x3x4xi8>, tensor<2x3xi8>)
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x1x3x4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x3xi8>
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = kernel.row_fusion outs([[V1]], [[V2]] : tensor<2x1x3x4xi8>, tensor<2x3xi8>) -> tensor<2x1x3x4xi8>, tensor<2x3xi8> attributes {note = "kept", rows = array<i64: 2, 3>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<2x1x3x4xi8>, [[V6:%.+]]: tensor<2x3xi8>):
// CHECK-NEXT: [[V7:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V8:%.+]] = linalg.fill ins([[V7]] : i8) outs([[V6]] : tensor<2x3xi8>) -> tensor<2x3xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<2x1x3x4xi8>) outs([[V8]] : tensor<2x3xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.maxsi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK-NEXT: } -> tensor<2x3xi8>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, 0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V9]] : tensor<2x1x3x4xi8>, tensor<2x3xi8>) outs([[V5]] : tensor<2x1x3x4xi8>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8, [[V16:%.+]]: i8):
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V14]], [[V15]] : i8
// CHECK-NEXT: linalg.yield [[V17]] : i8
// CHECK-NEXT: } -> tensor<2x1x3x4xi8>
// CHECK-NEXT: kernel.yield [[V13]], [[V9]] : tensor<2x1x3x4xi8>, tensor<2x3xi8>
// CHECK: func.return [[V3]], [[V4]] : tensor<2x1x3x4xi8>, tensor<2x3xi8>
