// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Six steps of four terms: a register of each row has the bytes of four of them, the other two read their own.
// CHECK-LABEL: @runs(
// CHECK-SAME: [[V0:%.+]]: memref<2x24xi8>, [[V1:%.+]]: memref<1x1x6x16xi8>, [[V2:%.+]]: memref<2x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<1x2x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x24xi8> into memref<48xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V11]][[[V5]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V11]][[[V6]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x6x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V15:%.+]] = vector.shuffle [[V12]], [[V12]] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = vector.shuffle [[V13]], [[V13]] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.stack [[V15]], [[V16]] : vector<16xi8>, vector<16xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V17]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V14]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.dot_accumulate [[V4]], [[V19]], [[V18]] : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V7]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x6x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V22:%.+]] = vector.shuffle [[V12]], [[V12]] [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V23:%.+]] = vector.shuffle [[V13]], [[V13]] [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.stack [[V22]], [[V23]] : vector<16xi8>, vector<16xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V25:%.+]] = vector.broadcast [[V24]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V26:%.+]] = vector.broadcast [[V21]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V27:%.+]] = simd.dot_accumulate [[V20]], [[V26]], [[V25]] : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V28:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V8]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x6x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V29:%.+]] = vector.shuffle [[V12]], [[V12]] [8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = vector.shuffle [[V13]], [[V13]] [8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.stack [[V29]], [[V30]] : vector<16xi8>, vector<16xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V32:%.+]] = vector.broadcast [[V31]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V28]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.dot_accumulate [[V27]], [[V33]], [[V32]] : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V9]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x6x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V36:%.+]] = vector.shuffle [[V12]], [[V12]] [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V37:%.+]] = vector.shuffle [[V13]], [[V13]] [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V38:%.+]] = simd.stack [[V36]], [[V37]] : vector<16xi8>, vector<16xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V39:%.+]] = vector.broadcast [[V38]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V40:%.+]] = vector.broadcast [[V35]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V41:%.+]] = simd.dot_accumulate [[V34]], [[V40]], [[V39]] : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V42:%.+]] = scf.for [[V43:%.+]] = [[V5]] to [[V8]] step [[V7]] iter_args([[V44:%.+]] = [[V41]]) -> (vector<1x2x4xi32>) {
// CHECK-NEXT: [[V45:%.+]] = arith.addi [[V10]], [[V43]] : index
// CHECK-NEXT: [[V46:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V45]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x6x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V47:%.+]] = arith.muli [[V45]], [[V10]] : index
// CHECK-NEXT: [[V48:%.+]] = simd.load_group_splat [[V11]][[[V47]]] {strides = array<i64: 24>} : memref<48xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V49:%.+]] = vector.broadcast [[V48]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V50:%.+]] = vector.broadcast [[V46]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V51:%.+]] = simd.dot_accumulate [[V44]], [[V50]], [[V49]] : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: scf.yield [[V51]] : vector<1x2x4xi32>
// CHECK: [[V52:%.+]] = vector.extract [[V42]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V52]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<2x4xi32>, memref<2x4xi32>
// CHECK-NEXT: func.return
func.func @runs(%x: memref<2x24xi8>, %w: memref<1x1x6x16xi8>, %y: memref<2x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x24xi8>, memref<1x1x6x16xi8>) outs(%y : memref<2x4xi32>) attributes {
    schedule = #kernel.schedule<rows = 2>, layout = #kernel.layout<variant = "s8s8_lanes", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
