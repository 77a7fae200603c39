// RUN: qmlir-opt -p simd-unroll %s | filecheck %s

// CHECK-LABEL: @sums(
// CHECK-SAME: [[V0:%.+]]: memref<256xi8>, [[V1:%.+]]: memref<256xi8>, [[V2:%.+]]: memref<4x16xi32>, [[V3:%.+]]: index)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V8:%.+]], [[V9:%.+]], [[V10:%.+]], [[V11:%.+]] = scf.for [[V12:%.+]] = [[V4]] to [[V3]] step [[V5]] iter_args([[V13:%.+]] = [[V7]], [[V14:%.+]] = [[V7]], [[V15:%.+]] = [[V7]], [[V16:%.+]] = [[V7]]) -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: [[V17:%.+]] = simd.load_group_splat [[V0]][[[V12]]] : memref<256xi8> to vector<32xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V12]], [[V18]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load_group_splat [[V0]][[[V19]]] : memref<256xi8> to vector<32xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V12]]] : memref<256xi8> to vector<32xi8>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V12]], [[V22]] : index
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V23]]] : memref<256xi8> to vector<32xi8>
// CHECK-NEXT: [[V25:%.+]] = simd.dot_accumulate [[V13]], [[V17]], [[V21]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V26:%.+]] = simd.dot_accumulate [[V15]], [[V17]], [[V24]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.dot_accumulate [[V14]], [[V20]], [[V21]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V28:%.+]] = simd.dot_accumulate [[V16]], [[V20]], [[V24]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: scf.yield [[V25]], [[V27]], [[V26]], [[V28]] : vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>
// CHECK: simd.store [[V10]], [[V2]][[[V4]], [[V4]]] : vector<8xi32>, memref<4x16xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V4]], [[V29]] : index
// CHECK-NEXT: simd.store [[V11]], [[V2]][[[V4]], [[V30]]] : vector<8xi32>, memref<4x16xi32>
// CHECK-NEXT: func.return
func.func @sums(%x: memref<256xi8>, %w: memref<256xi8>, %y: memref<4x16xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %zeros = vector.broadcast %zero : i32 to vector<2x2x8xi32>
  %sums = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zeros) -> (vector<2x2x8xi32>) {
    %a = simd.load_group_splat %x[%i] {strides = array<i64: 64>} : memref<256xi8> to vector<2x32xi8>
    %b = simd.load %w[%i] {strides = array<i64: 32, 0>} : memref<256xi8> to vector<2x1x32xi8>
    %rows = vector.broadcast %a : vector<2x32xi8> to vector<2x2x32xi8>
    %columns = vector.broadcast %b : vector<2x1x32xi8> to vector<2x2x32xi8>
    %t = simd.dot_accumulate %s, %rows, %columns {signs = "us"} : vector<2x2x8xi32>, vector<2x2x32xi8>, vector<2x2x32xi8> -> vector<2x2x8xi32>
    scf.yield %t : vector<2x2x8xi32>
  }
  %column = vector.extract %sums[1] : vector<2x8xi32> from vector<2x2x8xi32>
  simd.store %column, %y[%c0, %c0] {strides = array<i64: 16>} : vector<2x8xi32>, memref<4x16xi32>
  func.return
}

// CHECK-LABEL: @moves(
// CHECK-SAME: [[V0:%.+]]: vector<8xi32>, [[V1:%.+]]: vector<8xi32>) -> vector<8xi32>
// CHECK-NEXT: func.return [[V1]] : vector<8xi32>
func.func @moves(%a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %tile = simd.stack %a, %b, %b, %a : vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32> to vector<2x2x8xi32>
  %turned = simd.transpose %tile : vector<2x2x8xi32> to vector<2x2x8xi32>
  %0 = vector.extract %turned[1, 0] : vector<8xi32> from vector<2x2x8xi32>
  func.return %0 : vector<8xi32>
}

// CHECK-LABEL: @branches(
// CHECK-SAME: [[V0:%.+]]: i1, [[V1:%.+]]: memref<64xi32>, [[V2:%.+]]: index)
// CHECK-NEXT: [[V3:%.+]] = simd.load [[V1]][[[V2]]] : memref<64xi32> to vector<8xi32>
// CHECK-NEXT: [[V4:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V5:%.+]] = arith.addi [[V2]], [[V4]] : index
// CHECK-NEXT: [[V6:%.+]] = simd.load [[V1]][[[V5]]] : memref<64xi32> to vector<8xi32>
// CHECK-NEXT: [[V7:%.+]], [[V8:%.+]] = scf.if [[V0]] -> (vector<8xi32>, vector<8xi32>) {
// CHECK-NEXT: scf.yield [[V3]], [[V6]] : vector<8xi32>, vector<8xi32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V3]], [[V3]] : vector<8xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V6]], [[V6]] : vector<8xi32>
// CHECK-NEXT: scf.yield [[V9]], [[V10]] : vector<8xi32>, vector<8xi32>
// CHECK: simd.store [[V7]], [[V1]][[[V2]]] : vector<8xi32>, memref<64xi32>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V12:%.+]] = arith.addi [[V2]], [[V11]] : index
// CHECK-NEXT: simd.store [[V8]], [[V1]][[[V12]]] : vector<8xi32>, memref<64xi32>
// CHECK-NEXT: func.return
func.func @branches(%c: i1, %m: memref<64xi32>, %i: index) {
  %a = simd.load %m[%i] {strides = array<i64: 32>} : memref<64xi32> to vector<2x8xi32>
  %0 = scf.if %c -> (vector<2x8xi32>) {
    scf.yield %a : vector<2x8xi32>
  } else {
    %1 = arith.addi %a, %a : vector<2x8xi32>
    scf.yield %1 : vector<2x8xi32>
  }
  simd.store %0, %m[%i] {strides = array<i64: 8>} : vector<2x8xi32>, memref<64xi32>
  func.return
}
