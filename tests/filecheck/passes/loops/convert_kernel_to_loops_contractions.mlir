// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Two tiles of two rows by a register of four channels, of which three are there; the bias is read once for both rows.
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x8xi8>, [[V1:%.+]]: memref<1x1x2x16xi8>, [[V2:%.+]]: memref<3xi32>, [[V3:%.+]]: memref<3xf32>, [[V4:%.+]]: memref<1x4x3xi8>)
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.constant 1.270000e+02 : f32
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V17]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V19:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64], [2 : i64]] : memref<1x4x8xi8> into memref<4x8xi8>
// CHECK-NEXT: [[V20:%.+]] = memref.collapse_shape [[V4]] {{\[\[}}0 : i64, 1 : i64], [2 : i64]] : memref<1x4x3xi8> into memref<4x3xi8>
// CHECK-NEXT: [[V21:%.+]] = memref.collapse_shape [[V19]] {{\[\[}}0 : i64, 1 : i64]] : memref<4x8xi8> into memref<32xi8>
// CHECK-NEXT: scf.for [[V22:%.+]] = [[V5]] to [[V6]] step [[V7]] {
// CHECK-NEXT: [[V23:%.+]] = arith.muli [[V22]], [[V6]] : index
// CHECK-NEXT: [[V24:%.+]] = arith.muli [[V23]], [[V10]] : index
// CHECK-NEXT: [[V25:%.+]], [[V26:%.+]] = scf.for [[V27:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V28:%.+]] = [[V9]], [[V29:%.+]] = [[V9]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V30:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V27]], [[V5]]] : memref<1x1x2x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V31:%.+]] = arith.muli [[V27]], [[V11]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V24]], [[V31]] : index
// CHECK-NEXT: [[V33:%.+]] = simd.load_group_splat [[V21]][[[V32]]] : memref<32xi8> to vector<16xi8>
// CHECK-NEXT: [[V34:%.+]] = arith.xori [[V33]], [[V13]] : vector<16xi8>
// CHECK-NEXT: [[V35:%.+]] = simd.dot_accumulate [[V28]], [[V34]], [[V30]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V36:%.+]] = arith.addi [[V32]], [[V10]] : index
// CHECK-NEXT: [[V37:%.+]] = simd.load_group_splat [[V21]][[[V36]]] : memref<32xi8> to vector<16xi8>
// CHECK-NEXT: [[V38:%.+]] = arith.xori [[V37]], [[V13]] : vector<16xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.dot_accumulate [[V29]], [[V38]], [[V30]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V35]], [[V39]] : vector<4xi32>, vector<4xi32>
// CHECK: [[V40:%.+]] = simd.load_partial [[V2]][[[V5]]], [[V14]] : memref<3xi32> to vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = simd.load_partial [[V3]][[[V5]]], [[V14]] : memref<3xf32> to vector<4xf32>
// CHECK-NEXT: [[V42:%.+]] = arith.addi [[V25]], [[V40]] : vector<4xi32>
// CHECK-NEXT: [[V43:%.+]] = simd.convert [[V42]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V44:%.+]] = arith.mulf [[V43]], [[V41]] : vector<4xf32>
// CHECK-NEXT: [[V45:%.+]] = simd.compare [[V44]], [[V16]] {predicate = "ogt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V46:%.+]] = simd.select [[V45]], [[V44]], [[V16]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V47:%.+]] = simd.compare [[V46]], [[V18]] {predicate = "olt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V48:%.+]] = simd.select [[V47]], [[V46]], [[V18]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V49:%.+]] = simd.round_to_int [[V48]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: [[V50:%.+]] = simd.convert [[V49]] {kind = "trunci"} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V50]], [[V20]][[[V23]], [[V5]]], [[V14]] : vector<4xi8>, memref<4x3xi8>
// CHECK-NEXT: [[V51:%.+]] = arith.addi [[V23]], [[V7]] : index
// CHECK-NEXT: [[V52:%.+]] = arith.addi [[V26]], [[V40]] : vector<4xi32>
// CHECK-NEXT: [[V53:%.+]] = simd.convert [[V52]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V54:%.+]] = arith.mulf [[V53]], [[V41]] : vector<4xf32>
// CHECK-NEXT: [[V55:%.+]] = simd.compare [[V54]], [[V16]] {predicate = "ogt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V56:%.+]] = simd.select [[V55]], [[V54]], [[V16]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V57:%.+]] = simd.compare [[V56]], [[V18]] {predicate = "olt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V58:%.+]] = simd.select [[V57]], [[V56]], [[V18]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V59:%.+]] = simd.round_to_int [[V58]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: [[V60:%.+]] = simd.convert [[V59]] {kind = "trunci"} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V60]], [[V20]][[[V51]], [[V5]]], [[V14]] : vector<4xi8>, memref<4x3xi8>
// CHECK: func.return
func.func @bytes(
    %x: memref<1x4x8xi8>, %w: memref<1x1x2x16xi8>, %b: memref<3xi32>, %m: memref<3xf32>, %y: memref<1x4x3xi8>) {
  kernel.matmul ins(%x, %w : memref<1x4x8xi8>, memref<1x1x2x16xi8>) epilogue(%b, %m : memref<3xi32>, memref<3xf32>)
      outs(%y : memref<1x4x3xi8>) attributes {
    epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>],
    schedule = #kernel.schedule<variant = "u8s8_dot", rows = 2, lanes = 4, k_unroll = 4, packed = true>} {
  ^bb0(%acc: i32, %bias: i32, %multiplier: f32):
    %s = arith.addi %acc, %bias : i32
    %q = kernel.requantize %s, %multiplier {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128,
      maximum = 127} : i32, f32 -> i8
    kernel.yield %q : i8
  }
  func.return
}

// An operation without a form on vectors: the sums go through memory, the epilogue works on scalars.
// CHECK-LABEL: @scalar_epilogue(
// CHECK-SAME: [[V0:%.+]]: memref<2x4xf32>, [[V1:%.+]]: memref<1x1x4x4xf32>, [[V2:%.+]]: memref<2x4xf32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x4xf32> into memref<8xf32>
// CHECK-NEXT: [[V13:%.+]], [[V14:%.+]] = scf.for [[V15:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V16:%.+]] = [[V4]], [[V17:%.+]] = [[V4]]) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT: [[V18:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V15]], [[V5]]] : memref<1x1x4x4xf32> to vector<4xf32>
// CHECK-NEXT: [[V19:%.+]] = memref.load [[V12]][[[V15]]] : memref<8xf32>
// CHECK-NEXT: [[V20:%.+]] = vector.broadcast [[V19]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V21:%.+]] = arith.mulf [[V20]], [[V18]] : vector<4xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.addf [[V16]], [[V21]] : vector<4xf32>
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V15]], [[V6]] : index
// CHECK-NEXT: [[V24:%.+]] = memref.load [[V12]][[[V23]]] : memref<8xf32>
// CHECK-NEXT: [[V25:%.+]] = vector.broadcast [[V24]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V26:%.+]] = arith.mulf [[V25]], [[V18]] : vector<4xf32>
// CHECK-NEXT: [[V27:%.+]] = arith.addf [[V17]], [[V26]] : vector<4xf32>
// CHECK-NEXT: scf.yield [[V22]], [[V27]] : vector<4xf32>, vector<4xf32>
// CHECK: [[V28:%.+]] = memref.alloca() : memref<2x4xf32>
// CHECK-NEXT: simd.store [[V13]], [[V28]][[[V5]], [[V5]]] : vector<4xf32>, memref<2x4xf32>
// CHECK-NEXT: simd.store [[V14]], [[V28]][[[V7]], [[V5]]] : vector<4xf32>, memref<2x4xf32>
// CHECK-NEXT: scf.for [[V29:%.+]] = [[V8]] to [[V9]] step [[V10]] {
// CHECK-NEXT: scf.for [[V30:%.+]] = [[V8]] to [[V11]] step [[V10]] {
// CHECK-NEXT: [[V31:%.+]] = memref.load [[V28]][[[V29]], [[V30]]] : memref<2x4xf32>
// CHECK-NEXT: [[V32:%.+]] = math.floor [[V31]] : f32
// CHECK-NEXT: memref.store [[V32]], [[V2]][[[V29]], [[V30]]] : memref<2x4xf32>
// CHECK: func.return
func.func @scalar_epilogue(%x: memref<2x4xf32>, %w: memref<1x1x4x4xf32>, %y: memref<2x4xf32>) {
  kernel.matmul ins(%x, %w : memref<2x4xf32>, memref<1x1x4x4xf32>) outs(%y : memref<2x4xf32>) attributes {
    schedule = #kernel.schedule<variant = "splat", rows = 2, lanes = 4, packed = true>} {
  ^bb0(%acc: f32):
    %s = math.floor %acc : f32
    kernel.yield %s : f32
  }
  func.return
}

// Threads divide the outermost loop; a channel a lane, taps one after the other.
// CHECK-LABEL: @depthwise(
// CHECK-SAME: [[V0:%.+]]: memref<1x5x8xi8>, [[V1:%.+]]: memref<1x2x3x1x4xi32>, [[V2:%.+]]: memref<1x3x8xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<1x5x8xi8> into memref<1x40xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V13:%.+]]: index):
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V8]] : index
// CHECK-NEXT: [[V15:%.+]], [[V16:%.+]], [[V17:%.+]] = scf.for [[V18:%.+]] = [[V3]] to [[V11]] step [[V5]] iter_args([[V19:%.+]] = [[V7]], [[V20:%.+]] = [[V7]], [[V21:%.+]] = [[V7]]) -> (vector<4xi32>, vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V22:%.+]] = arith.muli [[V18]], [[V9]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V22]], [[V14]] : index
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V3]], [[V13]], [[V18]], [[V3]], [[V3]]] : memref<1x2x3x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V12]][[[V3]], [[V23]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.convert [[V25]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.muli [[V26]], [[V24]] : vector<4xi32>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V19]], [[V27]] : vector<4xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V23]], [[V9]] : index
// CHECK-NEXT: [[V30:%.+]] = simd.load [[V12]][[[V3]], [[V29]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V30]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V32:%.+]] = arith.muli [[V31]], [[V24]] : vector<4xi32>
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V20]], [[V32]] : vector<4xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.addi [[V23]], [[V10]] : index
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V12]][[[V3]], [[V34]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V37:%.+]] = arith.muli [[V36]], [[V24]] : vector<4xi32>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V21]], [[V37]] : vector<4xi32>
// CHECK-NEXT: scf.yield [[V28]], [[V33]], [[V38]] : vector<4xi32>, vector<4xi32>, vector<4xi32>
// CHECK: simd.store [[V15]], [[V2]][[[V3]], [[V3]], [[V14]]] : vector<4xi32>, memref<1x3x8xi32>
// CHECK-NEXT: simd.store [[V16]], [[V2]][[[V3]], [[V5]], [[V14]]] : vector<4xi32>, memref<1x3x8xi32>
// CHECK-NEXT: simd.store [[V17]], [[V2]][[[V3]], [[V4]], [[V14]]] : vector<4xi32>, memref<1x3x8xi32>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @depthwise(%x: memref<1x5x8xi8>, %w: memref<1x2x3x1x4xi32>, %y: memref<1x3x8xi32>) {
  kernel.conv ins(%x, %w : memref<1x5x8xi8>, memref<1x2x3x1x4xi32>) outs(%y : memref<1x3x8xi32>) attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, groups = 8,
    schedule = #kernel.schedule<variant = "depthwise", rows = 3, lanes = 4, threads = true, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
