// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Sums of weights of 4 bits are 16 times too large. A body that takes them so lets them begin with the bias, and
// nothing shifts them back.
// CHECK-LABEL: @taken(
// CHECK-SAME: [[V0:%.+]]: memref<1x8xi8>, [[V1:%.+]]: memref<1x1x1x16xi8>, [[V2:%.+]]: memref<4xi32>, [[V3:%.+]]: memref<1x4xi32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V7:%.+]] = arith.constant -16 : i8
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x8xi8> into memref<8xi8>
// CHECK-NEXT: [[V11:%.+]] = simd.load [[V2]][[[V4]]] {strides = array<i64: 4, 0>} : memref<4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 16, 0>} : memref<1x1x1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V13:%.+]] = arith.shli [[V12]], [[V6]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load_group_splat [[V10]][[[V4]]] {strides = array<i64: 8>} : memref<8xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.dot_accumulate [[V11]], [[V15]], [[V13]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V17:%.+]] = arith.andi [[V12]], [[V8]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.load_group_splat [[V10]][[[V9]]] {strides = array<i64: 8>} : memref<8xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.dot_accumulate [[V16]], [[V19]], [[V17]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = vector.extract [[V20]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V21]], [[V3]][[[V4]], [[V4]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<1x4xi32>
// CHECK-NEXT: func.return
func.func @taken(%x: memref<1x8xi8>, %w: memref<1x1x1x16xi8>, %bias: memref<4xi32>, %y: memref<1x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x8xi8>, memref<1x1x1x16xi8>) epilogue(%bias : memref<4xi32>)
      outs(%y : memref<1x4xi32>) attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
    layout = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32, %start: i32):
    %c4 = arith.constant 4 : i32
    %0 = arith.shli %sum, %c4 : i32
    %1 = arith.addi %0, %start : i32
    kernel.yield %1 : i32
  }
  func.return
}

// Another factor is one of the body's own.
// CHECK-LABEL: @another(
// CHECK-SAME: [[V0:%.+]]: memref<1x8xi8>, [[V1:%.+]]: memref<1x1x1x16xi8>, [[V2:%.+]]: memref<4xi32>, [[V3:%.+]]: memref<1x4xi32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V5:%.+]] = vector.broadcast [[V4]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V9:%.+]] = arith.constant -16 : i8
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i8 to vector<1x1x16xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : i32
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V16:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x8xi8> into memref<8xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V1]][[[V6]], [[V6]], [[V6]], [[V6]]] {strides = array<i64: 16, 0>} : memref<1x1x1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.shli [[V17]], [[V8]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V19:%.+]] = simd.load_group_splat [[V16]][[[V6]]] {strides = array<i64: 8>} : memref<8xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V20:%.+]] = vector.broadcast [[V19]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.dot_accumulate [[V5]], [[V20]], [[V18]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V22:%.+]] = arith.andi [[V17]], [[V10]] : vector<1x1x16xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.load_group_splat [[V16]][[[V11]]] {strides = array<i64: 8>} : memref<8xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : vector<1x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V25:%.+]] = simd.dot_accumulate [[V21]], [[V24]], [[V22]] {signs = "us"} : vector<1x1x4xi32>, vector<1x1x16xi8>, vector<1x1x16xi8> -> vector<1x1x4xi32>
// CHECK-NEXT: [[V26:%.+]] = arith.shrsi [[V25]], [[V13]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V2]][[[V6]]] {strides = array<i64: 4, 0>} : memref<4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V28:%.+]] = arith.shli [[V26]], [[V15]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V28]], [[V27]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V30:%.+]] = vector.extract [[V29]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V30]], [[V3]][[[V6]], [[V6]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<1x4xi32>
// CHECK-NEXT: func.return
func.func @another(%x: memref<1x8xi8>, %w: memref<1x1x1x16xi8>, %bias: memref<4xi32>, %y: memref<1x4xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x8xi8>, memref<1x1x1x16xi8>) epilogue(%bias : memref<4xi32>)
      outs(%y : memref<1x4xi32>) attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
    layout = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32, %start: i32):
    %c3 = arith.constant 3 : i32
    %0 = arith.shli %sum, %c3 : i32
    %1 = arith.addi %0, %start : i32
    kernel.yield %1 : i32
  }
  func.return
}
