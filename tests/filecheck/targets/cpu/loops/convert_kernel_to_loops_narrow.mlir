// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Weights of 4 and of 2 bits share bytes. Those of a step go into the highest bits of bytes of their own, so the sums
// are 16 and 64 times too large until they end; for the last one of a byte the others need no shift.

// CHECK-LABEL: @halves(
// CHECK-SAME: [[V0:%.+]]: memref<2x16xi8>, [[V1:%.+]]: memref<1x1x2x16xi8>, [[V2:%.+]]: memref<2x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<1x2x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.constant -16 : i8
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V13:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 4 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<1x2x4xi32>
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x16xi8> into memref<32xi8>
// CHECK-NEXT: [[V17:%.+]] = scf.for [[V18:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V19:%.+]] = [[V4]]) -> (vector<1x2x4xi32>) {
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V18]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x2x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V18]], [[V8]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.shli [[V20]], [[V10]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.load_group_splat [[V16]][[[V21]]] {strides = array<i64: 16>} : memref<32xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V25:%.+]] = vector.broadcast [[V22]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.dot_accumulate [[V19]], [[V24]], [[V25]] {signs = "us"} : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.andi [[V20]], [[V12]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V21]], [[V13]] : index
// CHECK-NEXT: [[V29:%.+]] = simd.load_group_splat [[V16]][[[V28]]] {strides = array<i64: 16>} : memref<32xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V30:%.+]] = vector.broadcast [[V29]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V31:%.+]] = vector.broadcast [[V27]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.dot_accumulate [[V26]], [[V30]], [[V31]] {signs = "us"} : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: scf.yield [[V32]] : vector<1x2x4xi32>
// CHECK: [[V33:%.+]] = arith.shrsi [[V17]], [[V15]] : vector<1x2x4xi32>
// CHECK-NEXT: [[V34:%.+]] = vector.extract [[V33]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V34]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<2x4xi32>, memref<2x4xi32>
// CHECK-NEXT: func.return
func.func @halves(%x: memref<2x16xi8>, %w: memref<1x1x2x16xi8>, %y: memref<2x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x16xi8>, memref<1x1x2x16xi8>) outs(%y : memref<2x4xi32>) attributes {
    input_unsigned,
    layout = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// CHECK-LABEL: @quarters(
// CHECK-SAME: [[V0:%.+]]: memref<1x16xi8>, [[V1:%.+]]: memref<1x1x1x16xi8>, [[V2:%.+]]: memref<1x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 6 : i8
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant -64 : i8
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 2 : i8
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V15:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V17:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V17]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V19:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x16xi8> into memref<16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V21:%.+]] = arith.shli [[V20]], [[V7]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.load_group_splat [[V19]][[[V5]]] {strides = array<i64: 16>} : memref<16xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V23:%.+]] = vector.broadcast [[V22]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.dot_accumulate [[V4]], [[V23]], [[V21]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.shli [[V20]], [[V9]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V26:%.+]] = arith.andi [[V25]], [[V11]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V27:%.+]] = simd.load_group_splat [[V19]][[[V12]]] {strides = array<i64: 16>} : memref<16xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V27]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V29:%.+]] = simd.dot_accumulate [[V24]], [[V28]], [[V26]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V30:%.+]] = arith.shli [[V20]], [[V14]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V31:%.+]] = arith.andi [[V30]], [[V11]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.load_group_splat [[V19]][[[V15]]] {strides = array<i64: 16>} : memref<16xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V32]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.dot_accumulate [[V29]], [[V33]], [[V31]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V35:%.+]] = arith.andi [[V20]], [[V11]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.load_group_splat [[V19]][[[V16]]] {strides = array<i64: 16>} : memref<16xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V37:%.+]] = vector.broadcast [[V36]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V38:%.+]] = simd.dot_accumulate [[V34]], [[V37]], [[V35]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V39:%.+]] = arith.shrsi [[V38]], [[V18]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V40:%.+]] = vector.extract [[V39]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V40]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<1x4xi32>
// CHECK-NEXT: func.return
func.func @quarters(%x: memref<1x16xi8>, %w: memref<1x1x1x16xi8>, %y: memref<1x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x16xi8>, memref<1x1x1x16xi8>) outs(%y : memref<1x4xi32>) attributes {
    input_unsigned,
    layout = #kernel.layout<variant = "u8s2_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
