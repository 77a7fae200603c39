// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#channel = affine_map<(d0, d1) -> (d1)>

// Sums that begin with the bias: the addition is gone. Four registers end in one saturation and one store.
// CHECK-LABEL: @joined(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x64xi8>, [[V2:%.+]]: memref<16xi32>, [[V3:%.+]]: memref<1x16xi8>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 48 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V13:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V2]][[[V4]]] : memref<16xi32> to vector<4xi32>
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V2]][[[V5]]] : memref<16xi32> to vector<4xi32>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V2]][[[V6]]] : memref<16xi32> to vector<4xi32>
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V2]][[[V7]]] : memref<16xi32> to vector<4xi32>
// CHECK-NEXT: [[V18:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]]] : memref<1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V8]]] : memref<1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V9]]] : memref<1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V10]]] : memref<1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.load_group_splat [[V13]][[[V4]]] : memref<4xi8> to vector<16xi8>
// CHECK-NEXT: [[V23:%.+]] = arith.xori [[V22]], [[V12]] : vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.dot_accumulate [[V14]], [[V23]], [[V18]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V25:%.+]] = simd.dot_accumulate [[V15]], [[V23]], [[V19]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V26:%.+]] = simd.dot_accumulate [[V16]], [[V23]], [[V20]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.dot_accumulate [[V17]], [[V23]], [[V21]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V28:%.+]] = simd.narrow [[V24]], [[V25]], [[V26]], [[V27]] : vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32> to vector<16xi8>
// CHECK-NEXT: simd.store [[V28]], [[V3]][[[V4]], [[V4]]] : vector<16xi8>, memref<1x16xi8>
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
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V5]]] : memref<1x1x1x48xi8> to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V6]]] : memref<1x1x1x48xi8> to vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V5]], [[V7]]] : memref<1x1x1x48xi8> to vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load_group_splat [[V12]][[[V5]]] : memref<4xi8> to vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = arith.xori [[V16]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.dot_accumulate [[V4]], [[V17]], [[V13]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V19:%.+]] = simd.dot_accumulate [[V4]], [[V17]], [[V14]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V20:%.+]] = simd.dot_accumulate [[V4]], [[V17]], [[V15]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V21:%.+]] = simd.narrow [[V18]], [[V19]] : vector<4xi32>, vector<4xi32> to vector<8xi8>
// CHECK-NEXT: simd.store [[V21]], [[V2]][[[V5]], [[V5]]] : vector<8xi8>, memref<1x10xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.narrow [[V20]] : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V22]], [[V2]][[[V5]], [[V10]]], [[V11]] : vector<4xi8>, memref<1x10xi8>
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
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x4xi8> into memref<8xi8>
// CHECK-NEXT: scf.for [[V13:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V9]] : index
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]]] : memref<1x1x1x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load_group_splat [[V12]][[[V14]]] : memref<8xi8> to vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = arith.xori [[V16]], [[V11]] : vector<16xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.dot_accumulate [[V8]], [[V17]], [[V15]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V2]][[[V13]], [[V4]]] : memref<2x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V19]] : vector<4xi32>
// CHECK-NEXT: [[V21:%.+]] = arith.maxsi [[V20]], [[V8]] : vector<4xi32>
// CHECK-NEXT: [[V22:%.+]] = simd.narrow [[V21]] : vector<4xi32> to vector<4xi16>
// CHECK-NEXT: simd.store [[V22]], [[V3]][[[V13]], [[V4]]] : vector<4xi16>, memref<2x4xi16>
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
