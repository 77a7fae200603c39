// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#channel = affine_map<(d0, d1) -> (d1)>

// Sums that begin with the bias: the addition is gone. Four registers end in one saturation and one store.
// CHECK-LABEL: @joined(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x64xi8>, [[V2:%.+]]: memref<16xi32>, [[V3:%.+]]: memref<1x16xi8>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V7:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V8:%.+]] = simd.load [[V2]][[[V4]]] {strides = array<i64: 4, 0>} : memref<16xi32> to vector<4x1x4xi32>
// CHECK-NEXT: [[V9:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 16, 0>} : memref<1x1x1x64xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.load_group_splat [[V7]][[[V4]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.xori [[V10]], [[V6]] : vector<1x16xi8>
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : vector<1x16xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.dot_accumulate [[V8]], [[V12]], [[V9]] {signs = "us"} : vector<4x1x4xi32>, vector<4x1x16xi8>, vector<4x1x16xi8> -> vector<4x1x4xi32>
// CHECK-NEXT: [[V14:%.+]] = vector.extract [[V13]][0] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V15:%.+]] = vector.extract [[V13]][1] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V16:%.+]] = vector.extract [[V13]][2] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V17:%.+]] = vector.extract [[V13]][3] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V18:%.+]] = simd.narrow [[V14]], [[V15]], [[V16]], [[V17]] : vector<1x4xi32>, vector<1x4xi32>, vector<1x4xi32>, vector<1x4xi32> to vector<1x16xi8>
// CHECK-NEXT: simd.store [[V18]], [[V3]][[[V4]], [[V4]]] {strides = array<i64: 16>} : vector<1x16xi8>, memref<1x16xi8>
// CHECK-NEXT: func.return
func.func @joined(%x: memref<1x4xi8>, %w: memref<1x1x1x64xi8>, %b: memref<16xi32>, %y: memref<1x16xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x64xi8>) epilogue(%b : memref<16xi32>)
      outs(%y : memref<1x16xi8>) attributes {
    epilogue_maps = [#channel],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 4, lanes = 4>} {
  ^bb0(%acc: i32, %bias: i32):
    %s = arith.addi %acc, %bias : i32
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    %t = arith.maxsi %s, %least : i32
    %u = arith.minsi %t, %most : i32
    %r = arith.trunci %u : i32 to i8
    kernel.yield %r : i8
  }
  func.return
}

// Three registers, the last of two channels: two join, the rest is by itself.
// CHECK-LABEL: @rest(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x48xi8>, [[V2:%.+]]: memref<1x10xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<3x1x4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V11:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x1x48xi8> to vector<3x1x16xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.load_group_splat [[V10]][[[V5]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V13:%.+]] = arith.xori [[V12]], [[V7]] : vector<1x16xi8>
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : vector<1x16xi8> to vector<3x1x16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.dot_accumulate [[V4]], [[V14]], [[V11]] {signs = "us"} : vector<3x1x4xi32>, vector<3x1x16xi8>, vector<3x1x16xi8> -> vector<3x1x4xi32>
// CHECK-NEXT: [[V16:%.+]] = vector.extract [[V15]][0, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V17:%.+]] = vector.extract [[V15]][1, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V18:%.+]] = vector.extract [[V15]][2, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V19:%.+]] = simd.narrow [[V16]], [[V17]] : vector<4xi32>, vector<4xi32> to vector<8xi8>
// CHECK-NEXT: simd.store [[V19]], [[V2]][[[V5]], [[V5]]] : vector<8xi8>, memref<1x10xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.narrow [[V18]] : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V20]], [[V2]][[[V5]], [[V8]]], [[V9]] : vector<4xi8>, memref<1x10xi8>
// CHECK-NEXT: func.return
func.func @rest(%x: memref<1x4xi8>, %w: memref<1x1x1x48xi8>, %y: memref<1x10xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x48xi8>) outs(%y : memref<1x10xi8>) attributes {
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 3, lanes = 4>} {
  ^bb0(%acc: i32):
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    %t = arith.maxsi %acc, %least : i32
    %u = arith.minsi %t, %most : i32
    %r = arith.trunci %u : i32 to i8
    kernel.yield %r : i8
  }
  func.return
}

// An operand for each result is added behind, and limits inside those of the type stay in front of the saturation.
// CHECK-LABEL: @residual(
// CHECK-SAME: [[V0:%.+]]: memref<2x4xi8>, [[V1:%.+]]: memref<1x1x1x16xi8>, [[V2:%.+]]: memref<2x4xi32>, [[V3:%.+]]: memref<2x4xi16>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x4xi8> into memref<8xi8>
// CHECK-NEXT: scf.for [[V13:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V9]] : index
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 16, 0>} : memref<1x1x1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load_group_splat [[V12]][[[V14]]] {strides = array<i64: 4>} : memref<8xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V17:%.+]] = arith.xori [[V16]], [[V11]] : vector<1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V17]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V19:%.+]] = simd.dot_accumulate [[V8]], [[V18]], [[V15]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V2]][[[V13]], [[V4]]] {strides = array<i64: 4, 4>} : memref<2x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V19]], [[V20]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V22:%.+]] = arith.maxsi [[V21]], [[V8]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V23:%.+]] = vector.extract [[V22]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: [[V24:%.+]] = simd.narrow [[V23]] : vector<1x4xi32> to vector<1x4xi16>
// CHECK-NEXT: simd.store [[V24]], [[V3]][[[V13]], [[V4]]] {strides = array<i64: 4>} : vector<1x4xi16>, memref<2x4xi16>
// CHECK: func.return
func.func @residual(%x: memref<2x4xi8>, %w: memref<1x1x1x16xi8>, %b: memref<2x4xi32>, %y: memref<2x4xi16>) {
  kernel.packed_matmul ins(%x, %w : memref<2x4xi8>, memref<1x1x1x16xi8>) epilogue(%b : memref<2x4xi32>)
      outs(%y : memref<2x4xi16>) attributes {
    epilogue_maps = [#all],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%acc: i32, %other: i32):
    %s = arith.addi %acc, %other : i32
    %zero = arith.constant 0 : i32
    %least = arith.constant -32768 : i32
    %most = arith.constant 32767 : i32
    %v = arith.maxsi %s, %zero : i32
    %t = arith.minsi %v, %most : i32
    %u = arith.maxsi %t, %least : i32
    %r = arith.trunci %u : i32 to i16
    kernel.yield %r : i16
  }
  func.return
}
