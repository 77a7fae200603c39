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
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<1x2x8xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V8]] : i32 to vector<1x1x8xi32>
// CHECK-NEXT: [[V14:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<3x3xi32> into memref<9xi32>
// CHECK-NEXT: [[V15:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64]] : memref<1x2x3x8xi32> into memref<48xi32>
// CHECK-NEXT: scf.for [[V16:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V17:%.+]] = arith.muli [[V16]], [[V6]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V16]], [[V5]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V18]], [[V7]] : index
// CHECK-NEXT: [[V20:%.+]] = scf.for [[V21:%.+]] = [[V3]] to [[V10]] step [[V5]] iter_args([[V22:%.+]] = [[V9]]) -> (vector<1x2x8xi32>) {
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V1]][[[V3]], [[V16]], [[V21]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x2x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V24:%.+]] = arith.muli [[V21]], [[V11]] : index
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V19]], [[V24]] : index
// CHECK-NEXT: simd.prefetch [[V15]][[[V25]]] {level = 2 : i64} : memref<48xi32>
// CHECK-NEXT: [[V26:%.+]] = memref.load [[V14]][[[V21]]] : memref<9xi32>
// CHECK-NEXT: [[V27:%.+]] = vector.broadcast [[V26]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V21]], [[V10]] : index
// CHECK-NEXT: [[V29:%.+]] = memref.load [[V14]][[[V28]]] : memref<9xi32>
// CHECK-NEXT: [[V30:%.+]] = vector.broadcast [[V29]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V31:%.+]] = simd.stack [[V27]], [[V30]] : vector<8xi32>, vector<8xi32> to vector<2x8xi32>
// CHECK-NEXT: [[V32:%.+]] = vector.broadcast [[V31]] : vector<2x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V23]] : vector<1x1x8xi32> to vector<1x2x8xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.muli [[V32]], [[V33]] : vector<1x2x8xi32>
// CHECK-NEXT: [[V35:%.+]] = arith.addi [[V22]], [[V34]] : vector<1x2x8xi32>
// CHECK-NEXT: scf.yield [[V35]] : vector<1x2x8xi32>
// CHECK: [[V36:%.+]] = vector.extract [[V20]][0] : vector<2x8xi32> from vector<1x2x8xi32>
// CHECK-NEXT: simd.store [[V36]], [[V2]][[[V3]], [[V17]]] {strides = array<i64: 16>} : vector<2x8xi32>, memref<3x16xi32>
// CHECK-NEXT: [[V37:%.+]] = arith.muli [[V16]], [[V6]] : index
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V16]], [[V5]] : index
// CHECK-NEXT: [[V39:%.+]] = arith.muli [[V38]], [[V7]] : index
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V39]], [[V12]] : index
// CHECK-NEXT: [[V41:%.+]] = scf.for [[V42:%.+]] = [[V3]] to [[V10]] step [[V5]] iter_args([[V43:%.+]] = [[V13]]) -> (vector<1x1x8xi32>) {
// CHECK-NEXT: [[V44:%.+]] = simd.load [[V1]][[[V3]], [[V16]], [[V42]], [[V3]]] {strides = array<i64: 8, 0>} : memref<1x2x3x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V45:%.+]] = arith.muli [[V42]], [[V10]] : index
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V40]], [[V45]] : index
// CHECK-NEXT: simd.prefetch [[V15]][[[V46]]] {level = 2 : i64} : memref<48xi32>
// CHECK-NEXT: [[V47:%.+]] = arith.addi [[V11]], [[V42]] : index
// CHECK-NEXT: [[V48:%.+]] = memref.load [[V14]][[[V47]]] : memref<9xi32>
// CHECK-NEXT: [[V49:%.+]] = vector.broadcast [[V48]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V50:%.+]] = simd.stack [[V49]] : vector<8xi32> to vector<1x8xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.broadcast [[V50]] : vector<1x8xi32> to vector<1x1x8xi32>
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V51]], [[V44]] : vector<1x1x8xi32>
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V43]], [[V52]] : vector<1x1x8xi32>
// CHECK-NEXT: scf.yield [[V53]] : vector<1x1x8xi32>
// CHECK: [[V54:%.+]] = vector.extract [[V41]][0] : vector<1x8xi32> from vector<1x1x8xi32>
// CHECK-NEXT: simd.store [[V54]], [[V2]][[[V4]], [[V37]]] {strides = array<i64: 16>} : vector<1x8xi32>, memref<3x16xi32>
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
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<2x1x16xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : i8 to vector<1x64xi8>
// CHECK-NEXT: [[V15:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x1x3x4xi8> into memref<1x1x12xi8>
// CHECK-NEXT: [[V17:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64, 4 : i64, 5 : i64]] : memref<1x2x1x2x1x128xi8> into memref<512xi8>
// CHECK-NEXT: scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V18]], [[V6]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V20]], [[V7]] : index
// CHECK-NEXT: [[V22:%.+]] = scf.for [[V23:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V24:%.+]] = [[V9]]) -> (vector<2x1x16xi32>) {
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V23]], [[V4]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.muli [[V25]], [[V10]] : index
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V1]][[[V3]], [[V18]], [[V3]], [[V23]], [[V3]], [[V3]]] {strides = array<i64: 64, 0>} : memref<1x2x1x2x1x128xi8> to vector<2x1x64xi8>
// CHECK-NEXT: [[V28:%.+]] = arith.muli [[V23]], [[V11]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V21]], [[V28]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V29]]] : memref<512xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V29]], [[V12]] : index
// CHECK-NEXT: simd.prefetch [[V17]][[[V30]]] : memref<512xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.load_group_splat [[V16]][[[V3]], [[V3]], [[V26]]] {strides = array<i64: 4>} : memref<1x1x12xi8> to vector<1x64xi8>
// CHECK-NEXT: [[V32:%.+]] = arith.xori [[V31]], [[V14]] : vector<1x64xi8>
// CHECK-NEXT: [[V33:%.+]] = vector.broadcast [[V32]] : vector<1x64xi8> to vector<2x1x64xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.dot_accumulate [[V24]], [[V33]], [[V27]] {signs = "us"} : vector<2x1x16xi32>, vector<2x1x64xi8>, vector<2x1x64xi8> -> vector<2x1x16xi32>
// CHECK-NEXT: scf.yield [[V34]] : vector<2x1x16xi32>
// CHECK: [[V35:%.+]] = vector.extract [[V22]][0] : vector<1x16xi32> from vector<2x1x16xi32>
// CHECK-NEXT: [[V36:%.+]] = vector.extract [[V22]][1] : vector<1x16xi32> from vector<2x1x16xi32>
// CHECK-NEXT: simd.store [[V35]], [[V2]][[[V3]], [[V3]], [[V3]], [[V19]]] {strides = array<i64: 64>} : vector<1x16xi32>, memref<1x1x1x64xi32>
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V19]], [[V15]] : index
// CHECK-NEXT: simd.store [[V36]], [[V2]][[[V3]], [[V3]], [[V3]], [[V37]]] {strides = array<i64: 64>} : vector<1x16xi32>, memref<1x1x1x64xi32>
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

// One row reads each weight once: the lines 1024 bytes further are prefetched, of weights and of the scales after them.
// Sums begin with numbers from memory; weights are multiplied where they are in a byte; f16 becomes f32 by a shift.
// CHECK-LABEL: @read_once(
// CHECK-DAG: [[AHEAD:%.+]] = arith.constant 1024 : index
// CHECK-DAG: [[SCALES:%.+]] = arith.constant 64 : index
// CHECK-DAG: [[BIAS:%.+]] = arith.constant 5.192297e+33 : f32
// CHECK: scf.for [[BLOCK:%[0-9]+]] =
// CHECK: scf.for [[TERMS:%[0-9]+]] =
// CHECK: [[START:%.+]] = simd.load_group_splat %s{{.*}}[[TERMS]]
// CHECK: scf.for [[STEP:%[0-9]+]] =
// CHECK: [[FIRST:%.+]] = arith.muli [[STEP]],
// CHECK: [[FLAT:%.+]] = memref.collapse_shape %w
// CHECK: [[NEXT:%.+]] = arith.addi {{%.+}}, [[AHEAD]] : index
// CHECK-NEXT: simd.prefetch [[FLAT]]{{\[}}[[NEXT]]] : memref<480xi8>
// CHECK-NEXT: [[BYTES:%.+]] = simd.load %w{{.*}}[[FIRST]]] {strides = array<i64: 16, 0>} : memref<1x3x2x80xi8> to vector<2x1x16xi8>
// CHECK: [[LOW:%.+]] = arith.andi [[BYTES]],
// CHECK: simd.dot_accumulate {{%.+}}, [[LOW]], {{%.+}} {signs = "us"}
// CHECK: [[HIGH:%.+]] = arith.andi [[BYTES]],
// CHECK: simd.dot_accumulate {{%.+}}, [[HIGH]], {{%.+}} {signs = "us"}
// CHECK: scf.yield
// CHECK: arith.addi {{%.+}}, [[SCALES]] : index
// CHECK: simd.prefetch
// CHECK-NEXT: simd.load %w{{.*}}[[SCALES]]] {strides = array<i64: 8, 0>} : memref<1x3x2x80xi8> to vector<2x1x8xi8>
// CHECK: simd.convert {{%.+}} {kind = "extsi"} : vector<2x1x4xi16> to vector<2x1x4xi32>
// CHECK: arith.shli
// CHECK: arith.andi
// CHECK: arith.mulf
func.func @read_once(%x: memref<2x1x16xi8>, %w: memref<1x3x2x80xi8>, %s: memref<2x1xi32>, %y: memref<1x24xf32>) {
  kernel.packed_blocks ins(%x, %w : memref<2x1x16xi8>, memref<1x3x2x80xi8>) starts(%s : memref<2x1xi32>) outs(%y : memref<1x24xf32>) attributes {
    layout = #kernel.layout<variant = "s8u4_dot", vectors = 2, lanes = 4>, schedule = #kernel.schedule<ahead = 1024>, scale_type = f16} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
