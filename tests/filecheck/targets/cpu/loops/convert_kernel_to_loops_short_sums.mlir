// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Five steps of weights of 6 bits: two runs of two steps, whose products are added in 16 bits, and one step alone.

// CHECK-LABEL: @runs(
// CHECK-SAME: [[V0:%.+]]: memref<2x20xi8>, [[V1:%.+]]: memref<1x1x5x16xi8>, [[V2:%.+]]: memref<2x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<1x2x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<1x2x8xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x20xi8> into memref<40xi8>
// CHECK-NEXT: [[V13:%.+]] = scf.for [[V14:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V15:%.+]] = [[V4]]) -> (vector<1x2x4xi32>) {
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V14]], [[V6]] : index
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V16]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x5x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V16]], [[V8]] : index
// CHECK-NEXT: [[V19:%.+]] = simd.load_group_splat [[V12]][[[V18]]] {strides = array<i64: 20>} : memref<40xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V20:%.+]] = vector.broadcast [[V19]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V21:%.+]] = vector.broadcast [[V17]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.multiply_pairs [[V20]], [[V21]] : vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x8xi16>
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V16]], [[V7]] : index
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V23]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x5x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V23]], [[V8]] : index
// CHECK-NEXT: [[V26:%.+]] = simd.load_group_splat [[V12]][[[V25]]] {strides = array<i64: 20>} : memref<40xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V27:%.+]] = vector.broadcast [[V26]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V24]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V29:%.+]] = simd.multiply_pairs [[V27]], [[V28]] : vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x8xi16>
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V22]], [[V29]] : vector<1x2x8xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.dot_accumulate [[V15]], [[V30]], [[V10]] : vector<1x2x4xi32>, vector<1x2x8xi16>, vector<1x2x8xi16> -> vector<1x2x4xi32>
// CHECK-NEXT: scf.yield [[V31]] : vector<1x2x4xi32>
// CHECK: [[V32:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V8]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x5x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V33:%.+]] = simd.load_group_splat [[V12]][[[V11]]] {strides = array<i64: 20>} : memref<40xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V34:%.+]] = vector.broadcast [[V33]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V35:%.+]] = vector.broadcast [[V32]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.multiply_pairs [[V34]], [[V35]] : vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x8xi16>
// CHECK-NEXT: [[V37:%.+]] = simd.dot_accumulate [[V13]], [[V36]], [[V10]] : vector<1x2x4xi32>, vector<1x2x8xi16>, vector<1x2x8xi16> -> vector<1x2x4xi32>
// CHECK-NEXT: [[V38:%.+]] = vector.extract [[V37]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V38]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<2x4xi32>, memref<2x4xi32>
// CHECK-NEXT: func.return
func.func @runs(%x: memref<2x20xi8>, %w: memref<1x1x5x16xi8>, %y: memref<2x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x20xi8>, memref<1x1x5x16xi8>) outs(%y : memref<2x4xi32>) attributes {
    input_unsigned,
    layout = #kernel.layout<variant = "u8s6_short", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// Nine steps of 4 bits: eight in a loop of their own, the first of them outside.
// CHECK-LABEL: @loop(
// CHECK-SAME: [[V0:%.+]]: memref<1x36xi8>, [[V1:%.+]]: memref<1x1x9x16xi8>, [[V2:%.+]]: memref<1x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 7 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<1x1x8xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V13:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x36xi8> into memref<36xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x9x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load_group_splat [[V13]][[[V5]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.multiply_pairs [[V16]], [[V14]] : vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x8xi16>
// CHECK-NEXT: [[V18:%.+]] = scf.for [[V19:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V20:%.+]] = [[V17]]) -> (vector<1x1x8xi16>) {
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V22:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V21]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x9x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V23:%.+]] = arith.muli [[V21]], [[V8]] : index
// CHECK-NEXT: [[V24:%.+]] = simd.load_group_splat [[V13]][[[V23]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V25:%.+]] = vector.broadcast [[V24]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.multiply_pairs [[V25]], [[V22]] : vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x8xi16>
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V20]], [[V26]] : vector<1x1x8xi16>
// CHECK-NEXT: scf.yield [[V27]] : vector<1x1x8xi16>
// CHECK: [[V28:%.+]] = simd.dot_accumulate [[V4]], [[V18]], [[V10]] : vector<1x1x4xi32>, vector<1x1x8xi16>, vector<1x1x8xi16> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V11]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x9x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.load_group_splat [[V13]][[[V12]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V31:%.+]] = vector.broadcast [[V30]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.multiply_pairs [[V31]], [[V29]] : vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x8xi16>
// CHECK-NEXT: [[V33:%.+]] = simd.dot_accumulate [[V28]], [[V32]], [[V10]] : vector<1x1x4xi32>, vector<1x1x8xi16>, vector<1x1x8xi16> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V34:%.+]] = vector.extract [[V33]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V34]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<1x4xi32>
// CHECK-NEXT: func.return
func.func @loop(%x: memref<1x36xi8>, %w: memref<1x1x9x16xi8>, %y: memref<1x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x36xi8>, memref<1x1x9x16xi8>) outs(%y : memref<1x4xi32>) attributes {
    input_unsigned,
    layout = #kernel.layout<variant = "u8s4_short", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
