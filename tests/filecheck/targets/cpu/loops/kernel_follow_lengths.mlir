// RUN: qmlir-opt %s -p kernel-follow-lengths | filecheck %s
// RUN: qmlir-opt %s -p kernel-follow-lengths,kernel-follow-lengths | filecheck %s
// RUN: qmlir-opt %s -p kernel-follow-lengths --verify-each=exec

// The capacity of n is 5 * 16 = 80.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  // Loops over vectors, joined axes, and a reduction; the loop over 7 stays.
  func.func private @for(%x: memref<80x4xi32>, %y: memref<7x80xi32>, %z: memref<7xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c80 = arith.constant 80 : index
    %c320 = arith.constant 320 : index
    %zero = arith.constant 0 : i32
    %flat = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<80x4xi32> into memref<320xi32>
    scf.for %i = %c0 to %c320 step %c8 {
      %v = simd.load %flat[%i] : memref<320xi32> to vector<8xi32>
      simd.store %v, %flat[%i] : vector<8xi32>, memref<320xi32>
    }
    scf.for %i = %c0 to %c7 step %c1 {
      %sum = scf.for %j = %c0 to %c80 step %c1 iter_args(%s = %zero) -> (i32) {
        %v = memref.load %y[%i, %j] : memref<7x80xi32>
        %t = arith.addi %s, %v : i32
        scf.yield %t : i32
      }
      memref.store %sum, %z[%i] : memref<7xi32>
    }
    func.return
  }

  // Threads divide constant bounds: iterations beyond the runtime size do nothing.
  func.func private @parallel(%x: memref<3x80xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c20 = arith.constant 20 : index
    "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      "scf.parallel"(%c0, %c20, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
      ^bb1(%j: index):
        %k = arith.muli %j, %c4 : index
        %v = simd.load %x[%i, %k] : memref<3x80xi32> to vector<4xi32>
        simd.store %v, %x[%i, %k] : vector<4xi32>, memref<3x80xi32>
        scf.reduce
      }) : (index, index, index) -> ()
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }

  // Nothing here depends on the size.
  func.func private @neither(%x: memref<7xi32>) {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<7xi32>
    memref.store %v, %x[%c0] : memref<7xi32>
    func.return
  }

  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<80x4xi32> {nn.result}, %y: memref<7x80xi32> {nn.result}, %z: memref<7xi32> {nn.result}, %w: memref<3x80xi32> {nn.result}) {
    func.call @for(%x, %y, %z) : (memref<80x4xi32>, memref<7x80xi32>, memref<7xi32>) -> ()
    func.call @parallel(%w) : (memref<3x80xi32>) -> ()
    func.call @neither(%z) : (memref<7xi32>) -> ()
    func.return
  }
}

// CHECK: builtin.module attributes {kernel.follows = "123e4fce51a091d0"} {
// CHECK-LABEL: @for(
// CHECK-SAME: [[V0:%.+]]: memref<80x4xi32>, [[V1:%.+]]: memref<7x80xi32>, [[V2:%.+]]: memref<7xi32>, [[V3:%.+]]: memref<i64>)
// CHECK-NEXT: [[V4:%.+]] = memref.load [[V3]][] : memref<i64>
// CHECK-NEXT: [[V5:%.+]] = arith.index_cast [[V4]] : i64 to index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 15 : index
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V6]] : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V9:%.+]] = arith.floordivsi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V11:%.+]] = arith.minsi [[V9]], [[V10]] : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V13:%.+]] = arith.muli [[V11]], [[V12]] : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V11]], [[V14]] : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V17:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V18:%.+]] = arith.constant 7 : index
// CHECK-NEXT: [[V19:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V20:%.+]] = arith.constant 80 : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 320 : index
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V23:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<80x4xi32> into memref<320xi32>
// CHECK-NEXT: scf.for [[V24:%.+]] = [[V16]] to [[V13]] step [[V19]] {
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V23]][[[V24]]] : memref<320xi32> to vector<8xi32>
// CHECK-NEXT: simd.store [[V25]], [[V23]][[[V24]]] : vector<8xi32>, memref<320xi32>
// CHECK: scf.for [[V26:%.+]] = [[V16]] to [[V18]] step [[V17]] {
// CHECK-NEXT: [[V27:%.+]] = scf.for [[V28:%.+]] = [[V16]] to [[V15]] step [[V17]] iter_args([[V29:%.+]] = [[V22]]) -> (i32) {
// CHECK-NEXT: [[V30:%.+]] = memref.load [[V1]][[[V26]], [[V28]]] : memref<7x80xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V29]], [[V30]] : i32
// CHECK-NEXT: scf.yield [[V31]] : i32
// CHECK: memref.store [[V27]], [[V2]][[[V26]]] : memref<7xi32>
// CHECK: func.return
// CHECK-LABEL: @parallel(
// CHECK-SAME: [[V0:%.+]]: memref<3x80xi32>, [[V1:%.+]]: memref<i64>)
// CHECK-NEXT: [[V2:%.+]] = memref.load [[V1]][] : memref<i64>
// CHECK-NEXT: [[V3:%.+]] = arith.index_cast [[V2]] : i64 to index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 15 : index
// CHECK-NEXT: [[V5:%.+]] = arith.addi [[V3]], [[V4]] : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V7:%.+]] = arith.floordivsi [[V5]], [[V6]] : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V9:%.+]] = arith.minsi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = arith.muli [[V9]], [[V10]] : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 20 : index
// CHECK-NEXT: "scf.parallel"([[V12]], [[V14]], [[V13]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V17:%.+]]: index):
// CHECK-NEXT: "scf.parallel"([[V12]], [[V16]], [[V13]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V18:%.+]]: index):
// CHECK-NEXT: [[V19:%.+]] = arith.cmpi slt, [[V18]], [[V11]] : index
// CHECK-NEXT: scf.if [[V19]] {
// CHECK-NEXT: [[V20:%.+]] = arith.muli [[V18]], [[V15]] : index
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V0]][[[V17]], [[V20]]] : memref<3x80xi32> to vector<4xi32>
// CHECK-NEXT: simd.store [[V21]], [[V0]][[[V17]], [[V20]]] : vector<4xi32>, memref<3x80xi32>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
// CHECK-LABEL: @neither(
// CHECK-SAME: [[V0:%.+]]: memref<7xi32>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V2:%.+]] = memref.load [[V0]][[[V1]]] : memref<7xi32>
// CHECK-NEXT: memref.store [[V2]], [[V0]][[[V1]]] : memref<7xi32>
// CHECK-NEXT: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<i64> {nn.name = "n"}, [[V1:%.+]]: memref<80x4xi32> {nn.result}, [[V2:%.+]]: memref<7x80xi32> {nn.result}, [[V3:%.+]]: memref<7xi32> {nn.result}, [[V4:%.+]]: memref<3x80xi32> {nn.result})
// CHECK-NEXT: func.call @for([[V1]], [[V2]], [[V3]], [[V0]]) : (memref<80x4xi32>, memref<7x80xi32>, memref<7xi32>, memref<i64>) -> ()
// CHECK-NEXT: func.call @parallel([[V4]], [[V0]]) : (memref<3x80xi32>, memref<i64>) -> ()
// CHECK-NEXT: func.call @neither([[V3]]) : (memref<7xi32>) -> ()
// CHECK-NEXT: func.return
