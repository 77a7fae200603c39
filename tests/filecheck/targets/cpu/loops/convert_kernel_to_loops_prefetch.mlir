// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Three positions ask for 8 of the 24 weights of the next block each: the tile of two for 16 in three steps, so 6 in a
// step, and the last one for 3 in a step.
// CHECK-LABEL: @blocks(
// CHECK-SAME: [[V0:%.+]]: memref<3x3xi32>, [[V1:%.+]]: memref<1x2x3x8xi32>, [[V2:%.+]]: memref<3x16xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V13:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<3x3xi32> into memref<9xi32>
// CHECK-NEXT: [[V14:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64]] : memref<1x2x3x8xi32> into memref<48xi32>
// CHECK-NEXT: scf.for [[V15:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V15]], [[V6]] : index
// CHECK-NEXT: [[V17:%.+]] = arith.addi [[V15]], [[V5]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V17]], [[V7]] : index
// CHECK-NEXT: [[V19:%.+]], [[V20:%.+]] = scf.for [[V21:%.+]] = [[V3]] to [[V10]] step [[V5]] iter_args([[V22:%.+]] = [[V9]], [[V23:%.+]] = [[V9]]) -> (vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V3]], [[V15]], [[V21]], [[V3]]] : memref<1x2x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V21]], [[V11]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V18]], [[V25]] : index
// CHECK-NEXT: simd.prefetch [[V14]][[[V26]]] {level = 2 : i64} : memref<48xi32>
// CHECK-NEXT: [[V27:%.+]] = memref.load [[V13]][[[V21]]] : memref<9xi32>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V27]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.muli [[V28]], [[V24]] : vector<8xi32>
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V22]], [[V29]] : vector<8xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V21]], [[V10]] : index
// CHECK-NEXT: [[V32:%.+]] = memref.load [[V13]][[[V31]]] : memref<9xi32>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V32]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.muli [[V33]], [[V24]] : vector<8xi32>
// CHECK-NEXT: [[V35:%.+]] = arith.addi [[V23]], [[V34]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V30]], [[V35]] : vector<8xi32>, vector<8xi32>
// CHECK: simd.store [[V19]], [[V2]][[[V3]], [[V16]]] : vector<8xi32>, memref<3x16xi32>
// CHECK-NEXT: simd.store [[V20]], [[V2]][[[V5]], [[V16]]] : vector<8xi32>, memref<3x16xi32>
// CHECK-NEXT: [[V36:%.+]] = arith.muli [[V15]], [[V6]] : index
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V15]], [[V5]] : index
// CHECK-NEXT: [[V38:%.+]] = arith.muli [[V37]], [[V7]] : index
// CHECK-NEXT: [[V39:%.+]] = arith.addi [[V38]], [[V12]] : index
// CHECK-NEXT: [[V40:%.+]] = scf.for [[V41:%.+]] = [[V3]] to [[V10]] step [[V5]] iter_args([[V42:%.+]] = [[V9]]) -> (vector<8xi32>) {
// CHECK-NEXT: [[V43:%.+]] = simd.load [[V1]][[[V3]], [[V15]], [[V41]], [[V3]]] : memref<1x2x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V44:%.+]] = arith.muli [[V41]], [[V10]] : index
// CHECK-NEXT: [[V45:%.+]] = arith.addi [[V39]], [[V44]] : index
// CHECK-NEXT: simd.prefetch [[V14]][[[V45]]] {level = 2 : i64} : memref<48xi32>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V11]], [[V41]] : index
// CHECK-NEXT: [[V47:%.+]] = memref.load [[V13]][[[V46]]] : memref<9xi32>
// CHECK-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = arith.muli [[V48]], [[V43]] : vector<8xi32>
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V42]], [[V49]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V50]] : vector<8xi32>
// CHECK: simd.store [[V40]], [[V2]][[[V4]], [[V36]]] : vector<8xi32>, memref<3x16xi32>
// CHECK: func.return
func.func @blocks(%x: memref<3x3xi32>, %w: memref<1x2x3x8xi32>, %y: memref<3x16xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<3x3xi32>, memref<1x2x3x8xi32>) outs(%y : memref<3x16xi32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 8>, schedule = #kernel.schedule<rows = 2, prefetch = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// One position asks for a whole block, two lines in each step of each tap.
// CHECK-LABEL: @taps(
// CHECK-SAME: [[V0:%.+]]: memref<1x1x3x4xi8>, [[V1:%.+]]: memref<1x2x1x2x1x128xi8>, [[V2:%.+]]: memref<1x1x1x64xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 256 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<16xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : i8 to vector<64xi8>
// CHECK-NEXT: [[V15:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x1x3x4xi8> into memref<1x1x12xi8>
// CHECK-NEXT: [[V17:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64, 4 : i64, 5 : i64]] : memref<1x2x1x2x1x128xi8> into memref<512xi8>
// CHECK-NEXT: scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V18]], [[V6]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V20]], [[V7]] : index
// CHECK-NEXT: [[V22:%.+]], [[V23:%.+]] = scf.for [[V24:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V25:%.+]] = [[V9]], [[V26:%.+]] = [[V9]]) -> (vector<16xi32>, vector<16xi32>) {
// CHECK-NEXT: [[V27:%.+]] = arith.muli [[V24]], [[V4]] : index
// CHECK-NEXT: [[V28:%.+]] = arith.muli [[V27]], [[V10]] : index
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V3]], [[V18]], [[V3]], [[V24]], [[V3]], [[V3]]] : memref<1x2x1x2x1x128xi8> to vector<64xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.load [[V1]][[[V3]], [[V18]], [[V3]], [[V24]], [[V3]], [[V11]]] : memref<1x2x1x2x1x128xi8> to vector<64xi8>
// CHECK-NEXT: [[V31:%.+]] = arith.muli [[V24]], [[V12]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V21]], [[V31]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V32]]] : memref<512xi8>
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V32]], [[V11]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V33]]] : memref<512xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.load_group_splat [[V16]][[[V3]], [[V3]], [[V28]]] : memref<1x1x12xi8> to vector<64xi8>
// CHECK-NEXT: [[V35:%.+]] = arith.xori [[V34]], [[V14]] : vector<64xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.dot_accumulate [[V25]], [[V35]], [[V29]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: [[V37:%.+]] = simd.dot_accumulate [[V26]], [[V35]], [[V30]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: scf.yield [[V36]], [[V37]] : vector<16xi32>, vector<16xi32>
// CHECK: simd.store [[V22]], [[V2]][[[V3]], [[V3]], [[V3]], [[V19]]] : vector<16xi32>, memref<1x1x1x64xi32>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V19]], [[V15]] : index
// CHECK-NEXT: simd.store [[V23]], [[V2]][[[V3]], [[V3]], [[V3]], [[V38]]] : vector<16xi32>, memref<1x1x1x64xi32>
// CHECK: func.return
func.func @taps(%x: memref<1x1x3x4xi8>, %w: memref<1x2x1x2x1x128xi8>, %y: memref<1x1x1x64xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x1x3x4xi8>, memref<1x2x1x2x1x128xi8>) outs(%y : memref<1x1x1x64xi32>) attributes {
    kernel_shape = array<i64: 1, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>,
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 2, lanes = 16>, schedule = #kernel.schedule<prefetch = 1>
  } {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
