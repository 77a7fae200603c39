// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Loops over rows that threads divide, and one that they don't.
// CHECK-LABEL: @divided(
// CHECK-SAME: [[V0:%.+]]: memref<4x8xi8>, [[V1:%.+]]: memref<4x8xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8 : index
// CHECK-NEXT: "scf.parallel"([[V2]], [[V4]], [[V3]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V6:%.+]]: index):
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V5]] step [[V3]] {
// CHECK-NEXT: [[V8:%.+]] = memref.load [[V0]][[[V6]], [[V7]]] : memref<4x8xi8>
// CHECK-NEXT: memref.store [[V8]], [[V1]][[[V6]], [[V7]]] : memref<4x8xi8>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @divided(%x: memref<4x8xi8>, %y: memref<4x8xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<4x8xi8>
      memref.store %0, %y[%i, %j] : memref<4x8xi8>
    }
  } {kernel.schedule = #kernel.schedule<variant = "scalar", threads = true>}
  func.return
}

// Each row of 64 bytes has a part of the table: the four bytes of a number are looked up, and joined in registers.
// CHECK-LABEL: @look_up(
// CHECK-SAME: [[V0:%.+]]: memref<3x64xi8>, [[V1:%.+]]: memref<3xi8>, [[V2:%.+]]: memref<256x4x256xi8>, [[V3:%.+]]: memref<3x64xf32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V4]] : index to vector<64xindex>
// CHECK-NEXT: scf.for [[V11:%.+]] = [[V5]] to [[V8]] step [[V6]] {
// CHECK-NEXT: [[V12:%.+]] = memref.load [[V1]][[[V11]]] : memref<3xi8>
// CHECK-NEXT: [[V13:%.+]] = arith.index_cast [[V12]] : i8 to index
// CHECK-NEXT: [[V14:%.+]] = arith.subi [[V13]], [[V4]] : index
// CHECK-NEXT: scf.for [[V15:%.+]] = [[V5]] to [[V9]] step [[V9]] {
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V0]][[[V11]], [[V15]]] : memref<3x64xi8> to vector<64xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.convert [[V16]] {kind = "index_cast"} : vector<64xi8> to vector<64xindex>
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V17]], [[V10]] : vector<64xindex>
// CHECK-NEXT: [[V19:%.+]] = memref.subview [[V2]][[[V14]], [[V5]], 0] [1, 1, 256] [1, 1, 1] : memref<256x4x256xi8> to memref<256xi8, strided<[1], offset: ?>>
// CHECK-NEXT: [[V20:%.+]] = simd.gather [[V19]][[[V18]]] : memref<256xi8, strided<[1], offset: ?>>, vector<64xindex> to vector<64xi8>
// CHECK-NEXT: [[V21:%.+]] = memref.subview [[V2]][[[V14]], [[V6]], 0] [1, 1, 256] [1, 1, 1] : memref<256x4x256xi8> to memref<256xi8, strided<[1], offset: ?>>
// CHECK-NEXT: [[V22:%.+]] = simd.gather [[V21]][[[V18]]] : memref<256xi8, strided<[1], offset: ?>>, vector<64xindex> to vector<64xi8>
// CHECK-NEXT: [[V23:%.+]] = memref.subview [[V2]][[[V14]], [[V7]], 0] [1, 1, 256] [1, 1, 1] : memref<256x4x256xi8> to memref<256xi8, strided<[1], offset: ?>>
// CHECK-NEXT: [[V24:%.+]] = simd.gather [[V23]][[[V18]]] : memref<256xi8, strided<[1], offset: ?>>, vector<64xindex> to vector<64xi8>
// CHECK-NEXT: [[V25:%.+]] = memref.subview [[V2]][[[V14]], [[V8]], 0] [1, 1, 256] [1, 1, 1] : memref<256x4x256xi8> to memref<256xi8, strided<[1], offset: ?>>
// CHECK-NEXT: [[V26:%.+]] = simd.gather [[V25]][[[V18]]] : memref<256xi8, strided<[1], offset: ?>>, vector<64xindex> to vector<64xi8>
// CHECK-NEXT: [[V27:%.+]] = simd.interleave_low [[V20]], [[V22]] : vector<64xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.convert [[V27]] {kind = "bitcast"} : vector<64xi8> to vector<32xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.interleave_low [[V24]], [[V26]] : vector<64xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.convert [[V29]] {kind = "bitcast"} : vector<64xi8> to vector<32xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.interleave_high [[V20]], [[V22]] : vector<64xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.convert [[V31]] {kind = "bitcast"} : vector<64xi8> to vector<32xi16>
// CHECK-NEXT: [[V33:%.+]] = simd.interleave_high [[V24]], [[V26]] : vector<64xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V33]] {kind = "bitcast"} : vector<64xi8> to vector<32xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.interleave_low [[V28]], [[V30]] : vector<32xi16>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "bitcast"} : vector<32xi16> to vector<64xi8>
// CHECK-NEXT: [[V37:%.+]] = simd.interleave_high [[V28]], [[V30]] : vector<32xi16>
// CHECK-NEXT: [[V38:%.+]] = simd.convert [[V37]] {kind = "bitcast"} : vector<32xi16> to vector<64xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.interleave_low [[V32]], [[V34]] : vector<32xi16>
// CHECK-NEXT: [[V40:%.+]] = simd.convert [[V39]] {kind = "bitcast"} : vector<32xi16> to vector<64xi8>
// CHECK-NEXT: [[V41:%.+]] = simd.interleave_high [[V32]], [[V34]] : vector<32xi16>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "bitcast"} : vector<32xi16> to vector<64xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.convert [[V36]] {kind = "bitcast"} : vector<64xi8> to vector<16xf32>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V38]] {kind = "bitcast"} : vector<64xi8> to vector<16xf32>
// CHECK-NEXT: [[V45:%.+]] = simd.convert [[V40]] {kind = "bitcast"} : vector<64xi8> to vector<16xf32>
// CHECK-NEXT: [[V46:%.+]] = simd.convert [[V42]] {kind = "bitcast"} : vector<64xi8> to vector<16xf32>
// CHECK-NEXT: [[V47:%.+]] = vector.shuffle [[V43]], [[V44]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xf32>, vector<16xf32>
// CHECK-NEXT: [[V48:%.+]] = vector.shuffle [[V45]], [[V46]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xf32>, vector<16xf32>
// CHECK-NEXT: [[V49:%.+]] = vector.shuffle [[V47]], [[V48]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63] : vector<32xf32>, vector<32xf32>
// CHECK-NEXT: simd.store [[V49]], [[V3]][[[V11]], [[V15]]] : vector<64xf32>, memref<3x64xf32>
// CHECK: func.return
func.func @look_up(%x: memref<3x64xi8>, %m: memref<3xi8>, %table: memref<256x4x256xi8>, %y: memref<3x64xf32>) {
  linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<3x64xi8>, memref<3xi8>) outs(%y : memref<3x64xf32>) attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 64>} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %0 = arith.index_cast %a : i8 to index
    %1 = arith.subi %0, %least : index
    %2 = arith.index_cast %b : i8 to index
    %3 = arith.subi %2, %least : index
    %4 = memref.load %table[%3, %c0, %1] : memref<256x4x256xi8>
    %5 = memref.load %table[%3, %c1, %1] : memref<256x4x256xi8>
    %6 = memref.load %table[%3, %c2, %1] : memref<256x4x256xi8>
    %7 = memref.load %table[%3, %c3, %1] : memref<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  }
  func.return
}

// Without vectors, and by itself: arithmetic.
// CHECK-LABEL: @join(
// CHECK-SAME: [[V0:%.+]]: i8, [[V1:%.+]]: i8, [[V2:%.+]]: memref<1xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.extui [[V0]] : i8 to i32
// CHECK-NEXT: [[V5:%.+]] = arith.extui [[V1]] : i8 to i32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : i32
// CHECK-NEXT: [[V7:%.+]] = arith.shli [[V5]], [[V6]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.ori [[V4]], [[V7]] : i32
// CHECK-NEXT: [[V9:%.+]] = arith.extui [[V0]] : i8 to i32
// CHECK-NEXT: [[V10:%.+]] = arith.constant 16 : i32
// CHECK-NEXT: [[V11:%.+]] = arith.shli [[V9]], [[V10]] : i32
// CHECK-NEXT: [[V12:%.+]] = arith.ori [[V8]], [[V11]] : i32
// CHECK-NEXT: [[V13:%.+]] = arith.extui [[V1]] : i8 to i32
// CHECK-NEXT: [[V14:%.+]] = arith.constant 24 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.shli [[V13]], [[V14]] : i32
// CHECK-NEXT: [[V16:%.+]] = arith.ori [[V12]], [[V15]] : i32
// CHECK-NEXT: memref.store [[V16]], [[V2]][[[V3]]] : memref<1xi32>
// CHECK-NEXT: func.return
func.func @join(%a: i8, %b: i8, %y: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %0 = kernel.join %a, %b, %a, %b : i32
  memref.store %0, %y[%c0] : memref<1xi32>
  func.return
}

// A sum that says that its order does not matter goes in chains of lanes.
// CHECK-LABEL: @free_sum(
// CHECK-SAME: [[V0:%.+]]: memref<2x32xf32>, [[V1:%.+]]: memref<2xf64>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : f64 to vector<16xf64>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V9:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V10:%.+]] = memref.load [[V1]][[[V9]]] : memref<2xf64>
// CHECK-NEXT: [[V11:%.+]], [[V12:%.+]] = scf.for [[V13:%.+]] = [[V2]] to [[V7]] step [[V7]] iter_args([[V14:%.+]] = [[V6]], [[V15:%.+]] = [[V6]]) -> (vector<16xf64>, vector<16xf64>) {
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V0]][[[V9]], [[V13]]] : memref<2x32xf32> to vector<16xf32>
// CHECK-NEXT: [[V17:%.+]] = simd.convert [[V16]] {kind = "extf"} : vector<16xf32> to vector<16xf64>
// CHECK-NEXT: [[V18:%.+]] = arith.addf [[V14]], [[V17]] : vector<16xf64>
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V13]], [[V8]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V0]][[[V9]], [[V19]]] : memref<2x32xf32> to vector<16xf32>
// CHECK-NEXT: [[V21:%.+]] = simd.convert [[V20]] {kind = "extf"} : vector<16xf32> to vector<16xf64>
// CHECK-NEXT: [[V22:%.+]] = arith.addf [[V15]], [[V21]] : vector<16xf64>
// CHECK-NEXT: scf.yield [[V18]], [[V22]] : vector<16xf64>, vector<16xf64>
// CHECK: [[V23:%.+]] = arith.addf [[V11]], [[V12]] : vector<16xf64>
// CHECK-NEXT: [[V24:%.+]] = vector.shuffle [[V23]], [[V23]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf64>, vector<16xf64>
// CHECK-NEXT: [[V25:%.+]] = vector.shuffle [[V23]], [[V23]] [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf64>, vector<16xf64>
// CHECK-NEXT: [[V26:%.+]] = arith.addf [[V24]], [[V25]] : vector<8xf64>
// CHECK-NEXT: [[V27:%.+]] = vector.shuffle [[V26]], [[V26]] [0, 1, 2, 3] : vector<8xf64>, vector<8xf64>
// CHECK-NEXT: [[V28:%.+]] = vector.shuffle [[V26]], [[V26]] [4, 5, 6, 7] : vector<8xf64>, vector<8xf64>
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : vector<4xf64>
// CHECK-NEXT: [[V30:%.+]] = vector.shuffle [[V29]], [[V29]] [0, 1] : vector<4xf64>, vector<4xf64>
// CHECK-NEXT: [[V31:%.+]] = vector.shuffle [[V29]], [[V29]] [2, 3] : vector<4xf64>, vector<4xf64>
// CHECK-NEXT: [[V32:%.+]] = arith.addf [[V30]], [[V31]] : vector<2xf64>
// CHECK-NEXT: [[V33:%.+]] = vector.shuffle [[V32]], [[V32]] [0] : vector<2xf64>, vector<2xf64>
// CHECK-NEXT: [[V34:%.+]] = vector.shuffle [[V32]], [[V32]] [1] : vector<2xf64>, vector<2xf64>
// CHECK-NEXT: [[V35:%.+]] = arith.addf [[V33]], [[V34]] : vector<1xf64>
// CHECK-NEXT: [[V36:%.+]] = vector.extract [[V35]][0] : f64 from vector<1xf64>
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V10]], [[V36]] : f64
// CHECK-NEXT: memref.store [[V37]], [[V1]][[[V9]]] : memref<2xf64>
// CHECK: func.return
func.func @free_sum(%x: memref<2x32xf32>, %y: memref<2xf64>) {
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<2x32xf32>) outs(%y : memref<2xf64>) attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 16>} {
  ^bb0(%a: f32, %o: f64):
    %0 = arith.extf %a : f32 to f64
    %1 = arith.addf %o, %0 fastmath<reassoc> : f64
    linalg.yield %1 : f64
  }
  func.return
}

// Four rows of bytes in turn: two interleavings, four registers behind each other.
// CHECK-LABEL: @turned(
// CHECK-SAME: [[V0:%.+]]: memref<4x16xi8>, [[V1:%.+]]: memref<16x4xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 48 : index
// CHECK-NEXT: [[V9:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64]] : memref<16x4xi8> into memref<64xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.load [[V0]][[[V2]], [[V2]]] : memref<4x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V11:%.+]] = simd.load [[V0]][[[V3]], [[V2]]] : memref<4x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V0]][[[V4]], [[V2]]] : memref<4x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V0]][[[V5]], [[V2]]] : memref<4x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.interleave_low [[V10]], [[V11]] : vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.convert [[V14]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V16:%.+]] = simd.interleave_low [[V12]], [[V13]] : vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.convert [[V16]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V18:%.+]] = simd.interleave_high [[V10]], [[V11]] : vector<16xi8>
// CHECK-NEXT: [[V19:%.+]] = simd.convert [[V18]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V20:%.+]] = simd.interleave_high [[V12]], [[V13]] : vector<16xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.convert [[V20]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V22:%.+]] = simd.interleave_low [[V15]], [[V17]] : vector<8xi16>
// CHECK-NEXT: [[V23:%.+]] = simd.convert [[V22]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.interleave_high [[V15]], [[V17]] : vector<8xi16>
// CHECK-NEXT: [[V25:%.+]] = simd.convert [[V24]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.interleave_low [[V19]], [[V21]] : vector<8xi16>
// CHECK-NEXT: [[V27:%.+]] = simd.convert [[V26]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.interleave_high [[V19]], [[V21]] : vector<8xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.convert [[V28]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: simd.store [[V23]], [[V9]][[[V2]]] : vector<16xi8>, memref<64xi8>
// CHECK-NEXT: simd.store [[V25]], [[V9]][[[V6]]] : vector<16xi8>, memref<64xi8>
// CHECK-NEXT: simd.store [[V27]], [[V9]][[[V7]]] : vector<16xi8>, memref<64xi8>
// CHECK-NEXT: simd.store [[V29]], [[V9]][[[V8]]] : vector<16xi8>, memref<64xi8>
// CHECK-NEXT: func.return
func.func @turned(%x: memref<4x16xi8>, %y: memref<16x4xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #all], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x16xi8>) outs(%y : memref<16x4xi8>) attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 16>} {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  }
  func.return
}

// What is made of a saturated byte alone is done for the bytes of both registers together.
// CHECK-LABEL: @tail(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x128xi8>, [[V2:%.+]]: memref<256xi8>, [[V3:%.+]]: memref<1x32xi8>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V5:%.+]] = vector.broadcast [[V4]] : i32 to vector<2x1x16xi32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i8 to vector<1x64xi8>
// CHECK-NEXT: [[V9:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : index to vector<1x32xindex>
// CHECK-NEXT: [[V11:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V1]][[[V6]], [[V6]], [[V6]], [[V6]]] {strides = array<i64: 64, 0>} : memref<1x1x1x128xi8> to vector<2x1x64xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load_group_splat [[V11]][[[V6]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x64xi8>
// CHECK-NEXT: [[V14:%.+]] = arith.xori [[V13]], [[V8]] : vector<1x64xi8>
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : vector<1x64xi8> to vector<2x1x64xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.dot_accumulate [[V5]], [[V15]], [[V12]] {signs = "us"} : vector<2x1x16xi32>, vector<2x1x64xi8>, vector<2x1x64xi8> -> vector<2x1x16xi32>
// CHECK-NEXT: [[V17:%.+]] = vector.extract [[V16]][0] : vector<1x16xi32> from vector<2x1x16xi32>
// CHECK-NEXT: [[V18:%.+]] = vector.extract [[V16]][1] : vector<1x16xi32> from vector<2x1x16xi32>
// CHECK-NEXT: [[V19:%.+]] = simd.narrow [[V17]], [[V18]] : vector<1x16xi32>, vector<1x16xi32> to vector<1x32xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.convert [[V19]] {kind = "index_cast"} : vector<1x32xi8> to vector<1x32xindex>
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V20]], [[V10]] : vector<1x32xindex>
// CHECK-NEXT: [[V22:%.+]] = simd.gather [[V2]][[[V21]]] : memref<256xi8>, vector<1x32xindex> to vector<1x32xi8>
// CHECK-NEXT: simd.store [[V22]], [[V3]][[[V6]], [[V6]]] {strides = array<i64: 32>} : vector<1x32xi8>, memref<1x32xi8>
// CHECK-NEXT: func.return
func.func @tail(%x: memref<1x4xi8>, %w: memref<1x1x1x128xi8>, %table: memref<256xi8>, %y: memref<1x32xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x128xi8>) outs(%y : memref<1x32xi8>) attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 2, lanes = 16>} {
  ^bb0(%sum: i32):
    %low = arith.constant -128 : i32
    %high = arith.constant 127 : i32
    %least = arith.constant -128 : index
    %0 = arith.maxsi %sum, %low : i32
    %1 = arith.minsi %0, %high : i32
    %2 = arith.trunci %1 : i32 to i8
    %3 = arith.index_cast %2 : i8 to index
    %4 = arith.subi %3, %least : index
    %5 = memref.load %table[%4] : memref<256xi8>
    kernel.yield %5 : i8
  }
  func.return
}
