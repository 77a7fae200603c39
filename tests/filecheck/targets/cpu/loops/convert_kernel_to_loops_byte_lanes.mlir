// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Six steps of four terms: a register of each row has the bytes of four of them, the other two read their own.
// CHECK-LABEL: @runs(
// CHECK-SAME: [[V0:%.+]]: memref<2x24xi8>, [[V1:%.+]]: memref<1x1x6x16xi8>, [[V2:%.+]]: memref<2x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x24xi8> into memref<48xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V11]][[[V5]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V11]][[[V6]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] : memref<1x1x6x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = vector.shuffle [[V12]], [[V12]] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.dot_accumulate [[V4]], [[V14]], [[V15]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V17:%.+]] = vector.shuffle [[V13]], [[V13]] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.dot_accumulate [[V4]], [[V14]], [[V17]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V7]], [[V5]]] : memref<1x1x6x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V20:%.+]] = vector.shuffle [[V12]], [[V12]] [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.dot_accumulate [[V16]], [[V19]], [[V20]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V22:%.+]] = vector.shuffle [[V13]], [[V13]] [4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.dot_accumulate [[V18]], [[V19]], [[V22]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V8]], [[V5]]] : memref<1x1x6x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V25:%.+]] = vector.shuffle [[V12]], [[V12]] [8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.dot_accumulate [[V21]], [[V24]], [[V25]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = vector.shuffle [[V13]], [[V13]] [8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11, 8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.dot_accumulate [[V23]], [[V24]], [[V27]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V9]], [[V5]]] : memref<1x1x6x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = vector.shuffle [[V12]], [[V12]] [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.dot_accumulate [[V26]], [[V29]], [[V30]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V32:%.+]] = vector.shuffle [[V13]], [[V13]] [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V33:%.+]] = simd.dot_accumulate [[V28]], [[V29]], [[V32]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V34:%.+]], [[V35:%.+]] = scf.for [[V36:%.+]] = [[V5]] to [[V8]] step [[V7]] iter_args([[V37:%.+]] = [[V31]], [[V38:%.+]] = [[V33]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V39:%.+]] = arith.addi [[V10]], [[V36]] : index
// CHECK-NEXT: [[V40:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V39]], [[V5]]] : memref<1x1x6x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V41:%.+]] = arith.muli [[V39]], [[V10]] : index
// CHECK-NEXT: [[V42:%.+]] = simd.load_group_splat [[V11]][[[V41]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.dot_accumulate [[V37]], [[V40]], [[V42]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V41]], [[V6]] : index
// CHECK-NEXT: [[V45:%.+]] = simd.load_group_splat [[V11]][[[V44]]] : memref<48xi8> to vector<16xi8>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V38]], [[V40]], [[V45]] : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V43]], [[V46]] : vector<4xi32>, vector<4xi32>
// CHECK: simd.store [[V34]], [[V2]][[[V5]], [[V5]]] : vector<4xi32>, memref<2x4xi32>
// CHECK-NEXT: simd.store [[V35]], [[V2]][[[V7]], [[V5]]] : vector<4xi32>, memref<2x4xi32>
// CHECK-NEXT: func.return
func.func @runs(%x: memref<2x24xi8>, %w: memref<1x1x6x16xi8>, %y: memref<2x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x24xi8>, memref<1x1x6x16xi8>) outs(%y : memref<2x4xi32>) attributes {
    schedule = #kernel.schedule<rows = 2>, layout = #kernel.layout<variant = "s8s8_lanes", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
