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
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<1x2x8xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V10]] : i32 to vector<1x1x8xi32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 15 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<5x3xi32> into memref<15xi32>
// CHECK-NEXT: [[V17:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64]] : memref<1x2x3x8xi32> into memref<48xi32>
// CHECK-NEXT: scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: scf.for [[V19:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V20:%.+]] = arith.muli [[V18]], [[V4]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V20]], [[V4]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V20]], [[V4]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.minsi [[V22]], [[V6]] : index
// CHECK-NEXT: scf.for [[V24:%.+]] = [[V20]] to [[V23]] step [[V5]] {
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V24]], [[V4]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.cmpi slt, [[V24]], [[V4]] : index
// CHECK-NEXT: scf.if [[V26]] {
// CHECK-NEXT: [[V27:%.+]] = arith.muli [[V19]], [[V7]] : index
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.muli [[V28]], [[V8]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.subi [[V25]], [[V21]] : index
// CHECK-NEXT: [[V31:%.+]] = arith.muli [[V30]], [[V9]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V29]], [[V31]] : index
// CHECK-NEXT: [[V33:%.+]] = arith.muli [[V25]], [[V6]] : index
// CHECK-NEXT: [[V34:%.+]] = scf.for [[V35:%.+]] = [[V3]] to [[V6]] step [[V5]] iter_args([[V36:%.+]] = [[V11]]) -> (vector<1x2x8xi32>) {
// CHECK-NEXT: [[V37:%.+]] = simd.load [[V1]][[[V3]], [[V19]], [[V35]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x2x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V38:%.+]] = arith.muli [[V35]], [[V12]] : index
// CHECK-NEXT: [[V39:%.+]] = arith.addi [[V32]], [[V38]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V39]]] : memref<48xi32>
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V33]], [[V9]] : index
// CHECK-NEXT: [[V41:%.+]] = arith.muli [[V35]], [[V4]] : index
// CHECK-NEXT: [[V42:%.+]] = arith.addi [[V40]], [[V41]] : index
// CHECK-NEXT: simd.prefetch [[V16]][[[V42]]] : memref<15xi32>
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V33]], [[V35]] : index
// CHECK-NEXT: [[V44:%.+]] = memref.load [[V16]][[[V43]]] : memref<15xi32>
// CHECK-NEXT: [[V45:%.+]] = vector.broadcast [[V44]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V43]], [[V6]] : index
// CHECK-NEXT: [[V47:%.+]] = memref.load [[V16]][[[V46]]] : memref<15xi32>
// CHECK-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = simd.stack [[V45]], [[V48]] : vector<8xi32>, vector<8xi32> to vector<2x8xi32>
// CHECK-NEXT: [[V50:%.+]] = vector.broadcast [[V49]] : vector<2x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.broadcast [[V37]] : vector<1x1x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V50]], [[V51]] : vector<1x2x8xi32>
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V36]], [[V52]] : vector<1x2x8xi32>
// CHECK-NEXT: scf.yield [[V53]] : vector<1x2x8xi32>
// CHECK: [[V54:%.+]] = vector.extract [[V34]][0] : vector<2x8xi32> from vector<1x2x8xi32>
// CHECK-NEXT: simd.store [[V54]], [[V2]][[[V25]], [[V27]]] {strides = array<i64: 16>} : vector<2x8xi32>, memref<5x16xi32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V55:%.+]] = arith.muli [[V19]], [[V7]] : index
// CHECK-NEXT: [[V56:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V57:%.+]] = arith.muli [[V56]], [[V8]] : index
// CHECK-NEXT: [[V58:%.+]] = arith.subi [[V12]], [[V21]] : index
// CHECK-NEXT: [[V59:%.+]] = arith.muli [[V58]], [[V9]] : index
// CHECK-NEXT: [[V60:%.+]] = arith.addi [[V57]], [[V59]] : index
// CHECK-NEXT: [[V61:%.+]] = scf.for [[V62:%.+]] = [[V3]] to [[V6]] step [[V5]] iter_args([[V63:%.+]] = [[V13]]) -> (vector<1x1x8xi32>) {
// CHECK-NEXT: [[V64:%.+]] = simd.load [[V1]][[[V3]], [[V19]], [[V62]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x2x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V65:%.+]] = arith.muli [[V62]], [[V4]] : index
// CHECK-NEXT: [[V66:%.+]] = arith.addi [[V60]], [[V65]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V66]]] : memref<48xi32>
// CHECK-NEXT: [[V67:%.+]] = arith.addi [[V14]], [[V62]] : index
// CHECK-NEXT: simd.prefetch [[V16]][[[V67]]] : memref<15xi32>
// CHECK-NEXT: [[V68:%.+]] = arith.addi [[V15]], [[V62]] : index
// CHECK-NEXT: [[V69:%.+]] = memref.load [[V16]][[[V68]]] : memref<15xi32>
// CHECK-NEXT: [[V70:%.+]] = vector.broadcast [[V69]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V71:%.+]] = simd.stack [[V70]] : vector<8xi32> to vector<1x8xi32>
// CHECK-NEXT: [[V72:%.+]] = vector.broadcast [[V71]] : vector<1x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V73:%.+]] = arith.muli [[V72]], [[V64]] : vector<1x1x8xi32>
// CHECK-NEXT: [[V74:%.+]] = arith.addi [[V63]], [[V73]] : vector<1x1x8xi32>
// CHECK-NEXT: scf.yield [[V74]] : vector<1x1x8xi32>
// CHECK: [[V75:%.+]] = vector.extract [[V61]][0] : vector<1x8xi32> from vector<1x1x8xi32>
// CHECK-NEXT: simd.store [[V75]], [[V2]][[[V12]], [[V55]]] {strides = array<i64: 16>} : vector<1x8xi32>, memref<5x16xi32>
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
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x2x8xi32>
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
// CHECK-NEXT: [[V20:%.+]] = scf.for [[V21:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V22:%.+]] = [[V8]]) -> (vector<1x2x8xi32>) {
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V1]][[[V3]], [[V13]], [[V21]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x3x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V19]], [[V21]] : index
// CHECK-NEXT: [[V25:%.+]] = memref.load [[V11]][[[V24]]] : memref<12xi32>
// CHECK-NEXT: [[V26:%.+]] = vector.broadcast [[V25]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V24]], [[V9]] : index
// CHECK-NEXT: [[V28:%.+]] = memref.load [[V11]][[[V27]]] : memref<12xi32>
// CHECK-NEXT: [[V29:%.+]] = vector.broadcast [[V28]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V30:%.+]] = simd.stack [[V26]], [[V29]] : vector<8xi32>, vector<8xi32> to vector<2x8xi32>
// CHECK-NEXT: [[V31:%.+]] = vector.broadcast [[V30]] : vector<2x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V32:%.+]] = vector.broadcast [[V23]] : vector<1x1x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V33:%.+]] = arith.muli [[V31]], [[V32]] : vector<1x2x8xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.addi [[V22]], [[V33]] : vector<1x2x8xi32>
// CHECK-NEXT: scf.yield [[V34]] : vector<1x2x8xi32>
// CHECK: [[V35:%.+]] = vector.extract [[V20]][0] : vector<2x8xi32> from vector<1x2x8xi32>
// CHECK-NEXT: simd.store [[V35]], [[V2]][[[V17]], [[V18]]] {strides = array<i64: 17>} : vector<2x8xi32>, memref<4x17xi32>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V36:%.+]]: index):
// CHECK-NEXT: [[V37:%.+]] = arith.muli [[V36]], [[V4]] : index
// CHECK-NEXT: [[V38:%.+]] = arith.muli [[V37]], [[V9]] : index
// CHECK-NEXT: [[V39:%.+]] = scf.for [[V40:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V41:%.+]] = [[V8]]) -> (vector<1x2x8xi32>) {
// CHECK-NEXT: [[V42:%.+]] = simd.load [[V1]][[[V3]], [[V4]], [[V40]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x3x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V38]], [[V40]] : index
// CHECK-NEXT: [[V44:%.+]] = memref.load [[V11]][[[V43]]] : memref<12xi32>
// CHECK-NEXT: [[V45:%.+]] = vector.broadcast [[V44]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V43]], [[V9]] : index
// CHECK-NEXT: [[V47:%.+]] = memref.load [[V11]][[[V46]]] : memref<12xi32>
// CHECK-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = simd.stack [[V45]], [[V48]] : vector<8xi32>, vector<8xi32> to vector<2x8xi32>
// CHECK-NEXT: [[V50:%.+]] = vector.broadcast [[V49]] : vector<2x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.broadcast [[V42]] : vector<1x1x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V50]], [[V51]] : vector<1x2x8xi32>
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V41]], [[V52]] : vector<1x2x8xi32>
// CHECK-NEXT: scf.yield [[V53]] : vector<1x2x8xi32>
// CHECK: [[V54:%.+]] = vector.extract [[V39]][0, 0] : vector<8xi32> from vector<1x2x8xi32>
// CHECK-NEXT: simd.store_partial [[V54]], [[V2]][[[V37]], [[V10]]], [[V5]] : vector<8xi32>, memref<4x17xi32>
// CHECK-NEXT: [[V55:%.+]] = vector.extract [[V39]][0, 1] : vector<8xi32> from vector<1x2x8xi32>
// CHECK-NEXT: [[V56:%.+]] = arith.addi [[V37]], [[V5]] : index
// CHECK-NEXT: simd.store_partial [[V55]], [[V2]][[[V56]], [[V10]]], [[V5]] : vector<8xi32>, memref<4x17xi32>
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
