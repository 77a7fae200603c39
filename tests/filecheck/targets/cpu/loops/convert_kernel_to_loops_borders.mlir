// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// The first row; the last one; the first two columns of those between them. The slice touches the last column.
// CHECK-LABEL: @sides(
// CHECK-SAME: [[V0:%.+]]: i8, [[V1:%.+]]: memref<4x5xi8>)
// CHECK-NEXT: [[V2:%.+]] = memref.subview [[V1]][0, 0] [1, 5] [1, 1] : memref<4x5xi8> to memref<1x5xi8, strided<[5, 1]>>
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: memref.store [[V0]], [[V2]][[[V3]], [[V6]]] : memref<1x5xi8, strided<[5, 1]>>
// CHECK: [[V7:%.+]] = memref.subview [[V1]][3, 0] [1, 5] [1, 1] : memref<4x5xi8> to memref<1x5xi8, strided<[5, 1], offset: 15>>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V11:%.+]] = [[V8]] to [[V9]] step [[V10]] {
// CHECK-NEXT: memref.store [[V0]], [[V7]][[[V8]], [[V11]]] : memref<1x5xi8, strided<[5, 1], offset: 15>>
// CHECK: [[V12:%.+]] = memref.subview [[V1]][1, 0] [2, 2] [1, 1] : memref<4x5xi8> to memref<2x2xi8, strided<[5, 1], offset: 5>>
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V16:%.+]] = [[V13]] to [[V14]] step [[V15]] {
// CHECK-NEXT: scf.for [[V17:%.+]] = [[V13]] to [[V14]] step [[V15]] {
// CHECK-NEXT: memref.store [[V0]], [[V12]][[[V16]], [[V17]]] : memref<2x2xi8, strided<[5, 1], offset: 5>>
// CHECK: func.return
func.func @sides(%v: i8, %y: memref<4x5xi8>) {
  linalg.fill {kernel.overwritten = [array<i64: 1, 2>, array<i64: 2, 3>]} ins(%v : i8) outs(%y : memref<4x5xi8>)
  func.return
}

// Nothing is left.
// CHECK-LABEL: @all(
// CHECK-SAME: [[V0:%.+]]: i8, [[V1:%.+]]: memref<4x5xi8>)
// CHECK-NEXT: func.return
func.func @all(%v: i8, %y: memref<4x5xi8>) {
  linalg.fill {kernel.overwritten = [array<i64: 0, 0>, array<i64: 4, 5>]} ins(%v : i8) outs(%y : memref<4x5xi8>)
  func.return
}
