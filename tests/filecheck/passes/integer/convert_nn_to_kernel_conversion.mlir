// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s

// Floats beyond 32 bits are multiples of 256: no byte of them is left.
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> tensor<4xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<4xf32>) outs([[V1]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = math.absf [[V3]] : f32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2.1474836e+09 : f32
// CHECK-NEXT: [[V7:%.+]] = arith.cmpf olt, [[V5]], [[V6]] : f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.select [[V7]], [[V3]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.fptosi [[V9]] : f32 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.trunci [[V10]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<4xi8>
func.func @bytes(%x: tensor<4xf32>) -> tensor<4xi8> {
  %0 = nn.cast %x : (tensor<4xf32>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// CHECK-LABEL: @shifted(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8> {nn.element = ui8}, [[V1:%.+]]: tensor<i8> {nn.element = ui8}) -> (tensor<4xi8> {nn.element = ui8})
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<i8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.constant 7 : i8
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi ule, [[V5]], [[V7]] : i8
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V10:%.+]] = arith.select [[V8]], [[V5]], [[V9]] : i8
// CHECK-NEXT: [[V11:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V12:%.+]] = arith.shrui [[V4]], [[V10]] : i8
// CHECK-NEXT: [[V13:%.+]] = arith.select [[V8]], [[V12]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @shifted(%x: tensor<4xui8>, %n: tensor<ui8>) -> tensor<4xui8> {
  %0 = nn.bit_shift %x, %n {direction = "right"} : (tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
  func.return %0 : tensor<4xui8>
}
