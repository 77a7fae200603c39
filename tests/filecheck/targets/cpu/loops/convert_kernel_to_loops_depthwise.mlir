// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Three rows of a window in a lane, the third one twice: its weight is 0. The bias, brought into the order of the
// registers, is what the sums of both positions begin with.
// CHECK-LABEL: @whole(
// CHECK-SAME: [[V0:%.+]]: memref<1x3x2x16xi8>, [[V1:%.+]]: memref<1x1x1x1x1x64xi8>, [[V2:%.+]]: memref<16xi32>, [[V3:%.+]]: memref<1x1x2x16xi32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 48 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i8 to vector<16xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x3x2x16xi8> into memref<1x3x32xi8>
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V4]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V5]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V6]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V7]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V2]][[[V4]]] : memref<16xi32> to vector<16xi32>
// CHECK-NEXT: [[V18:%.+]] = vector.shuffle [[V17]], [[V17]] [0, 1, 2, 3] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V19:%.+]] = vector.shuffle [[V17]], [[V17]] [4, 5, 6, 7] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V20:%.+]] = vector.shuffle [[V17]], [[V17]] [8, 9, 10, 11] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V21:%.+]] = vector.shuffle [[V17]], [[V17]] [12, 13, 14, 15] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V22:%.+]] = simd.load [[V12]][[[V4]], [[V4]], [[V4]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V23:%.+]] = arith.xori [[V22]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V12]][[[V4]], [[V10]], [[V4]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V25:%.+]] = arith.xori [[V24]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.load [[V12]][[[V4]], [[V11]], [[V4]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V27:%.+]] = arith.xori [[V26]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.interleave_low [[V23]], [[V25]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V29:%.+]] = simd.interleave_high [[V23]], [[V25]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.interleave_low [[V27]], [[V27]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.interleave_high [[V27]], [[V27]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.convert [[V28]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V33:%.+]] = simd.convert [[V29]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V30]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.convert [[V31]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V36:%.+]] = simd.interleave_low [[V32]], [[V34]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V37:%.+]] = simd.interleave_high [[V32]], [[V34]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V38:%.+]] = simd.convert [[V36]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.convert [[V37]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V40:%.+]] = simd.interleave_low [[V33]], [[V35]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V41:%.+]] = simd.interleave_high [[V33]], [[V35]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V40]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.convert [[V41]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.dot_accumulate [[V18]], [[V38]], [[V13]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V45:%.+]] = simd.dot_accumulate [[V19]], [[V39]], [[V14]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V20]], [[V42]], [[V15]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V47:%.+]] = simd.dot_accumulate [[V21]], [[V43]], [[V16]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V48:%.+]] = simd.load [[V12]][[[V4]], [[V4]], [[V5]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V49:%.+]] = arith.xori [[V48]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V50:%.+]] = simd.load [[V12]][[[V4]], [[V10]], [[V5]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V51:%.+]] = arith.xori [[V50]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V52:%.+]] = simd.load [[V12]][[[V4]], [[V11]], [[V5]]] : memref<1x3x32xi8> to vector<16xi8>
// CHECK-NEXT: [[V53:%.+]] = arith.xori [[V52]], [[V9]] : vector<16xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.interleave_low [[V49]], [[V51]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V55:%.+]] = simd.interleave_high [[V49]], [[V51]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V56:%.+]] = simd.interleave_low [[V53]], [[V53]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V57:%.+]] = simd.interleave_high [[V53]], [[V53]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V58:%.+]] = simd.convert [[V54]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V59:%.+]] = simd.convert [[V55]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V60:%.+]] = simd.convert [[V56]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V61:%.+]] = simd.convert [[V57]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V62:%.+]] = simd.interleave_low [[V58]], [[V60]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V63:%.+]] = simd.interleave_high [[V58]], [[V60]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V64:%.+]] = simd.convert [[V62]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V65:%.+]] = simd.convert [[V63]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V66:%.+]] = simd.interleave_low [[V59]], [[V61]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V67:%.+]] = simd.interleave_high [[V59]], [[V61]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V68:%.+]] = simd.convert [[V66]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.convert [[V67]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.dot_accumulate [[V18]], [[V64]], [[V13]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V71:%.+]] = simd.dot_accumulate [[V19]], [[V65]], [[V14]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V72:%.+]] = simd.dot_accumulate [[V20]], [[V68]], [[V15]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V73:%.+]] = simd.dot_accumulate [[V21]], [[V69]], [[V16]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V74:%.+]] = vector.shuffle [[V44]], [[V45]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V75:%.+]] = vector.shuffle [[V46]], [[V47]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V76:%.+]] = vector.shuffle [[V74]], [[V75]] [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: simd.store [[V76]], [[V3]][[[V4]], [[V4]], [[V4]], [[V4]]] : vector<16xi32>, memref<1x1x2x16xi32>
// CHECK-NEXT: [[V77:%.+]] = vector.shuffle [[V70]], [[V71]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V78:%.+]] = vector.shuffle [[V72]], [[V73]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V79:%.+]] = vector.shuffle [[V77]], [[V78]] [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: simd.store [[V79]], [[V3]][[[V4]], [[V4]], [[V10]], [[V4]]] : vector<16xi32>, memref<1x1x2x16xi32>
// CHECK-NEXT: func.return
func.func @whole(%x: memref<1x3x2x16xi8>, %w: memref<1x1x1x1x1x64xi8>, %b: memref<16xi32>, %y: memref<1x1x2x16xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x3x2x16xi8>, memref<1x1x1x1x1x64xi8>) epilogue(%b : memref<16xi32>)
      outs(%y : memref<1x1x2x16xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64,
    epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>],
    kernel_shape = array<i64: 3, 1>, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%acc: i32, %bias: i32):
    %0 = arith.addi %acc, %bias : i32
    kernel.yield %0 : i32
  }
  func.return
}

// Ten channels of sixteen are there. Threads divide the two rows.
// CHECK-LABEL: @partial(
// CHECK-SAME: [[V0:%.+]]: memref<1x3x1x10xi8>, [[V1:%.+]]: memref<1x1x1x1x1x64xi8>, [[V2:%.+]]: memref<1x2x1x10xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 48 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 10 : index
// CHECK-NEXT: [[V12:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x3x1x10xi8> into memref<1x3x10xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V13:%.+]]: index):
// CHECK-NEXT: [[V14:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V6]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V7]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V8]]] : memref<1x1x1x1x1x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.load_partial [[V12]][[[V3]], [[V13]], [[V3]]], [[V11]] : memref<1x3x10xi8> to vector<16xi8>
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V13]], [[V5]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load_partial [[V12]][[[V3]], [[V19]], [[V3]]], [[V11]] : memref<1x3x10xi8> to vector<16xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.interleave_low [[V18]], [[V20]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.interleave_high [[V18]], [[V20]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.interleave_low [[V20]], [[V20]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.interleave_high [[V20]], [[V20]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V25:%.+]] = simd.convert [[V21]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V26:%.+]] = simd.convert [[V22]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V27:%.+]] = simd.convert [[V23]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V28:%.+]] = simd.convert [[V24]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.interleave_low [[V25]], [[V27]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V30:%.+]] = simd.interleave_high [[V25]], [[V27]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V29]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.convert [[V30]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V33:%.+]] = simd.interleave_low [[V26]], [[V28]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V34:%.+]] = simd.interleave_high [[V26]], [[V28]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.convert [[V33]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V34]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V37:%.+]] = simd.dot_accumulate [[V10]], [[V31]], [[V14]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V38:%.+]] = simd.dot_accumulate [[V10]], [[V32]], [[V15]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V39:%.+]] = simd.dot_accumulate [[V10]], [[V35]], [[V16]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V40:%.+]] = simd.dot_accumulate [[V10]], [[V36]], [[V17]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = simd.convert [[V37]] {kind = "bitcast"} : vector<4xi32> to vector<16xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V38]] {kind = "bitcast"} : vector<4xi32> to vector<16xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.convert [[V39]] {kind = "bitcast"} : vector<4xi32> to vector<16xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V40]] {kind = "bitcast"} : vector<4xi32> to vector<16xi8>
// CHECK-NEXT: [[V45:%.+]] = vector.shuffle [[V41]], [[V42]] [0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V46:%.+]] = vector.shuffle [[V43]], [[V44]] [0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V47:%.+]] = vector.shuffle [[V45]], [[V46]] [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: simd.store_partial [[V47]], [[V2]][[[V3]], [[V13]], [[V3]], [[V3]]], [[V11]] : vector<16xi8>, memref<1x2x1x10xi8>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @partial(%x: memref<1x3x1x10xi8>, %w: memref<1x1x1x1x1x64xi8>, %y: memref<1x2x1x10xi8>) {
  kernel.packed_conv ins(%x, %w : memref<1x3x1x10xi8>, memref<1x1x1x1x1x64xi8>) outs(%y : memref<1x2x1x10xi8>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 10 : i64, input_unsigned,
    kernel_shape = array<i64: 2, 1>, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>, schedule = #kernel.schedule<threads = true>} {
  ^bb0(%acc: i32):
    %0 = arith.trunci %acc : i32 to i8
    kernel.yield %0 : i8
  }
  func.return
}

// 48 channels are a register of 32 and one of 16. An operand that differs from position to position is read in the
// order of the channels, into which the sums are brought before.
// CHECK-LABEL: @pieces(
// CHECK-SAME: [[V0:%.+]]: memref<1x2x1x48xi8>, [[V1:%.+]]: memref<1x1x1x1x1x256xi8>, [[V2:%.+]]: memref<1x1x1x48xi32>, [[V3:%.+]]: memref<1x1x1x48xi32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 192 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 96 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 160 : index
// CHECK-NEXT: [[V17:%.+]] = arith.constant 224 : index
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V8]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V19:%.+]] = arith.constant 36 : index
// CHECK-NEXT: [[V20:%.+]] = arith.constant 40 : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 44 : index
// CHECK-NEXT: [[V22:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x2x1x48xi8> into memref<1x2x48xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V4]]] : memref<1x1x1x1x1x256xi8> to vector<32xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V5]]] : memref<1x1x1x1x1x256xi8> to vector<32xi8>
// CHECK-NEXT: [[V25:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V6]]] : memref<1x1x1x1x1x256xi8> to vector<32xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V7]]] : memref<1x1x1x1x1x256xi8> to vector<32xi8>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V22]][[[V4]], [[V4]], [[V4]]] : memref<1x2x48xi8> to vector<32xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.load [[V22]][[[V4]], [[V10]], [[V4]]] : memref<1x2x48xi8> to vector<32xi8>
// CHECK-NEXT: [[V29:%.+]] = simd.interleave_low [[V27]], [[V28]] {block = 16 : i64} : vector<32xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.interleave_high [[V27]], [[V28]] {block = 16 : i64} : vector<32xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.interleave_low [[V28]], [[V28]] {block = 16 : i64} : vector<32xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.interleave_high [[V28]], [[V28]] {block = 16 : i64} : vector<32xi8>
// CHECK-NEXT: [[V33:%.+]] = simd.convert [[V29]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V30]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.convert [[V31]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V32]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V37:%.+]] = simd.interleave_low [[V33]], [[V35]] {block = 8 : i64} : vector<16xi16>
// CHECK-NEXT: [[V38:%.+]] = simd.interleave_high [[V33]], [[V35]] {block = 8 : i64} : vector<16xi16>
// CHECK-NEXT: [[V39:%.+]] = simd.convert [[V37]] {kind = "bitcast"} : vector<16xi16> to vector<32xi8>
// CHECK-NEXT: [[V40:%.+]] = simd.convert [[V38]] {kind = "bitcast"} : vector<16xi16> to vector<32xi8>
// CHECK-NEXT: [[V41:%.+]] = simd.interleave_low [[V34]], [[V36]] {block = 8 : i64} : vector<16xi16>
// CHECK-NEXT: [[V42:%.+]] = simd.interleave_high [[V34]], [[V36]] {block = 8 : i64} : vector<16xi16>
// CHECK-NEXT: [[V43:%.+]] = simd.convert [[V41]] {kind = "bitcast"} : vector<16xi16> to vector<32xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V42]] {kind = "bitcast"} : vector<16xi16> to vector<32xi8>
// CHECK-NEXT: [[V45:%.+]] = simd.dot_accumulate [[V9]], [[V39]], [[V23]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V9]], [[V40]], [[V24]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V47:%.+]] = simd.dot_accumulate [[V9]], [[V43]], [[V25]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V48:%.+]] = simd.dot_accumulate [[V9]], [[V44]], [[V26]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V49:%.+]] = vector.shuffle [[V45]], [[V46]] [0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15, 4, 5, 6, 7, 12, 13, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-NEXT: [[V50:%.+]] = vector.shuffle [[V47]], [[V48]] [0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15, 4, 5, 6, 7, 12, 13, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.shuffle [[V49]], [[V50]] [0, 1, 2, 3, 4, 5, 6, 7, 40, 41, 42, 43, 44, 45, 46, 47, 16, 17, 18, 19, 20, 21, 22, 23, 56, 57, 58, 59, 60, 61, 62, 63] : vector<32xi32>, vector<32xi32>
// CHECK-NEXT: [[V52:%.+]] = vector.shuffle [[V51]], [[V51]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<32xi32>, vector<32xi32>
// CHECK-NEXT: [[V53:%.+]] = vector.shuffle [[V51]], [[V51]] [8, 9, 10, 11, 12, 13, 14, 15] : vector<32xi32>, vector<32xi32>
// CHECK-NEXT: [[V54:%.+]] = vector.shuffle [[V51]], [[V51]] [16, 17, 18, 19, 20, 21, 22, 23] : vector<32xi32>, vector<32xi32>
// CHECK-NEXT: [[V55:%.+]] = vector.shuffle [[V51]], [[V51]] [24, 25, 26, 27, 28, 29, 30, 31] : vector<32xi32>, vector<32xi32>
// CHECK-NEXT: [[V56:%.+]] = simd.stack [[V52]], [[V53]], [[V54]], [[V55]] : vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32> to vector<4x1x8xi32>
// CHECK-NEXT: [[V57:%.+]] = simd.load [[V2]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 8, 48>} : memref<1x1x1x48xi32> to vector<4x1x8xi32>
// CHECK-NEXT: [[V58:%.+]] = arith.muli [[V56]], [[V57]] : vector<4x1x8xi32>
// CHECK-NEXT: [[V59:%.+]] = vector.extract [[V58]][0] : vector<1x8xi32> from vector<4x1x8xi32>
// CHECK-NEXT: [[V60:%.+]] = vector.extract [[V58]][1] : vector<1x8xi32> from vector<4x1x8xi32>
// CHECK-NEXT: [[V61:%.+]] = vector.extract [[V58]][2] : vector<1x8xi32> from vector<4x1x8xi32>
// CHECK-NEXT: [[V62:%.+]] = vector.extract [[V58]][3] : vector<1x8xi32> from vector<4x1x8xi32>
// CHECK-NEXT: simd.store [[V59]], [[V3]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 48>} : vector<1x8xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V60]], [[V3]][[[V4]], [[V4]], [[V4]], [[V11]]] {strides = array<i64: 48>} : vector<1x8xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V61]], [[V3]][[[V4]], [[V4]], [[V4]], [[V12]]] {strides = array<i64: 48>} : vector<1x8xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V62]], [[V3]][[[V4]], [[V4]], [[V4]], [[V13]]] {strides = array<i64: 48>} : vector<1x8xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: [[V63:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V14]]] : memref<1x1x1x1x1x256xi8> to vector<16xi8>
// CHECK-NEXT: [[V64:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V15]]] : memref<1x1x1x1x1x256xi8> to vector<16xi8>
// CHECK-NEXT: [[V65:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V16]]] : memref<1x1x1x1x1x256xi8> to vector<16xi8>
// CHECK-NEXT: [[V66:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V4]], [[V4]], [[V4]], [[V17]]] : memref<1x1x1x1x1x256xi8> to vector<16xi8>
// CHECK-NEXT: [[V67:%.+]] = simd.load [[V22]][[[V4]], [[V4]], [[V14]]] : memref<1x2x48xi8> to vector<16xi8>
// CHECK-NEXT: [[V68:%.+]] = simd.load [[V22]][[[V4]], [[V10]], [[V14]]] : memref<1x2x48xi8> to vector<16xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.interleave_low [[V67]], [[V68]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.interleave_high [[V67]], [[V68]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V71:%.+]] = simd.interleave_low [[V68]], [[V68]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V72:%.+]] = simd.interleave_high [[V68]], [[V68]] {block = 16 : i64} : vector<16xi8>
// CHECK-NEXT: [[V73:%.+]] = simd.convert [[V69]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V74:%.+]] = simd.convert [[V70]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V75:%.+]] = simd.convert [[V71]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V76:%.+]] = simd.convert [[V72]] {kind = "bitcast"} : vector<16xi8> to vector<8xi16>
// CHECK-NEXT: [[V77:%.+]] = simd.interleave_low [[V73]], [[V75]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V78:%.+]] = simd.interleave_high [[V73]], [[V75]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V79:%.+]] = simd.convert [[V77]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V80:%.+]] = simd.convert [[V78]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V81:%.+]] = simd.interleave_low [[V74]], [[V76]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V82:%.+]] = simd.interleave_high [[V74]], [[V76]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V83:%.+]] = simd.convert [[V81]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V84:%.+]] = simd.convert [[V82]] {kind = "bitcast"} : vector<8xi16> to vector<16xi8>
// CHECK-NEXT: [[V85:%.+]] = simd.dot_accumulate [[V18]], [[V79]], [[V63]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V86:%.+]] = simd.dot_accumulate [[V18]], [[V80]], [[V64]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V87:%.+]] = simd.dot_accumulate [[V18]], [[V83]], [[V65]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V88:%.+]] = simd.dot_accumulate [[V18]], [[V84]], [[V66]] {signs = "us"} : vector<4xi32>, vector<16xi8>, vector<16xi8> -> vector<4xi32>
// CHECK-NEXT: [[V89:%.+]] = vector.shuffle [[V85]], [[V86]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V90:%.+]] = vector.shuffle [[V87]], [[V88]] [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: [[V91:%.+]] = vector.shuffle [[V89]], [[V90]] [0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V92:%.+]] = vector.shuffle [[V91]], [[V91]] [0, 1, 2, 3] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V93:%.+]] = vector.shuffle [[V91]], [[V91]] [4, 5, 6, 7] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V94:%.+]] = vector.shuffle [[V91]], [[V91]] [8, 9, 10, 11] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V95:%.+]] = vector.shuffle [[V91]], [[V91]] [12, 13, 14, 15] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V96:%.+]] = simd.stack [[V92]], [[V93]], [[V94]], [[V95]] : vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32> to vector<4x1x4xi32>
// CHECK-NEXT: [[V97:%.+]] = simd.load [[V2]][[[V4]], [[V4]], [[V4]], [[V14]]] {strides = array<i64: 4, 48>} : memref<1x1x1x48xi32> to vector<4x1x4xi32>
// CHECK-NEXT: [[V98:%.+]] = arith.muli [[V96]], [[V97]] : vector<4x1x4xi32>
// CHECK-NEXT: [[V99:%.+]] = vector.extract [[V98]][0] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V100:%.+]] = vector.extract [[V98]][1] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V101:%.+]] = vector.extract [[V98]][2] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V102:%.+]] = vector.extract [[V98]][3] : vector<1x4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: simd.store [[V99]], [[V3]][[[V4]], [[V4]], [[V4]], [[V14]]] {strides = array<i64: 48>} : vector<1x4xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V100]], [[V3]][[[V4]], [[V4]], [[V4]], [[V19]]] {strides = array<i64: 48>} : vector<1x4xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V101]], [[V3]][[[V4]], [[V4]], [[V4]], [[V20]]] {strides = array<i64: 48>} : vector<1x4xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: simd.store [[V102]], [[V3]][[[V4]], [[V4]], [[V4]], [[V21]]] {strides = array<i64: 48>} : vector<1x4xi32>, memref<1x1x1x48xi32>
// CHECK-NEXT: func.return
func.func @pieces(%x: memref<1x2x1x48xi8>, %w: memref<1x1x1x1x1x256xi8>, %c: memref<1x1x1x48xi32>, %y: memref<1x1x1x48xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x2x1x48xi8>, memref<1x1x1x1x1x256xi8>) epilogue(%c : memref<1x1x1x48xi32>)
      outs(%y : memref<1x1x1x48xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 48 : i64, input_unsigned,
    epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
    kernel_shape = array<i64: 2, 1>, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 16>} {
  ^bb0(%acc: i32, %other: i32):
    %0 = arith.muli %acc, %other : i32
    kernel.yield %0 : i32
  }
  func.return
}


// Two rows of a window in a lane, widened to 16 bits, then the third one twice: its weight is 0. Of twelve channels of
// sixteen, registers of half the size have eight, and four of the next eight are there.
// CHECK-LABEL: @pairs(
// CHECK-SAME: [[V0:%.+]]: memref<1x3x2x12xi8>, [[V1:%.+]]: memref<1x1x2x1x1x32xi16>, [[V2:%.+]]: memref<1x1x2x12xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 20 : index
// CHECK-NEXT: [[V14:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64], [2 : i64, 3 : i64]] : memref<1x3x2x12xi8> into memref<1x3x24xi8>
// CHECK-NEXT: [[V15:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V4]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V5]], [[V3]], [[V3]], [[V3]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V18:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V5]], [[V3]], [[V3]], [[V4]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V14]][[[V3]], [[V3]], [[V3]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.convert [[V19]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V14]][[[V3]], [[V5]], [[V3]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.convert [[V21]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V23:%.+]] = simd.interleave_low [[V20]], [[V22]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V24:%.+]] = simd.interleave_high [[V20]], [[V22]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V25:%.+]] = simd.dot_accumulate [[V7]], [[V23]], [[V15]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V26:%.+]] = simd.dot_accumulate [[V7]], [[V24]], [[V16]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V14]][[[V3]], [[V8]], [[V3]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.convert [[V27]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.interleave_low [[V28]], [[V28]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V30:%.+]] = simd.interleave_high [[V28]], [[V28]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.dot_accumulate [[V25]], [[V29]], [[V17]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V32:%.+]] = simd.dot_accumulate [[V26]], [[V30]], [[V18]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V33:%.+]] = simd.load [[V14]][[[V3]], [[V3]], [[V9]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V33]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V14]][[[V3]], [[V5]], [[V9]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V37:%.+]] = simd.interleave_low [[V34]], [[V36]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V38:%.+]] = simd.interleave_high [[V34]], [[V36]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V39:%.+]] = simd.dot_accumulate [[V7]], [[V37]], [[V15]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V40:%.+]] = simd.dot_accumulate [[V7]], [[V38]], [[V16]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V14]][[[V3]], [[V8]], [[V9]]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V43:%.+]] = simd.interleave_low [[V42]], [[V42]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V44:%.+]] = simd.interleave_high [[V42]], [[V42]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V45:%.+]] = simd.dot_accumulate [[V39]], [[V43]], [[V17]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V40]], [[V44]], [[V18]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V47:%.+]] = vector.shuffle [[V31]], [[V32]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: simd.store [[V47]], [[V2]][[[V3]], [[V3]], [[V3]], [[V3]]] : vector<8xi32>, memref<1x1x2x12xi32>
// CHECK-NEXT: [[V48:%.+]] = vector.shuffle [[V45]], [[V46]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: simd.store [[V48]], [[V2]][[[V3]], [[V3]], [[V5]], [[V3]]] : vector<8xi32>, memref<1x1x2x12xi32>
// CHECK-NEXT: [[V49:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V10]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V50:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V3]], [[V3]], [[V3]], [[V11]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V51:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V5]], [[V3]], [[V3]], [[V10]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V52:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V5]], [[V3]], [[V3]], [[V11]]] : memref<1x1x2x1x1x32xi16> to vector<8xi16>
// CHECK-NEXT: [[V53:%.+]] = simd.load_partial [[V14]][[[V3]], [[V3]], [[V10]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.convert [[V53]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V55:%.+]] = simd.load_partial [[V14]][[[V3]], [[V5]], [[V10]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V56:%.+]] = simd.convert [[V55]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V57:%.+]] = simd.interleave_low [[V54]], [[V56]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V58:%.+]] = simd.interleave_high [[V54]], [[V56]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V59:%.+]] = simd.dot_accumulate [[V7]], [[V57]], [[V49]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V60:%.+]] = simd.dot_accumulate [[V7]], [[V58]], [[V50]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V61:%.+]] = simd.load_partial [[V14]][[[V3]], [[V8]], [[V10]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V62:%.+]] = simd.convert [[V61]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V63:%.+]] = simd.interleave_low [[V62]], [[V62]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V64:%.+]] = simd.interleave_high [[V62]], [[V62]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V65:%.+]] = simd.dot_accumulate [[V59]], [[V63]], [[V51]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V66:%.+]] = simd.dot_accumulate [[V60]], [[V64]], [[V52]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V67:%.+]] = simd.load_partial [[V14]][[[V3]], [[V3]], [[V13]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V68:%.+]] = simd.convert [[V67]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V69:%.+]] = simd.load_partial [[V14]][[[V3]], [[V5]], [[V13]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.convert [[V69]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V71:%.+]] = simd.interleave_low [[V68]], [[V70]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V72:%.+]] = simd.interleave_high [[V68]], [[V70]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V73:%.+]] = simd.dot_accumulate [[V7]], [[V71]], [[V49]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V74:%.+]] = simd.dot_accumulate [[V7]], [[V72]], [[V50]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V75:%.+]] = simd.load_partial [[V14]][[[V3]], [[V8]], [[V13]]], [[V12]] : memref<1x3x24xi8> to vector<8xi8>
// CHECK-NEXT: [[V76:%.+]] = simd.convert [[V75]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V77:%.+]] = simd.interleave_low [[V76]], [[V76]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V78:%.+]] = simd.interleave_high [[V76]], [[V76]] {block = 8 : i64} : vector<8xi16>
// CHECK-NEXT: [[V79:%.+]] = simd.dot_accumulate [[V73]], [[V77]], [[V51]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V80:%.+]] = simd.dot_accumulate [[V74]], [[V78]], [[V52]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V81:%.+]] = vector.shuffle [[V65]], [[V66]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V81]], [[V2]][[[V3]], [[V3]], [[V3]], [[V10]]], [[V12]] : vector<8xi32>, memref<1x1x2x12xi32>
// CHECK-NEXT: [[V82:%.+]] = vector.shuffle [[V79]], [[V80]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xi32>, vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V82]], [[V2]][[[V3]], [[V3]], [[V5]], [[V10]]], [[V12]] : vector<8xi32>, memref<1x1x2x12xi32>
// CHECK-NEXT: func.return
func.func @pairs(%x: memref<1x3x2x12xi8>, %w: memref<1x1x2x1x1x32xi16>, %y: memref<1x1x2x12xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x3x2x12xi8>, memref<1x1x2x1x1x32xi16>) outs(%y : memref<1x1x2x12xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 12 : i64, input_unsigned,
    kernel_shape = array<i64: 3, 1>, layout = #kernel.layout<variant = "depthwise_pairs", vectors = 2, lanes = 8>, schedule = #kernel.schedule<rows = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
