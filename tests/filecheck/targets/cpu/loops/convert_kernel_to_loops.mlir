// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d3)>

// Axes without gaps are one loop; the channels stay apart for what is read by channel. Axes of one step have no loop.
// CHECK-LABEL: @requantized(
// CHECK-SAME: [[V0:%.+]]: memref<1x5x6x8xi32>, [[V1:%.+]]: memref<8xf32>, [[V2:%.+]]: memref<1x5x6x8xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 30 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant -1.310000e+02 : f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 1.240000e+02 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1.2582912e+07 : f32
// CHECK-NEXT: [[V10:%.+]] = arith.constant -1262485501 : i32
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64], [3 : i64]] : memref<1x5x6x8xi32> into memref<1x30x8xi32>
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V2]] {{\[\[}}0 : i64], [1 : i64, 2 : i64], [3 : i64]] : memref<1x5x6x8xi8> into memref<1x30x8xi8>
// CHECK-NEXT: scf.for [[V13:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: scf.for [[V14:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: [[V15:%.+]] = memref.load [[V11]][[[V3]], [[V13]], [[V14]]] : memref<1x30x8xi32>
// CHECK-NEXT: [[V16:%.+]] = memref.load [[V1]][[[V14]]] : memref<8xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.sitofp [[V15]] : i32 to f32
// CHECK-NEXT: [[V18:%.+]] = arith.mulf [[V17]], [[V16]] : f32
// CHECK-NEXT: [[V19:%.+]] = arith.cmpf ogt, [[V18]], [[V7]] : f32
// CHECK-NEXT: [[V20:%.+]] = arith.select [[V19]], [[V18]], [[V7]] : f32
// CHECK-NEXT: [[V21:%.+]] = arith.cmpf olt, [[V20]], [[V8]] : f32
// CHECK-NEXT: [[V22:%.+]] = arith.select [[V21]], [[V20]], [[V8]] : f32
// CHECK-NEXT: [[V23:%.+]] = arith.addf [[V22]], [[V9]] : f32
// CHECK-NEXT: [[V24:%.+]] = arith.bitcast [[V23]] : f32 to i32
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V24]], [[V10]] : i32
// CHECK-NEXT: [[V26:%.+]] = arith.trunci [[V25]] : i32 to i8
// CHECK-NEXT: memref.store [[V26]], [[V12]][[[V3]], [[V13]], [[V14]]] : memref<1x30x8xi8>
// CHECK: func.return
func.func @requantized(%x: memref<1x5x6x8xi32>, %m: memref<8xf32>, %y: memref<1x5x6x8xi8>) {
  linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %m : memref<1x5x6x8xi32>, memref<8xf32>) outs(%y : memref<1x5x6x8xi8>) {
  ^bb0(%a: i32, %f: f32, %o: i8):
    %r = kernel.requantize %a, %f {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    linalg.yield %r : i8
  }
  func.return
}

// A largest element of windows: the channels are neighbours in memory, so they are the innermost loop.
// CHECK-LABEL: @pool(
// CHECK-SAME: [[V0:%.+]]: memref<1x8x8x16xi8>, [[V1:%.+]]: memref<2x2xi8>, [[V2:%.+]]: memref<1x4x4x16xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V8:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: scf.for [[V9:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: scf.for [[V10:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: scf.for [[V11:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V3]] to [[V7]] step [[V5]] {
// CHECK-NEXT: [[V13:%.+]] = arith.muli [[V8]], [[V6]] : index
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V13]], [[V10]] : index
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V9]], [[V6]] : index
// CHECK-NEXT: [[V16:%.+]] = arith.addi [[V15]], [[V11]] : index
// CHECK-NEXT: [[V17:%.+]] = memref.load [[V0]][[[V3]], [[V14]], [[V16]], [[V12]]] : memref<1x8x8x16xi8>
// CHECK-NEXT: [[V18:%.+]] = memref.load [[V2]][[[V3]], [[V8]], [[V9]], [[V12]]] : memref<1x4x4x16xi8>
// CHECK-NEXT: [[V19:%.+]] = arith.maxsi [[V17]], [[V18]] : i8
// CHECK-NEXT: memref.store [[V19]], [[V2]][[[V3]], [[V8]], [[V9]], [[V12]]] : memref<1x4x4x16xi8>
// CHECK: func.return
func.func @pool(%x: memref<1x8x8x16xi8>, %w: memref<2x2xi8>, %y: memref<1x4x4x16xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>,
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : memref<1x8x8x16xi8>, memref<2x2xi8>) outs(%y : memref<1x4x4x16xi8>) {
  ^bb0(%a: i8, %f: i8, %o: i8):
    %r = arith.maxsi %a, %o : i8
    linalg.yield %r : i8
  }
  func.return
}

// A sum of neighbours runs in a scalar; threads take the rows.
// CHECK-LABEL: @sum(
// CHECK-SAME: [[V0:%.+]]: memref<4x3x5xf32>, [[V1:%.+]]: f32, [[V2:%.+]]: memref<4xf32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: memref.store [[V1]], [[V2]][[[V6]]] : memref<4xf32>
// CHECK: [[V7:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 15 : index
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<4x3x5xf32> into memref<4x15xf32>
// CHECK-NEXT: "scf.parallel"([[V7]], [[V8]], [[V9]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V12:%.+]]: index):
// CHECK-NEXT: [[V13:%.+]] = memref.load [[V2]][[[V12]]] : memref<4xf32>
// CHECK-NEXT: [[V14:%.+]] = scf.for [[V15:%.+]] = [[V7]] to [[V10]] step [[V9]] iter_args([[V16:%.+]] = [[V13]]) -> (f32) {
// CHECK-NEXT: [[V17:%.+]] = memref.load [[V11]][[[V12]], [[V15]]] : memref<4x15xf32>
// CHECK-NEXT: [[V18:%.+]] = arith.addf [[V16]], [[V17]] : f32
// CHECK-NEXT: scf.yield [[V18]] : f32
// CHECK: memref.store [[V14]], [[V2]][[[V12]]] : memref<4xf32>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @sum(%x: memref<4x3x5xf32>, %s: f32, %y: memref<4xf32>) {
  linalg.fill ins(%s : f32) outs(%y : memref<4xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>],
      iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<4x3x5xf32>) outs(%y : memref<4xf32>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "rows", threads = true>} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  }
  func.return
}

// Indices and tables.
// CHECK-LABEL: @lookup(
// CHECK-SAME: [[V0:%.+]]: memref<3xi8>, [[V1:%.+]]: memref<256xi8>, [[V2:%.+]]: memref<3xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V7:%.+]] = memref.load [[V0]][[[V6]]] : memref<3xi8>
// CHECK-NEXT: [[V8:%.+]] = arith.extui [[V7]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V8]] : i32 to index
// CHECK-NEXT: [[V10:%.+]] = arith.index_cast [[V6]] : index to i8
// CHECK-NEXT: [[V11:%.+]] = memref.load [[V1]][[[V9]]] : memref<256xi8>
// CHECK-NEXT: [[V12:%.+]] = arith.addi [[V11]], [[V10]] : i8
// CHECK-NEXT: memref.store [[V12]], [[V2]][[[V6]]] : memref<3xi8>
// CHECK: func.return
func.func @lookup(%x: memref<3xi8>, %table: memref<256xi8>, %y: memref<3xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<3xi8>) outs(%y : memref<3xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.extui %a : i8 to i32
    %1 = arith.index_cast %0 : i32 to index
    %2 = memref.load %table[%1] : memref<256xi8>
    %3 = linalg.index 0 : index
    %4 = arith.index_cast %3 : index to i8
    %5 = arith.addi %2, %4 : i8
    linalg.yield %5 : i8
  }
  func.return
}

// A part of wider memory; a shape that shares no axis with the other.
// CHECK-LABEL: @moves(
// CHECK-SAME: [[V0:%.+]]: memref<4x6xi8, strided<[8, 1]>>, [[V1:%.+]]: memref<4x6xi8>) -> memref<8x3xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 6 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V5]] step [[V4]] {
// CHECK-NEXT: [[V8:%.+]] = memref.load [[V0]][[[V6]], [[V7]]] : memref<4x6xi8, strided<[8, 1]>>
// CHECK-NEXT: memref.store [[V8]], [[V1]][[[V6]], [[V7]]] : memref<4x6xi8>
// CHECK: [[V9:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64]] : memref<4x6xi8> into memref<24xi8>
// CHECK-NEXT: [[V10:%.+]] = memref.expand_shape [[V9]] {{\[\[}}0 : i64, 1 : i64]] output_shape [8, 3] : memref<24xi8> into memref<8x3xi8>
// CHECK-NEXT: func.return [[V10]] : memref<8x3xi8>
func.func @moves(%x: memref<4x6xi8, strided<[8, 1]>>, %y: memref<4x6xi8>) -> memref<8x3xi8> {
  "memref.copy"(%x, %y) : (memref<4x6xi8, strided<[8, 1]>>, memref<4x6xi8>) -> ()
  %0 = kernel.reshape %y : memref<4x6xi8> to memref<8x3xi8>
  func.return %0 : memref<8x3xi8>
}
