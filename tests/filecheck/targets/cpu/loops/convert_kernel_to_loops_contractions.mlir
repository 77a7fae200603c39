// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Two tiles of two rows by a register of four channels, of which three are there; the bias is read once for both rows.
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x8xi8>, [[V1:%.+]]: memref<1x1x2x16xi8>, [[V2:%.+]]: memref<3xi32>, [[V3:%.+]]: memref<3xf32>, [[V4:%.+]]: memref<1x4x3xi8>)
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V13:%.+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = arith.constant 1.270000e+02 : f32
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V17:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64], [2 : i64]] : memref<1x4x8xi8> into memref<4x8xi8>
// CHECK-NEXT: [[V18:%.+]] = memref.collapse_shape [[V4]] {{\[\[}}0 : i64, 1 : i64], [2 : i64]] : memref<1x4x3xi8> into memref<4x3xi8>
// CHECK-NEXT: [[V19:%.+]] = memref.collapse_shape [[V17]] {{\[\[}}0 : i64, 1 : i64]] : memref<4x8xi8> into memref<32xi8>
// CHECK-NEXT: scf.for [[V20:%.+]] = [[V5]] to [[V6]] step [[V7]] {
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V20]], [[V6]] : index
// CHECK-NEXT: [[V22:%.+]] = simd.load_partial [[V2]][[[V5]]], [[V8]] : memref<3xi32> to vector<4xi32>
// CHECK-NEXT: [[V23:%.+]] = arith.muli [[V21]], [[V9]] : index
// CHECK-NEXT: [[V24:%.+]], [[V25:%.+]] = scf.for [[V26:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V27:%.+]] = [[V22]], [[V28:%.+]] = [[V22]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V26]], [[V5]]] : memref<1x1x2x16xi8> to vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V26]], [[V10]] : index
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V23]], [[V30]] : index
// CHECK-NEXT: [[V32:%.+]] = simd.load_group_splat [[V19]][[[V31]]] : memref<32xi8> to vector<16xi8>
// CHECK-NEXT: [[V33:%.+]] = arith.xori [[V32]], [[V12]] : vector<16xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.dot_accumulate [[V27]], [[V33]], [[V29]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V35:%.+]] = arith.addi [[V31]], [[V9]] : index
// CHECK-NEXT: [[V36:%.+]] = simd.load_group_splat [[V19]][[[V35]]] : memref<32xi8> to vector<16xi8>
// CHECK-NEXT: [[V37:%.+]] = arith.xori [[V36]], [[V12]] : vector<16xi8>
// CHECK-NEXT: [[V38:%.+]] = simd.dot_accumulate [[V28]], [[V37]], [[V29]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V34]], [[V38]] : vector<4xi32>, vector<4xi32>
// CHECK: [[V39:%.+]] = simd.load_partial [[V3]][[[V5]]], [[V8]] : memref<3xf32> to vector<4xf32>
// CHECK-NEXT: [[V40:%.+]] = simd.convert [[V24]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V41:%.+]] = arith.mulf [[V40]], [[V39]] : vector<4xf32>
// CHECK-NEXT: [[V42:%.+]] = simd.compare [[V41]], [[V14]] {predicate = "ogt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V43:%.+]] = simd.select [[V42]], [[V41]], [[V14]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V44:%.+]] = simd.compare [[V43]], [[V16]] {predicate = "olt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V45:%.+]] = simd.select [[V44]], [[V43]], [[V16]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V46:%.+]] = simd.round_to_int [[V45]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: [[V47:%.+]] = simd.convert [[V46]] {kind = "trunci"} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V47]], [[V18]][[[V21]], [[V5]]], [[V8]] : vector<4xi8>, memref<4x3xi8>
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V21]], [[V7]] : index
// CHECK-NEXT: [[V49:%.+]] = simd.convert [[V25]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V50:%.+]] = arith.mulf [[V49]], [[V39]] : vector<4xf32>
// CHECK-NEXT: [[V51:%.+]] = simd.compare [[V50]], [[V14]] {predicate = "ogt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V52:%.+]] = simd.select [[V51]], [[V50]], [[V14]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V53:%.+]] = simd.compare [[V52]], [[V16]] {predicate = "olt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V54:%.+]] = simd.select [[V53]], [[V52]], [[V16]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V55:%.+]] = simd.round_to_int [[V54]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: [[V56:%.+]] = simd.convert [[V55]] {kind = "trunci"} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V56]], [[V18]][[[V48]], [[V5]]], [[V8]] : vector<4xi8>, memref<4x3xi8>
// CHECK: func.return
func.func @bytes(
    %x: memref<1x4x8xi8>, %w: memref<1x1x2x16xi8>, %b: memref<3xi32>, %m: memref<3xf32>, %y: memref<1x4x3xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4x8xi8>, memref<1x1x2x16xi8>) epilogue(%b, %m : memref<3xi32>, memref<3xf32>)
      outs(%y : memref<1x4x3xi8>) attributes {
    epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
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
// CHECK-NEXT: [[V8:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x4xf32> into memref<8xf32>
// CHECK-NEXT: [[V9:%.+]], [[V10:%.+]] = scf.for [[V11:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V12:%.+]] = [[V4]], [[V13:%.+]] = [[V4]]) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V11]], [[V5]]] : memref<1x1x4x4xf32> to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = memref.load [[V8]][[[V11]]] : memref<8xf32>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.mulf [[V16]], [[V14]] : vector<4xf32>
// CHECK-NEXT: [[V18:%.+]] = arith.addf [[V12]], [[V17]] : vector<4xf32>
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V11]], [[V6]] : index
// CHECK-NEXT: [[V20:%.+]] = memref.load [[V8]][[[V19]]] : memref<8xf32>
// CHECK-NEXT: [[V21:%.+]] = vector.broadcast [[V20]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.mulf [[V21]], [[V14]] : vector<4xf32>
// CHECK-NEXT: [[V23:%.+]] = arith.addf [[V13]], [[V22]] : vector<4xf32>
// CHECK-NEXT: scf.yield [[V18]], [[V23]] : vector<4xf32>, vector<4xf32>
// CHECK: [[V24:%.+]] = math.floor [[V9]] : vector<4xf32>
// CHECK-NEXT: simd.store [[V24]], [[V2]][[[V5]], [[V5]]] : vector<4xf32>, memref<2x4xf32>
// CHECK-NEXT: [[V25:%.+]] = math.floor [[V10]] : vector<4xf32>
// CHECK-NEXT: simd.store [[V25]], [[V2]][[[V7]], [[V5]]] : vector<4xf32>, memref<2x4xf32>
// CHECK-NEXT: func.return
func.func @scalar_epilogue(%x: memref<2x4xf32>, %w: memref<1x1x4x4xf32>, %y: memref<2x4xf32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x4xf32>, memref<1x1x4x4xf32>) outs(%y : memref<2x4xf32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
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
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<1x5x8xi8> into memref<1x40xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V13:%.+]]: index):
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V6]] : index
// CHECK-NEXT: [[V15:%.+]], [[V16:%.+]], [[V17:%.+]] = scf.for [[V18:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V19:%.+]] = [[V8]], [[V20:%.+]] = [[V8]], [[V21:%.+]] = [[V8]]) -> (vector<4xi32>, vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V22:%.+]] = arith.muli [[V18]], [[V10]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V22]], [[V14]] : index
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V3]], [[V13]], [[V18]], [[V3]], [[V3]]] : memref<1x2x3x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V12]][[[V3]], [[V23]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.convert [[V25]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.muli [[V26]], [[V24]] : vector<4xi32>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V19]], [[V27]] : vector<4xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V23]], [[V10]] : index
// CHECK-NEXT: [[V30:%.+]] = simd.load [[V12]][[[V3]], [[V29]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V30]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V32:%.+]] = arith.muli [[V31]], [[V24]] : vector<4xi32>
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V20]], [[V32]] : vector<4xi32>
// CHECK-NEXT: [[V34:%.+]] = arith.addi [[V23]], [[V11]] : index
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
  kernel.packed_conv ins(%x, %w : memref<1x5x8xi8>, memref<1x2x3x1x4xi32>) outs(%y : memref<1x3x8xi32>) attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, groups = 8,
    kernel_shape = array<i64: 3>, layout = #kernel.layout<variant = "depthwise", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 3, threads = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// A product and its sum are rounded once where the variant says so.
// CHECK-LABEL: @fused(
// CHECK-SAME: [[V0:%.+]]: memref<1x2xf32>, [[V1:%.+]]: memref<1x1x2x4xf32>, [[V2:%.+]]: memref<1x4xf32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x2xf32> into memref<2xf32>
// CHECK-NEXT: [[V9:%.+]] = scf.for [[V10:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V11:%.+]] = [[V4]]) -> (vector<4xf32>) {
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V10]], [[V5]]] : memref<1x1x2x4xf32> to vector<4xf32>
// CHECK-NEXT: [[V13:%.+]] = memref.load [[V8]][[[V10]]] : memref<2xf32>
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = vector.fma [[V14]], [[V12]], [[V11]] : vector<4xf32>
// CHECK-NEXT: scf.yield [[V15]] : vector<4xf32>
// CHECK: simd.store [[V9]], [[V2]][[[V5]], [[V5]]] : vector<4xf32>, memref<1x4xf32>
// CHECK-NEXT: func.return
func.func @fused(%x: memref<1x2xf32>, %w: memref<1x1x2x4xf32>, %y: memref<1x4xf32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x2xf32>, memref<1x1x2x4xf32>) outs(%y : memref<1x4xf32>) attributes {
    layout = #kernel.layout<variant = "splat_fma", vectors = 1, lanes = 4>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return
}

// Threads divide two blocks of channels and two tiles, of which one is smaller, together.
// CHECK-LABEL: @blocks_and_tiles(
// CHECK-SAME: [[V0:%.+]]: memref<3x2xi32>, [[V1:%.+]]: memref<1x2x2x4xi32>, [[V2:%.+]]: memref<3x8xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V9:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<3x2xi32> into memref<6xi32>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V10:%.+]]: index):
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V11:%.+]]: index):
// CHECK-NEXT: [[V12:%.+]] = arith.muli [[V11]], [[V4]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.cmpi slt, [[V11]], [[V5]] : index
// CHECK-NEXT: scf.if [[V13]] {
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V10]], [[V6]] : index
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V4]] : index
// CHECK-NEXT: [[V16:%.+]], [[V17:%.+]] = scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V19:%.+]] = [[V8]], [[V20:%.+]] = [[V8]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V1]][[[V3]], [[V10]], [[V18]], [[V3]]] : memref<1x2x2x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V15]], [[V18]] : index
// CHECK-NEXT: [[V23:%.+]] = memref.load [[V9]][[[V22]]] : memref<6xi32>
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V24]], [[V21]] : vector<4xi32>
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V19]], [[V25]] : vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V22]], [[V4]] : index
// CHECK-NEXT: [[V28:%.+]] = memref.load [[V9]][[[V27]]] : memref<6xi32>
// CHECK-NEXT: [[V29:%.+]] = vector.broadcast [[V28]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V29]], [[V21]] : vector<4xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V20]], [[V30]] : vector<4xi32>
// CHECK-NEXT: scf.yield [[V26]], [[V31]] : vector<4xi32>, vector<4xi32>
// CHECK: simd.store [[V16]], [[V2]][[[V12]], [[V14]]] : vector<4xi32>, memref<3x8xi32>
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V12]], [[V5]] : index
// CHECK-NEXT: simd.store [[V17]], [[V2]][[[V32]], [[V14]]] : vector<4xi32>, memref<3x8xi32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V33:%.+]] = arith.muli [[V10]], [[V6]] : index
// CHECK-NEXT: [[V34:%.+]] = scf.for [[V35:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V36:%.+]] = [[V8]]) -> (vector<4xi32>) {
// CHECK-NEXT: [[V37:%.+]] = simd.load [[V1]][[[V3]], [[V10]], [[V35]], [[V3]]] : memref<1x2x2x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V6]], [[V35]] : index
// CHECK-NEXT: [[V39:%.+]] = memref.load [[V9]][[[V38]]] : memref<6xi32>
// CHECK-NEXT: [[V40:%.+]] = vector.broadcast [[V39]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = arith.muli [[V40]], [[V37]] : vector<4xi32>
// CHECK-NEXT: [[V42:%.+]] = arith.addi [[V36]], [[V41]] : vector<4xi32>
// CHECK-NEXT: scf.yield [[V42]] : vector<4xi32>
// CHECK: simd.store [[V34]], [[V2]][[[V4]], [[V33]]] : vector<4xi32>, memref<3x8xi32>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @blocks_and_tiles(%x: memref<3x2xi32>, %w: memref<1x2x2x4xi32>, %y: memref<3x8xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<3x2xi32>, memref<1x2x2x4xi32>) outs(%y : memref<3x8xi32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2, threads = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// Many positions and small weights: threads divide the positions alone, the second axis.
// CHECK-LABEL: @positions(
// CHECK-SAME: [[V0:%.+]]: memref<14x1xi32>, [[V1:%.+]]: memref<1x2x1x4xi32>, [[V2:%.+]]: memref<14x8xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 14 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<14x1xi32> into memref<14xi32>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V3]], [[V4]], [[V6]], [[V5]], [[V5]]) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
// CHECK-NEXT: ^bb0([[V11:%.+]]: index, [[V12:%.+]]: index):
// CHECK-NEXT: [[V13:%.+]] = arith.muli [[V11]], [[V7]] : index
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V3]], [[V11]], [[V3]], [[V3]]] : memref<1x2x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V15:%.+]] = memref.load [[V10]][[[V12]]] : memref<14xi32>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V17:%.+]] = arith.muli [[V16]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V9]], [[V17]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V18]], [[V2]][[[V12]], [[V13]]] : vector<4xi32>, memref<14x8xi32>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index, index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @positions(%x: memref<14x1xi32>, %w: memref<1x2x1x4xi32>, %y: memref<14x8xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<14x1xi32>, memref<1x2x1x4xi32>) outs(%y : memref<14x8xi32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>, schedule = #kernel.schedule<threads = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
