// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Four registers are narrowed to the places of a table, which is looked up once; each goes on with its part of that.
// CHECK-LABEL: @inside(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x64xi8>, [[V2:%.+]]: memref<1x16xi32>, [[V3:%.+]]: memref<256xi8>, [[V4:%.+]]: memref<256xi8>, [[V5:%.+]]: memref<1x16xi32>)
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : i32 to vector<4x1x4xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i16 to vector<16xi16>
// CHECK-NEXT: [[V13:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : index to vector<16xindex>
// CHECK-NEXT: [[V15:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V17:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V18:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V1]][[[V8]], [[V8]], [[V8]], [[V8]]] {strides = array<i64: 16, 0>} : memref<1x1x1x64xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.load_group_splat [[V18]][[[V8]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V21:%.+]] = arith.xori [[V20]], [[V10]] : vector<1x16xi8>
// CHECK-NEXT: [[V22:%.+]] = vector.broadcast [[V21]] : vector<1x16xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V23:%.+]] = simd.dot_accumulate [[V7]], [[V22]], [[V19]] {signs = "us"} : vector<4x1x4xi32>, vector<4x1x16xi8>, vector<4x1x16xi8> -> vector<4x1x4xi32>
// CHECK-NEXT: [[V24:%.+]] = vector.extract [[V23]][0, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V25:%.+]] = vector.extract [[V23]][1, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V26:%.+]] = vector.extract [[V23]][2, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V27:%.+]] = vector.extract [[V23]][3, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V28:%.+]] = simd.narrow [[V24]], [[V25]], [[V26]], [[V27]] : vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32> to vector<16xi16>
// CHECK-NEXT: [[V29:%.+]] = arith.shrsi [[V28]], [[V12]] : vector<16xi16>
// CHECK-NEXT: [[V30:%.+]] = simd.convert [[V29]] {kind = "trunci"} : vector<16xi16> to vector<16xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V30]] {kind = "index_cast"} : vector<16xi8> to vector<16xindex>
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V31]], [[V14]] : vector<16xindex>
// CHECK-NEXT: [[V33:%.+]] = simd.gather [[V3]][[[V32]]] : memref<256xi8>, vector<16xindex> to vector<16xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V28]] {kind = "trunci"} : vector<16xi16> to vector<16xi8>
// CHECK-NEXT: [[V35:%.+]] = simd.gather [[V4]][[[V32]]] : memref<256xi8>, vector<16xindex> to vector<16xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.compare [[V34]], [[V35]] {predicate = "ugt"} : vector<16xi8> -> vector<16xi1>
// CHECK-NEXT: [[V37:%.+]] = simd.convert [[V36]] {kind = "extsi"} : vector<16xi1> to vector<16xi8>
// CHECK-NEXT: [[V38:%.+]] = arith.subi [[V33]], [[V37]] : vector<16xi8>
// CHECK-NEXT: [[V39:%.+]] = vector.shuffle [[V38]], [[V38]] [0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V40:%.+]] = simd.convert [[V39]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V2]][[[V8]], [[V8]]] : memref<1x16xi32> to vector<4xi32>
// CHECK-NEXT: [[V42:%.+]] = arith.muli [[V40]], [[V41]] : vector<4xi32>
// CHECK-NEXT: [[V43:%.+]] = vector.shuffle [[V38]], [[V38]] [4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V43]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V45:%.+]] = simd.load [[V2]][[[V8]], [[V15]]] : memref<1x16xi32> to vector<4xi32>
// CHECK-NEXT: [[V46:%.+]] = arith.muli [[V44]], [[V45]] : vector<4xi32>
// CHECK-NEXT: [[V47:%.+]] = vector.shuffle [[V38]], [[V38]] [8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V48:%.+]] = simd.convert [[V47]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V49:%.+]] = simd.load [[V2]][[[V8]], [[V16]]] : memref<1x16xi32> to vector<4xi32>
// CHECK-NEXT: [[V50:%.+]] = arith.muli [[V48]], [[V49]] : vector<4xi32>
// CHECK-NEXT: [[V51:%.+]] = vector.shuffle [[V38]], [[V38]] [12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V52:%.+]] = simd.convert [[V51]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V53:%.+]] = simd.load [[V2]][[[V8]], [[V17]]] : memref<1x16xi32> to vector<4xi32>
// CHECK-NEXT: [[V54:%.+]] = arith.muli [[V52]], [[V53]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V42]], [[V5]][[[V8]], [[V8]]] : vector<4xi32>, memref<1x16xi32>
// CHECK-NEXT: simd.store [[V46]], [[V5]][[[V8]], [[V15]]] : vector<4xi32>, memref<1x16xi32>
// CHECK-NEXT: simd.store [[V50]], [[V5]][[[V8]], [[V16]]] : vector<4xi32>, memref<1x16xi32>
// CHECK-NEXT: simd.store [[V54]], [[V5]][[[V8]], [[V17]]] : vector<4xi32>, memref<1x16xi32>
// CHECK-NEXT: func.return
func.func @inside(%x: memref<1x4xi8>, %w: memref<1x1x1x64xi8>, %z: memref<1x16xi32>, %table: memref<256xi8>,
                  %limits: memref<256xi8>, %y: memref<1x16xi32>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x64xi8>) epilogue(%z : memref<1x16xi32>)
      outs(%y : memref<1x16xi32>) attributes {
    epilogue_maps = [#all],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 4, lanes = 4>} {
  ^bb0(%acc: i32, %other: i32):
    %least = arith.constant -32768 : i32
    %most = arith.constant 32767 : i32
    %s = arith.maxsi %acc, %least : i32
    %t = arith.minsi %s, %most : i32
    %n = arith.trunci %t : i32 to i16
    %lower = arith.trunci %n : i16 to i8
    %c8 = arith.constant 8 : i16
    %h = arith.shrsi %n, %c8 : i16
    %upper = arith.trunci %h : i16 to i8
    %i = arith.index_cast %upper : i8 to index
    %c = arith.constant -128 : index
    %j = arith.subi %i, %c : index
    %e = memref.load %table[%j] : memref<256xi8>
    %l = memref.load %limits[%j] : memref<256xi8>
    %is = arith.cmpi ugt, %lower, %l : i8
    %less = arith.extsi %is : i1 to i8
    %r = arith.subi %e, %less : i8
    %wide = arith.extsi %r : i8 to i32
    %p = arith.muli %wide, %other : i32
    kernel.yield %p : i32
  }
  func.return
}

// Ten channels are two registers and a part of one. A narrow operand is read for both, and what is made of the table
// and of that is stored for both; a number that is the same for all channels keeps the last step apart.
// CHECK-LABEL: @operand(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x48xi8>, [[V2:%.+]]: memref<1x10xi8>, [[V3:%.+]]: memref<256xi8>, [[V4:%.+]]: memref<1x10xi8>)
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i32 to vector<3x1x4xi32>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : index to vector<8xindex>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V10]] : index to vector<4xindex>
// CHECK-NEXT: [[V15:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V1]][[[V7]], [[V7]], [[V7]], [[V7]]] {strides = array<i64: 16, 0>} : memref<1x1x1x48xi8> to vector<3x1x16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.load_group_splat [[V15]][[[V7]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.xori [[V17]], [[V9]] : vector<1x16xi8>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : vector<1x16xi8> to vector<3x1x16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.dot_accumulate [[V6]], [[V19]], [[V16]] {signs = "us"} : vector<3x1x4xi32>, vector<3x1x16xi8>, vector<3x1x16xi8> -> vector<3x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = vector.extract [[V20]][0, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V22:%.+]] = vector.extract [[V20]][1, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V23:%.+]] = vector.extract [[V20]][2, 0] : vector<4xi32> from vector<3x1x4xi32>
// CHECK-NEXT: [[V24:%.+]] = simd.load [[V2]][[[V7]], [[V7]]] : memref<1x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V25:%.+]] = simd.convert [[V24]] {kind = "index_cast"} : vector<8xi8> to vector<8xindex>
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V25]], [[V11]] : vector<8xindex>
// CHECK-NEXT: [[V27:%.+]] = simd.gather [[V3]][[[V26]]] : memref<256xi8>, vector<8xindex> to vector<8xi8>
// CHECK-NEXT: [[V28:%.+]] = simd.narrow [[V21]], [[V22]] : vector<4xi32>, vector<4xi32> to vector<8xi8>
// CHECK-NEXT: [[V29:%.+]] = arith.maxsi [[V27]], [[V28]] : vector<8xi8>
// CHECK-NEXT: simd.store [[V29]], [[V4]][[[V7]], [[V7]]] : vector<8xi8>, memref<1x10xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.load_partial [[V2]][[[V7]], [[V12]]], [[V13]] : memref<1x10xi8> to vector<4xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V30]] {kind = "index_cast"} : vector<4xi8> to vector<4xindex>
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V31]], [[V14]] : vector<4xindex>
// CHECK-NEXT: [[V33:%.+]] = simd.gather [[V3]][[[V32]]] : memref<256xi8>, vector<4xindex> to vector<4xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.narrow [[V23]] : vector<4xi32> to vector<4xi8>
// CHECK-NEXT: [[V35:%.+]] = arith.maxsi [[V33]], [[V34]] : vector<4xi8>
// CHECK-NEXT: simd.store_partial [[V35]], [[V4]][[[V7]], [[V12]]], [[V13]] : vector<4xi8>, memref<1x10xi8>
// CHECK-NEXT: func.return
func.func @operand(%x: memref<1x4xi8>, %w: memref<1x1x1x48xi8>, %z: memref<1x10xi8>, %table: memref<256xi8>,
                   %y: memref<1x10xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x48xi8>) epilogue(%z : memref<1x10xi8>)
      outs(%y : memref<1x10xi8>) attributes {
    epilogue_maps = [#all],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 3, lanes = 4>} {
  ^bb0(%acc: i32, %other: i8):
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    %s = arith.maxsi %acc, %least : i32
    %t = arith.minsi %s, %most : i32
    %n = arith.trunci %t : i32 to i8
    %i = arith.index_cast %other : i8 to index
    %c = arith.constant -128 : index
    %j = arith.subi %i, %c : index
    %e = memref.load %table[%j] : memref<256xi8>
    %r = arith.maxsi %e, %n : i8
    kernel.yield %r : i8
  }
  func.return
}

// CHECK-LABEL: @apart(
// CHECK-SAME: [[V0:%.+]]: memref<1x4xi8>, [[V1:%.+]]: memref<1x1x1x64xi8>, [[V2:%.+]]: memref<1xi8>, [[V3:%.+]]: memref<256xi8>, [[V4:%.+]]: memref<1x16xi8>)
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i32 to vector<4x1x4xi32>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i8 to vector<1x16xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : index to vector<16xindex>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V15:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x4xi8> into memref<4xi8>
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V1]][[[V7]], [[V7]], [[V7]], [[V7]]] {strides = array<i64: 16, 0>} : memref<1x1x1x64xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.load_group_splat [[V15]][[[V7]]] {strides = array<i64: 4>} : memref<4xi8> to vector<1x16xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.xori [[V17]], [[V9]] : vector<1x16xi8>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : vector<1x16xi8> to vector<4x1x16xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.dot_accumulate [[V6]], [[V19]], [[V16]] {signs = "us"} : vector<4x1x4xi32>, vector<4x1x16xi8>, vector<4x1x16xi8> -> vector<4x1x4xi32>
// CHECK-NEXT: [[V21:%.+]] = vector.extract [[V20]][0, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V22:%.+]] = vector.extract [[V20]][1, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V23:%.+]] = vector.extract [[V20]][2, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V24:%.+]] = vector.extract [[V20]][3, 0] : vector<4xi32> from vector<4x1x4xi32>
// CHECK-NEXT: [[V25:%.+]] = simd.narrow [[V21]], [[V22]], [[V23]], [[V24]] : vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32> to vector<16xi8>
// CHECK-NEXT: [[V26:%.+]] = simd.convert [[V25]] {kind = "index_cast"} : vector<16xi8> to vector<16xindex>
// CHECK-NEXT: [[V27:%.+]] = arith.subi [[V26]], [[V11]] : vector<16xindex>
// CHECK-NEXT: [[V28:%.+]] = simd.gather [[V3]][[[V27]]] : memref<256xi8>, vector<16xindex> to vector<16xi8>
// CHECK-NEXT: [[V29:%.+]] = vector.shuffle [[V28]], [[V28]] [0, 1, 2, 3] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V30:%.+]] = memref.load [[V2]][[[V7]]] : memref<1xi8>
// CHECK-NEXT: [[V31:%.+]] = vector.broadcast [[V30]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V32:%.+]] = arith.maxsi [[V29]], [[V31]] : vector<4xi8>
// CHECK-NEXT: [[V33:%.+]] = vector.shuffle [[V28]], [[V28]] [4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V34:%.+]] = memref.load [[V2]][[[V7]]] : memref<1xi8>
// CHECK-NEXT: [[V35:%.+]] = vector.broadcast [[V34]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V36:%.+]] = arith.maxsi [[V33]], [[V35]] : vector<4xi8>
// CHECK-NEXT: [[V37:%.+]] = vector.shuffle [[V28]], [[V28]] [8, 9, 10, 11] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V38:%.+]] = memref.load [[V2]][[[V7]]] : memref<1xi8>
// CHECK-NEXT: [[V39:%.+]] = vector.broadcast [[V38]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V40:%.+]] = arith.maxsi [[V37]], [[V39]] : vector<4xi8>
// CHECK-NEXT: [[V41:%.+]] = vector.shuffle [[V28]], [[V28]] [12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT: [[V42:%.+]] = memref.load [[V2]][[[V7]]] : memref<1xi8>
// CHECK-NEXT: [[V43:%.+]] = vector.broadcast [[V42]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V44:%.+]] = arith.maxsi [[V41]], [[V43]] : vector<4xi8>
// CHECK-NEXT: simd.store [[V32]], [[V4]][[[V7]], [[V7]]] : vector<4xi8>, memref<1x16xi8>
// CHECK-NEXT: simd.store [[V36]], [[V4]][[[V7]], [[V12]]] : vector<4xi8>, memref<1x16xi8>
// CHECK-NEXT: simd.store [[V40]], [[V4]][[[V7]], [[V13]]] : vector<4xi8>, memref<1x16xi8>
// CHECK-NEXT: simd.store [[V44]], [[V4]][[[V7]], [[V14]]] : vector<4xi8>, memref<1x16xi8>
// CHECK-NEXT: func.return
func.func @apart(%x: memref<1x4xi8>, %w: memref<1x1x1x64xi8>, %z: memref<1xi8>, %table: memref<256xi8>,
                 %y: memref<1x16xi8>) {
  kernel.packed_matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x64xi8>) epilogue(%z : memref<1xi8>)
      outs(%y : memref<1x16xi8>) attributes {
    epilogue_maps = [#row],
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 4, lanes = 4>} {
  ^bb0(%acc: i32, %other: i8):
    %least = arith.constant -128 : i32
    %most = arith.constant 127 : i32
    %s = arith.maxsi %acc, %least : i32
    %t = arith.minsi %s, %most : i32
    %n = arith.trunci %t : i32 to i8
    %i = arith.index_cast %n : i8 to index
    %c = arith.constant -128 : index
    %j = arith.subi %i, %c : index
    %e = memref.load %table[%j] : memref<256xi8>
    %r = arith.maxsi %e, %other : i8
    kernel.yield %r : i8
  }
  func.return
}
