// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Five steps of weights of 6 bits: two runs of two steps, whose products are added in 16 bits, and one step alone.

// CHECK-LABEL: @runs(
// CHECK-SAME: [[V0:%.+]]: memref<2x20xi8>, [[V1:%.+]]: memref<1x1x5x16xi8>, [[V2:%.+]]: memref<2x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 20 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i16 to vector<8xi16>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 36 : index
// CHECK-NEXT: [[V14:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x20xi8> into memref<40xi8>
// CHECK-NEXT: [[V15:%.+]], [[V16:%.+]] = scf.for [[V17:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V18:%.+]] = [[V4]], [[V19:%.+]] = [[V4]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V20:%.+]] = arith.muli [[V17]], [[V6]] : index
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V20]], [[V5]]] : memref<1x1x5x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V22:%.+]] = arith.muli [[V20]], [[V8]] : index
// CHECK-NEXT: [[V23:%.+]] = simd.load_group_splat [[V14]][[[V22]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V9]] : index
// CHECK-NEXT: [[V25:%.+]] = simd.load_group_splat [[V14]][[[V24]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.multiply_pairs [[V23]], [[V21]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V27:%.+]] = simd.multiply_pairs [[V25]], [[V21]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V20]], [[V7]] : index
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V28]], [[V5]]] : memref<1x1x5x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V28]], [[V8]] : index
// CHECK-NEXT: [[V31:%.+]] = simd.load_group_splat [[V14]][[[V30]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V30]], [[V9]] : index
// CHECK-NEXT: [[V33:%.+]] = simd.load_group_splat [[V14]][[[V32]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.multiply_pairs [[V31]], [[V29]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.multiply_pairs [[V33]], [[V29]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V36:%.+]] = arith.addi [[V26]], [[V34]] : vector<8xi16>
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V27]], [[V35]] : vector<8xi16>
// CHECK-NEXT: [[V38:%.+]] = simd.dot_accumulate [[V18]], [[V36]], [[V11]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V39:%.+]] = simd.dot_accumulate [[V19]], [[V37]], [[V11]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V38]], [[V39]] : vector<4xi32>, vector<4xi32>
// CHECK: [[V40:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V8]], [[V5]]] : memref<1x1x5x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V41:%.+]] = simd.load_group_splat [[V14]][[[V12]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.load_group_splat [[V14]][[[V13]]] : memref<40xi8> to vector<16xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.multiply_pairs [[V41]], [[V40]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V44:%.+]] = simd.multiply_pairs [[V42]], [[V40]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V45:%.+]] = simd.dot_accumulate [[V15]], [[V43]], [[V11]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V16]], [[V44]], [[V11]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: simd.store [[V45]], [[V2]][[[V5]], [[V5]]] : vector<4xi32>, memref<2x4xi32>
// CHECK-NEXT: simd.store [[V46]], [[V2]][[[V7]], [[V5]]] : vector<4xi32>, memref<2x4xi32>
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
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 7 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<8xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V13:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x36xi8> into memref<36xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] : memref<1x1x9x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load_group_splat [[V13]][[[V5]]] : memref<36xi8> to vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.multiply_pairs [[V15]], [[V14]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V17:%.+]] = scf.for [[V18:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V19:%.+]] = [[V16]]) -> (vector<8xi16>) {
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V7]] : index
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V20]], [[V5]]] : memref<1x1x9x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V22:%.+]] = arith.muli [[V20]], [[V8]] : index
// CHECK-NEXT: [[V23:%.+]] = simd.load_group_splat [[V13]][[[V22]]] : memref<36xi8> to vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.multiply_pairs [[V23]], [[V21]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V19]], [[V24]] : vector<8xi16>
// CHECK-NEXT: scf.yield [[V25]] : vector<8xi16>
// CHECK: [[V26:%.+]] = simd.dot_accumulate [[V4]], [[V17]], [[V10]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V11]], [[V5]]] : memref<1x1x9x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.load_group_splat [[V13]][[[V12]]] : memref<36xi8> to vector<16xi8>
// CHECK-NEXT: [[V29:%.+]] = simd.multiply_pairs [[V28]], [[V27]] : vector<16xi8>, vector<16xi8> -> vector<8xi16>
// CHECK-NEXT: [[V30:%.+]] = simd.dot_accumulate [[V26]], [[V29]], [[V10]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: simd.store [[V30]], [[V2]][[[V5]], [[V5]]] : vector<4xi32>, memref<1x4xi32>
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
