// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Five positions are three tiles, so two panels of two tiles and of one. Both blocks of channels go over a panel before
// the next one; each step asks for its share of the next block, of which a panel has four, and of the next tile's rows.
// CHECK-LABEL: @panels(
// CHECK-SAME: [[V0:%.+]]: memref<5x3xi32>, [[V1:%.+]]: memref<1x2x3x8xi32>, [[V2:%.+]]: memref<5x16xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 15 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V15:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<5x3xi32> into memref<15xi32>
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64]] : memref<1x2x3x8xi32> into memref<48xi32>
// CHECK-NEXT: scf.for [[V17:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V17]], [[V4]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.muli [[V19]], [[V4]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V19]], [[V4]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.minsi [[V21]], [[V6]] : index
// CHECK-NEXT: scf.for [[V23:%.+]] = [[V19]] to [[V22]] step [[V5]] {
// CHECK-NEXT: [[V24:%.+]] = arith.muli [[V23]], [[V4]] : index
// CHECK-NEXT: [[V25:%.+]] = arith.cmpi slt, [[V23]], [[V4]] : index
// CHECK-NEXT: scf.if [[V25]] {
// CHECK-NEXT: [[V26:%.+]] = arith.muli [[V18]], [[V7]] : index
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V28:%.+]] = arith.muli [[V27]], [[V8]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V24]], [[V20]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V29]], [[V9]] : index
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V28]], [[V30]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.muli [[V24]], [[V6]] : index
// CHECK-NEXT: [[V33:%.+]], [[V34:%.+]] = scf.for [[V35:%.+]] = [[V3]] to [[V6]] step [[V5]] iter_args([[V36:%.+]] = [[V11]], [[V37:%.+]] = [[V11]]) -> (vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: [[V38:%.+]] = simd.load [[V1]][[[V3]], [[V18]], [[V35]], [[V3]]] : memref<1x2x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V39:%.+]] = arith.muli [[V35]], [[V12]] : index
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V31]], [[V39]] : index
// CHECK-NEXT: simd.prefetch [[V16]][[[V40]]] : memref<48xi32>
// CHECK-NEXT: [[V41:%.+]] = arith.addi [[V32]], [[V9]] : index
// CHECK-NEXT: [[V42:%.+]] = arith.muli [[V35]], [[V4]] : index
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V41]], [[V42]] : index
// CHECK-NEXT: simd.prefetch [[V15]][[[V43]]] : memref<15xi32>
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V32]], [[V35]] : index
// CHECK-NEXT: [[V45:%.+]] = memref.load [[V15]][[[V44]]] : memref<15xi32>
// CHECK-NEXT: [[V46:%.+]] = vector.broadcast [[V45]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V47:%.+]] = arith.muli [[V46]], [[V38]] : vector<8xi32>
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V36]], [[V47]] : vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = arith.addi [[V44]], [[V6]] : index
// CHECK-NEXT: [[V50:%.+]] = memref.load [[V15]][[[V49]]] : memref<15xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.broadcast [[V50]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V51]], [[V38]] : vector<8xi32>
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V37]], [[V52]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V48]], [[V53]] : vector<8xi32>, vector<8xi32>
// CHECK: simd.store [[V33]], [[V2]][[[V24]], [[V26]]] : vector<8xi32>, memref<5x16xi32>
// CHECK-NEXT: [[V54:%.+]] = arith.addi [[V24]], [[V5]] : index
// CHECK-NEXT: simd.store [[V34]], [[V2]][[[V54]], [[V26]]] : vector<8xi32>, memref<5x16xi32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V55:%.+]] = arith.muli [[V18]], [[V7]] : index
// CHECK-NEXT: [[V56:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V57:%.+]] = arith.muli [[V56]], [[V8]] : index
// CHECK-NEXT: [[V58:%.+]] = arith.subi [[V12]], [[V20]] : index
// CHECK-NEXT: [[V59:%.+]] = arith.muli [[V58]], [[V9]] : index
// CHECK-NEXT: [[V60:%.+]] = arith.addi [[V57]], [[V59]] : index
// CHECK-NEXT: [[V61:%.+]] = scf.for [[V62:%.+]] = [[V3]] to [[V6]] step [[V5]] iter_args([[V63:%.+]] = [[V11]]) -> (vector<8xi32>) {
// CHECK-NEXT: [[V64:%.+]] = simd.load [[V1]][[[V3]], [[V18]], [[V62]], [[V3]]] : memref<1x2x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V65:%.+]] = arith.muli [[V62]], [[V4]] : index
// CHECK-NEXT: [[V66:%.+]] = arith.addi [[V60]], [[V65]] : index
// CHECK-NEXT: simd.prefetch [[V16]][[[V66]]] : memref<48xi32>
// CHECK-NEXT: [[V67:%.+]] = arith.addi [[V13]], [[V62]] : index
// CHECK-NEXT: simd.prefetch [[V15]][[[V67]]] : memref<15xi32>
// CHECK-NEXT: [[V68:%.+]] = arith.addi [[V14]], [[V62]] : index
// CHECK-NEXT: [[V69:%.+]] = memref.load [[V15]][[[V68]]] : memref<15xi32>
// CHECK-NEXT: [[V70:%.+]] = vector.broadcast [[V69]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V71:%.+]] = arith.muli [[V70]], [[V64]] : vector<8xi32>
// CHECK-NEXT: [[V72:%.+]] = arith.addi [[V63]], [[V71]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V72]] : vector<8xi32>
// CHECK: simd.store [[V61]], [[V2]][[[V12]], [[V55]]] : vector<8xi32>, memref<5x16xi32>
// CHECK: func.return
func.func @panels(%x: memref<5x3xi32>, %w: memref<1x2x3x8xi32>, %y: memref<5x16xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<5x3xi32>, memref<1x2x3x8xi32>) outs(%y : memref<5x16xi32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 8>, schedule = #kernel.schedule<rows = 2, block = 4, prefetch = 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// Threads divide panels and blocks together; what is left of the channels goes over all positions.
// CHECK-LABEL: @threads(
// CHECK-SAME: [[V0:%.+]]: memref<4x3xi32>, [[V1:%.+]]: memref<1x3x3x8xi32>, [[V2:%.+]]: memref<4x17xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<4x3xi32> into memref<12xi32>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V12:%.+]]: index):
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V13:%.+]]: index):
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V12]], [[V5]] : index
// CHECK-NEXT: [[V15:%.+]] = arith.minsi [[V14]], [[V4]] : index
// CHECK-NEXT: scf.for [[V16:%.+]] = [[V12]] to [[V15]] step [[V5]] {
// CHECK-NEXT: [[V17:%.+]] = arith.muli [[V16]], [[V4]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V13]], [[V6]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V17]], [[V9]] : index
// CHECK-NEXT: [[V20:%.+]], [[V21:%.+]] = scf.for [[V22:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V23:%.+]] = [[V8]], [[V24:%.+]] = [[V8]]) -> (vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V1]][[[V3]], [[V13]], [[V22]], [[V3]]] : memref<1x3x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V19]], [[V22]] : index
// CHECK-NEXT: [[V27:%.+]] = memref.load [[V11]][[[V26]]] : memref<12xi32>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V27]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.muli [[V28]], [[V25]] : vector<8xi32>
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V23]], [[V29]] : vector<8xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V26]], [[V9]] : index
// CHECK-NEXT: [[V32:%.+]] = memref.load [[V11]][[[V31]]] : memref<12xi32>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V32]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.muli [[V33]], [[V25]] : vector<8xi32>
// CHECK-NEXT: [[V35:%.+]] = arith.addi [[V24]], [[V34]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V30]], [[V35]] : vector<8xi32>, vector<8xi32>
// CHECK: simd.store [[V20]], [[V2]][[[V17]], [[V18]]] : vector<8xi32>, memref<4x17xi32>
// CHECK-NEXT: [[V36:%.+]] = arith.addi [[V17]], [[V5]] : index
// CHECK-NEXT: simd.store [[V21]], [[V2]][[[V36]], [[V18]]] : vector<8xi32>, memref<4x17xi32>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V37:%.+]]: index):
// CHECK-NEXT: [[V38:%.+]] = arith.muli [[V37]], [[V4]] : index
// CHECK-NEXT: [[V39:%.+]] = arith.muli [[V38]], [[V9]] : index
// CHECK-NEXT: [[V40:%.+]], [[V41:%.+]] = scf.for [[V42:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V43:%.+]] = [[V8]], [[V44:%.+]] = [[V8]]) -> (vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: [[V45:%.+]] = simd.load [[V1]][[[V3]], [[V4]], [[V42]], [[V3]]] : memref<1x3x3x8xi32> to vector<8xi32>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V39]], [[V42]] : index
// CHECK-NEXT: [[V47:%.+]] = memref.load [[V11]][[[V46]]] : memref<12xi32>
// CHECK-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = arith.muli [[V48]], [[V45]] : vector<8xi32>
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V43]], [[V49]] : vector<8xi32>
// CHECK-NEXT: [[V51:%.+]] = arith.addi [[V46]], [[V9]] : index
// CHECK-NEXT: [[V52:%.+]] = memref.load [[V11]][[[V51]]] : memref<12xi32>
// CHECK-NEXT: [[V53:%.+]] = vector.broadcast [[V52]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V54:%.+]] = arith.muli [[V53]], [[V45]] : vector<8xi32>
// CHECK-NEXT: [[V55:%.+]] = arith.addi [[V44]], [[V54]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V50]], [[V55]] : vector<8xi32>, vector<8xi32>
// CHECK: simd.store_partial [[V40]], [[V2]][[[V38]], [[V10]]], [[V5]] : vector<8xi32>, memref<4x17xi32>
// CHECK-NEXT: [[V56:%.+]] = arith.addi [[V38]], [[V5]] : index
// CHECK-NEXT: simd.store_partial [[V41]], [[V2]][[[V56]], [[V10]]], [[V5]] : vector<8xi32>, memref<4x17xi32>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @threads(%x: memref<4x3xi32>, %w: memref<1x3x3x8xi32>, %y: memref<4x17xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<4x3xi32>, memref<1x3x3x8xi32>) outs(%y : memref<4x17xi32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 8>, schedule = #kernel.schedule<rows = 2, block = 2, threads = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
