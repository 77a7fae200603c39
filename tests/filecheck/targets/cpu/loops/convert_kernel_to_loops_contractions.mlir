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
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i8 to vector<2x16xi8>
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
// CHECK-NEXT: [[V23:%.+]] = simd.stack [[V22]] : vector<4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : vector<1x1x4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V21]], [[V9]] : index
// CHECK-NEXT: [[V26:%.+]] = scf.for [[V27:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V28:%.+]] = [[V24]]) -> (vector<1x2x4xi32>) {
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V27]], [[V5]]] {strides = array<i64: 16, 0>} : memref<1x1x2x16xi8> to vector<1x1x16xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V27]], [[V10]] : index
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V25]], [[V30]] : index
// CHECK-NEXT: [[V32:%.+]] = simd.load_group_splat [[V19]][[[V31]]] {strides = array<i64: 8>} : memref<32xi8> to vector<2x16xi8>
// CHECK-NEXT: [[V33:%.+]] = arith.xori [[V32]], [[V12]] : vector<2x16xi8>
// CHECK-NEXT: [[V34:%.+]] = vector.broadcast [[V33]] : vector<2x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V35:%.+]] = vector.broadcast [[V29]] : vector<1x1x16xi8> to vector<1x2x16xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.dot_accumulate [[V28]], [[V34]], [[V35]] {signs = "us"} : vector<1x2x4xi32>, vector<1x2x16xi8>, vector<1x2x16xi8> -> vector<1x2x4xi32>
// CHECK-NEXT: scf.yield [[V36]] : vector<1x2x4xi32>
// CHECK: [[V37:%.+]] = vector.extract [[V26]][0, 0] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V38:%.+]] = simd.load_partial [[V3]][[[V5]]], [[V8]] : memref<3xf32> to vector<4xf32>
// CHECK-NEXT: [[V39:%.+]] = simd.convert [[V37]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V40:%.+]] = arith.mulf [[V39]], [[V38]] : vector<4xf32>
// CHECK-NEXT: [[V41:%.+]] = simd.compare [[V40]], [[V14]] {predicate = "ogt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V42:%.+]] = simd.select [[V41]], [[V40]], [[V14]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V43:%.+]] = simd.compare [[V42]], [[V16]] {predicate = "olt"} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: [[V44:%.+]] = simd.select [[V43]], [[V42]], [[V16]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: [[V45:%.+]] = simd.round_to_int [[V44]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: [[V46:%.+]] = simd.convert [[V45]] {kind = "trunci"} : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V46]], [[V18]][[[V21]], [[V5]]], [[V8]] : vector<4xi8>, memref<4x3xi8>
// CHECK-NEXT: [[V47:%.+]] = vector.extract [[V26]][0, 1] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V21]], [[V7]] : index
// CHECK-NEXT: [[V49:%.+]] = simd.convert [[V47]] {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
// CHECK-NEXT: [[V50:%.+]] = arith.mulf [[V49]], [[V38]] : vector<4xf32>
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

// A short body: all registers of the tile at once.
// CHECK-LABEL: @short_epilogue(
// CHECK-SAME: [[V0:%.+]]: memref<2x4xf32>, [[V1:%.+]]: memref<1x1x4x4xf32>, [[V2:%.+]]: memref<2x4xf32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : f32 to vector<1x2x4xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<2x4xf32> into memref<8xf32>
// CHECK-NEXT: [[V9:%.+]] = scf.for [[V10:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V11:%.+]] = [[V4]]) -> (vector<1x2x4xf32>) {
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V10]], [[V5]]] {strides = array<i64: 4, 0>} : memref<1x1x4x4xf32> to vector<1x1x4xf32>
// CHECK-NEXT: [[V13:%.+]] = memref.load [[V8]][[[V10]]] : memref<8xf32>
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = arith.addi [[V10]], [[V6]] : index
// CHECK-NEXT: [[V16:%.+]] = memref.load [[V8]][[[V15]]] : memref<8xf32>
// CHECK-NEXT: [[V17:%.+]] = vector.broadcast [[V16]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V18:%.+]] = simd.stack [[V14]], [[V17]] : vector<4xf32>, vector<4xf32> to vector<2x4xf32>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : vector<2x4xf32> to vector<1x2x4xf32>
// CHECK-NEXT: [[V20:%.+]] = vector.broadcast [[V12]] : vector<1x1x4xf32> to vector<1x2x4xf32>
// CHECK-NEXT: [[V21:%.+]] = arith.mulf [[V19]], [[V20]] : vector<1x2x4xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.addf [[V11]], [[V21]] : vector<1x2x4xf32>
// CHECK-NEXT: scf.yield [[V22]] : vector<1x2x4xf32>
// CHECK: [[V23:%.+]] = math.floor [[V9]] : vector<1x2x4xf32>
// CHECK-NEXT: [[V24:%.+]] = vector.extract [[V23]][0] : vector<2x4xf32> from vector<1x2x4xf32>
// CHECK-NEXT: simd.store [[V24]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<2x4xf32>, memref<2x4xf32>
// CHECK-NEXT: func.return
func.func @short_epilogue(%x: memref<2x4xf32>, %w: memref<1x1x4x4xf32>, %y: memref<2x4xf32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x4xf32>, memref<1x1x4x4xf32>) outs(%y : memref<2x4xf32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%acc: f32):
    %s = math.floor %acc : f32
    kernel.yield %s : f32
  }
  func.return
}

// A body of more than 40 operations: the sums go through memory, and a loop computes one row of the tile at a time.
// CHECK-LABEL: @long_epilogue(
// CHECK: [[SUMS:%.+]] = scf.for {{.*}} -> (vector<1x2x4xf32>)
// CHECK: [[SCRATCH:%.+]] = memref.alloca() : memref<2x4xf32>
// CHECK-NEXT: simd.store [[SUMS]], [[SCRATCH]][{{.*}}] {strides = array<i64: 4, 4>} : vector<1x2x4xf32>, memref<2x4xf32>
// CHECK-NEXT: scf.for [[ROW:%.+]] = {{.*}} {
// CHECK-NEXT: [[ALONE:%.+]] = simd.load [[SCRATCH]][[[ROW]], {{.*}}] {strides = array<i64: 4, 4>} : memref<2x4xf32> to vector<1x1x4xf32>
// CHECK-NEXT: arith.addf [[ALONE]], [[ALONE]] : vector<1x1x4xf32>
// CHECK-COUNT-40: arith.addf {{.*}} : vector<1x1x4xf32>
// CHECK: simd.store {{.*}}[[[ROW]], {{.*}}] {{.*}} : vector<1x4xf32>, memref<2x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return
func.func @long_epilogue(%x: memref<2x4xf32>, %w: memref<1x1x4x4xf32>, %y: memref<2x4xf32>) {
  kernel.packed_matmul ins(%x, %w : memref<2x4xf32>, memref<1x1x4x4xf32>) outs(%y : memref<2x4xf32>) attributes {
    layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%acc: f32):
    %1 = arith.addf %acc, %acc : f32 %2 = arith.addf %1, %acc : f32 %3 = arith.addf %2, %acc : f32 %4 = arith.addf %3, %acc : f32
    %5 = arith.addf %4, %acc : f32 %6 = arith.addf %5, %acc : f32 %7 = arith.addf %6, %acc : f32 %8 = arith.addf %7, %acc : f32
    %9 = arith.addf %8, %acc : f32 %10 = arith.addf %9, %acc : f32 %11 = arith.addf %10, %acc : f32 %12 = arith.addf %11, %acc : f32
    %13 = arith.addf %12, %acc : f32 %14 = arith.addf %13, %acc : f32 %15 = arith.addf %14, %acc : f32 %16 = arith.addf %15, %acc : f32
    %17 = arith.addf %16, %acc : f32 %18 = arith.addf %17, %acc : f32 %19 = arith.addf %18, %acc : f32 %20 = arith.addf %19, %acc : f32
    %21 = arith.addf %20, %acc : f32 %22 = arith.addf %21, %acc : f32 %23 = arith.addf %22, %acc : f32 %24 = arith.addf %23, %acc : f32
    %25 = arith.addf %24, %acc : f32 %26 = arith.addf %25, %acc : f32 %27 = arith.addf %26, %acc : f32 %28 = arith.addf %27, %acc : f32
    %29 = arith.addf %28, %acc : f32 %30 = arith.addf %29, %acc : f32 %31 = arith.addf %30, %acc : f32 %32 = arith.addf %31, %acc : f32
    %33 = arith.addf %32, %acc : f32 %34 = arith.addf %33, %acc : f32 %35 = arith.addf %34, %acc : f32 %36 = arith.addf %35, %acc : f32
    %37 = arith.addf %36, %acc : f32 %38 = arith.addf %37, %acc : f32 %39 = arith.addf %38, %acc : f32 %40 = arith.addf %39, %acc : f32
    %41 = arith.addf %40, %acc : f32
    kernel.yield %41 : f32
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
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x3x4xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<1x5x8xi8> into memref<1x40xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V13:%.+]]: index):
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V6]] : index
// CHECK-NEXT: [[V15:%.+]] = scf.for [[V16:%.+]] = [[V3]] to [[V9]] step [[V5]] iter_args([[V17:%.+]] = [[V8]]) -> (vector<1x3x4xi32>) {
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V16]], [[V10]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V18]], [[V14]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V1]][[[V3]], [[V13]], [[V16]], [[V3]], [[V3]]] {strides = array<i64: 4, 0>} : memref<1x2x3x1x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V19]], [[V10]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V19]], [[V11]] : index
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V12]][[[V3]], [[V19]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.convert [[V23]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V12]][[[V3]], [[V21]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.convert [[V25]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V12]][[[V3]], [[V22]]] : memref<1x40xi8> to vector<4xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.convert [[V27]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V29:%.+]] = simd.stack [[V24]], [[V26]], [[V28]] : vector<4xi32>, vector<4xi32>, vector<4xi32> to vector<1x3x4xi32>
// CHECK-NEXT: [[V30:%.+]] = vector.broadcast [[V20]] : vector<1x1x4xi32> to vector<1x3x4xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.muli [[V29]], [[V30]] : vector<1x3x4xi32>
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V17]], [[V31]] : vector<1x3x4xi32>
// CHECK-NEXT: scf.yield [[V32]] : vector<1x3x4xi32>
// CHECK: [[V33:%.+]] = vector.extract [[V15]][0] : vector<3x4xi32> from vector<1x3x4xi32>
// CHECK-NEXT: simd.store [[V33]], [[V2]][[[V3]], [[V3]], [[V14]]] {strides = array<i64: 8>} : vector<3x4xi32>, memref<1x3x8xi32>
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
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : f32 to vector<1x1x4xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x2xf32> into memref<2xf32>
// CHECK-NEXT: [[V9:%.+]] = scf.for [[V10:%.+]] = [[V5]] to [[V6]] step [[V7]] iter_args([[V11:%.+]] = [[V4]]) -> (vector<1x1x4xf32>) {
// CHECK-NEXT: [[V12:%.+]] = simd.load [[V1]][[[V5]], [[V5]], [[V10]], [[V5]]] {strides = array<i64: 4, 0>} : memref<1x1x2x4xf32> to vector<1x1x4xf32>
// CHECK-NEXT: [[V13:%.+]] = memref.load [[V8]][[[V10]]] : memref<2xf32>
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = simd.stack [[V14]] : vector<4xf32> to vector<1x4xf32>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : vector<1x4xf32> to vector<1x1x4xf32>
// CHECK-NEXT: [[V17:%.+]] = vector.fma [[V16]], [[V12]], [[V11]] : vector<1x1x4xf32>
// CHECK-NEXT: scf.yield [[V17]] : vector<1x1x4xf32>
// CHECK: [[V18:%.+]] = vector.extract [[V9]][0] : vector<1x4xf32> from vector<1x1x4xf32>
// CHECK-NEXT: simd.store [[V18]], [[V2]][[[V5]], [[V5]]] {strides = array<i64: 4>} : vector<1x4xf32>, memref<1x4xf32>
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
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x2x4xi32>
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<3x2xi32> into memref<6xi32>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V11:%.+]]: index):
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V12:%.+]]: index):
// CHECK-NEXT: [[V13:%.+]] = arith.muli [[V12]], [[V4]] : index
// CHECK-NEXT: [[V14:%.+]] = arith.cmpi slt, [[V12]], [[V5]] : index
// CHECK-NEXT: scf.if [[V14]] {
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V11]], [[V6]] : index
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V13]], [[V4]] : index
// CHECK-NEXT: [[V17:%.+]] = scf.for [[V18:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V19:%.+]] = [[V8]]) -> (vector<1x2x4xi32>) {
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V1]][[[V3]], [[V11]], [[V18]], [[V3]]] {strides = array<i64: 4, 0>} : memref<1x2x2x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V16]], [[V18]] : index
// CHECK-NEXT: [[V22:%.+]] = memref.load [[V10]][[[V21]]] : memref<6xi32>
// CHECK-NEXT: [[V23:%.+]] = vector.broadcast [[V22]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V21]], [[V4]] : index
// CHECK-NEXT: [[V25:%.+]] = memref.load [[V10]][[[V24]]] : memref<6xi32>
// CHECK-NEXT: [[V26:%.+]] = vector.broadcast [[V25]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.stack [[V23]], [[V26]] : vector<4xi32>, vector<4xi32> to vector<2x4xi32>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V27]] : vector<2x4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V29:%.+]] = vector.broadcast [[V20]] : vector<1x1x4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V30:%.+]] = arith.muli [[V28]], [[V29]] : vector<1x2x4xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V19]], [[V30]] : vector<1x2x4xi32>
// CHECK-NEXT: scf.yield [[V31]] : vector<1x2x4xi32>
// CHECK: [[V32:%.+]] = vector.extract [[V17]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V32]], [[V2]][[[V13]], [[V15]]] {strides = array<i64: 8>} : vector<2x4xi32>, memref<3x8xi32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V33:%.+]] = arith.muli [[V11]], [[V6]] : index
// CHECK-NEXT: [[V34:%.+]] = scf.for [[V35:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V36:%.+]] = [[V9]]) -> (vector<1x1x4xi32>) {
// CHECK-NEXT: [[V37:%.+]] = simd.load [[V1]][[[V3]], [[V11]], [[V35]], [[V3]]] {strides = array<i64: 4, 0>} : memref<1x2x2x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V6]], [[V35]] : index
// CHECK-NEXT: [[V39:%.+]] = memref.load [[V10]][[[V38]]] : memref<6xi32>
// CHECK-NEXT: [[V40:%.+]] = vector.broadcast [[V39]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = simd.stack [[V40]] : vector<4xi32> to vector<1x4xi32>
// CHECK-NEXT: [[V42:%.+]] = vector.broadcast [[V41]] : vector<1x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V43:%.+]] = arith.muli [[V42]], [[V37]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V36]], [[V43]] : vector<1x1x4xi32>
// CHECK-NEXT: scf.yield [[V44]] : vector<1x1x4xi32>
// CHECK: [[V45:%.+]] = vector.extract [[V34]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V45]], [[V2]][[[V4]], [[V33]]] {strides = array<i64: 8>} : vector<1x4xi32>, memref<3x8xi32>
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
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<1x1x4xi32>
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<14x1xi32> into memref<14xi32>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V3]], [[V4]], [[V6]], [[V5]], [[V5]]) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
// CHECK-NEXT: ^bb0([[V11:%.+]]: index, [[V12:%.+]]: index):
// CHECK-NEXT: [[V13:%.+]] = arith.muli [[V11]], [[V7]] : index
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V3]], [[V11]], [[V3]], [[V3]]] {strides = array<i64: 4, 0>} : memref<1x2x1x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V15:%.+]] = memref.load [[V10]][[[V12]]] : memref<14xi32>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V15]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V17:%.+]] = simd.stack [[V16]] : vector<4xi32> to vector<1x4xi32>
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V17]] : vector<1x4xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V19:%.+]] = arith.muli [[V18]], [[V14]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V9]], [[V19]] : vector<1x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = vector.extract [[V20]][0] : vector<1x4xi32> from vector<1x1x4xi32>
// CHECK-NEXT: simd.store [[V21]], [[V2]][[[V12]], [[V13]]] {strides = array<i64: 8>} : vector<1x4xi32>, memref<14x8xi32>
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
