// RUN: qmlir-opt %s -p kernel-lookup-tables | filecheck %s

#id = affine_map<(d0) -> (d0)>

// A chain that some byte makes undefined stays: the integer of an infinite float.
// CHECK-LABEL: @undefined(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi8>) outs([[V1]] : tensor<8xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.sitofp [[V3]] : i8 to f32
// CHECK-NEXT: [[V6:%.+]] = math.exp [[V5]] : f32
// CHECK-NEXT: [[V7:%.+]] = math.log [[V6]] : f32
// CHECK-NEXT: [[V8:%.+]] = arith.fptosi [[V7]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V8]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
func.func @undefined(%x: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.sitofp %a : i8 to f32
    %3 = math.exp %2 : f32
    %4 = math.log %3 : f32
    %5 = arith.fptosi %4 : f32 to i8
    linalg.yield %5 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}
