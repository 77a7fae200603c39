// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Two parts of four channels, each two steps: products of their own, whose sums are added behind their shifts.
// CHECK-LABEL: @parts(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x8xi8>, [[V1:%.+]]: memref<1x1x4x4x4x4xi16>, [[V2:%.+]]: memref<1x2x2x2xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i32 to vector<1x2xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i32 to vector<2x2x2xi32>
// CHECK-NEXT: [[V11:%.+]] = memref.alloca() : memref<4x4x1x12xi16>
// CHECK-NEXT: [[V12:%.+]] = memref.alloca() : memref<4x4x1x2xi32>
// CHECK-NEXT: [[V13:%.+]] = memref.alloca() : memref<4x4x1x2xi32>
// CHECK-NEXT: scf.for [[V14:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V14]], [[V6]] : index
// CHECK-NEXT: [[V16:%.+]] = simd.load [[V0]][[[V3]], [[V3]], [[V3]], [[V15]]] {strides = array<i64: 32, 8>} : memref<1x4x4x8xi8> to vector<4x4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = simd.convert [[V16]] {kind = "extsi"} : vector<4x4x4xi8> to vector<4x4x4xi16>
// CHECK-NEXT: [[V18:%.+]] = vector.extract [[V17]][0] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V19:%.+]] = vector.extract [[V17]][1] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V20:%.+]] = vector.extract [[V17]][2] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V21:%.+]] = vector.extract [[V17]][3] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V18]], [[V20]] : vector<4x4xi16>
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V20]], [[V19]] : vector<4x4xi16>
// CHECK-NEXT: [[V24:%.+]] = arith.subi [[V20]], [[V19]] : vector<4x4xi16>
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V19]], [[V21]] : vector<4x4xi16>
// CHECK-NEXT: [[V26:%.+]] = simd.stack [[V22]], [[V23]], [[V24]], [[V25]] : vector<4x4xi16>, vector<4x4xi16>, vector<4x4xi16>, vector<4x4xi16> to vector<4x4x4xi16>
// CHECK-NEXT: [[V27:%.+]] = simd.transpose [[V26]] : vector<4x4x4xi16> to vector<4x4x4xi16>
// CHECK-NEXT: [[V28:%.+]] = vector.extract [[V27]][0] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V29:%.+]] = vector.extract [[V27]][1] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V30:%.+]] = vector.extract [[V27]][2] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V31:%.+]] = vector.extract [[V27]][3] : vector<4x4xi16> from vector<4x4x4xi16>
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V28]], [[V30]] : vector<4x4xi16>
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V30]], [[V29]] : vector<4x4xi16>
// CHECK-NEXT: [[V34:%.+]] = arith.subi [[V30]], [[V29]] : vector<4x4xi16>
// CHECK-NEXT: [[V35:%.+]] = arith.subi [[V29]], [[V31]] : vector<4x4xi16>
// CHECK-NEXT: [[V36:%.+]] = simd.stack [[V32]], [[V33]], [[V34]], [[V35]] : vector<4x4xi16>, vector<4x4xi16>, vector<4x4xi16>, vector<4x4xi16> to vector<4x4x4xi16>
// CHECK-NEXT: simd.store [[V36]], [[V11]][[[V3]], [[V3]], [[V3]], [[V15]]] {strides = array<i64: 12, 48>} : vector<4x4x4xi16>, memref<4x4x1x12xi16>
// CHECK: scf.for [[V37:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: scf.for [[V38:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: [[V39:%.+]] = scf.for [[V40:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V41:%.+]] = [[V8]]) -> (vector<1x2xi32>) {
// CHECK-NEXT: [[V42:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V37]], [[V38]], [[V40]], [[V3]]] {strides = array<i64: 4>} : memref<1x1x4x4x4x4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.muli [[V40]], [[V4]] : index
// CHECK-NEXT: [[V44:%.+]] = simd.load_group_splat [[V11]][[[V37]], [[V38]], [[V3]], [[V43]]] : memref<4x4x1x12xi16> to vector<4xi16>
// CHECK-NEXT: [[V45:%.+]] = vector.broadcast [[V44]] : vector<4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V46:%.+]] = simd.dot_accumulate [[V41]], [[V45]], [[V42]] : vector<1x2xi32>, vector<1x4xi16>, vector<1x4xi16> -> vector<1x2xi32>
// CHECK-NEXT: scf.yield [[V46]] : vector<1x2xi32>
// CHECK: simd.store [[V39]], [[V12]][[[V37]], [[V38]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<1x2xi32>, memref<4x4x1x2xi32>
// CHECK-NEXT: [[V47:%.+]] = scf.for [[V48:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V49:%.+]] = [[V8]]) -> (vector<1x2xi32>) {
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V48]], [[V4]] : index
// CHECK-NEXT: [[V51:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V37]], [[V38]], [[V50]], [[V3]]] {strides = array<i64: 4>} : memref<1x1x4x4x4x4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V50]], [[V4]] : index
// CHECK-NEXT: [[V53:%.+]] = simd.load_group_splat [[V11]][[[V37]], [[V38]], [[V3]], [[V52]]] : memref<4x4x1x12xi16> to vector<4xi16>
// CHECK-NEXT: [[V54:%.+]] = vector.broadcast [[V53]] : vector<4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V55:%.+]] = simd.dot_accumulate [[V49]], [[V54]], [[V51]] : vector<1x2xi32>, vector<1x4xi16>, vector<1x4xi16> -> vector<1x2xi32>
// CHECK-NEXT: scf.yield [[V55]] : vector<1x2xi32>
// CHECK: simd.store [[V47]], [[V13]][[[V37]], [[V38]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<1x2xi32>, memref<4x4x1x2xi32>
// CHECK: [[V56:%.+]] = simd.load [[V12]][[[V3]], [[V3]], [[V3]], [[V3]]] {strides = array<i64: 8, 2>} : memref<4x4x1x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V57:%.+]] = vector.extract [[V56]][0] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V58:%.+]] = vector.extract [[V56]][1] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V59:%.+]] = vector.extract [[V56]][2] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V60:%.+]] = vector.extract [[V56]][3] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V61:%.+]] = arith.addi [[V58]], [[V59]] : vector<4x2xi32>
// CHECK-NEXT: [[V62:%.+]] = arith.subi [[V58]], [[V59]] : vector<4x2xi32>
// CHECK-NEXT: [[V63:%.+]] = arith.addi [[V57]], [[V61]] : vector<4x2xi32>
// CHECK-NEXT: [[V64:%.+]] = arith.subi [[V62]], [[V60]] : vector<4x2xi32>
// CHECK-NEXT: [[V65:%.+]] = simd.stack [[V63]], [[V64]] : vector<4x2xi32>, vector<4x2xi32> to vector<2x4x2xi32>
// CHECK-NEXT: [[V66:%.+]] = simd.transpose [[V65]] : vector<2x4x2xi32> to vector<4x2x2xi32>
// CHECK-NEXT: [[V67:%.+]] = vector.extract [[V66]][0] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V68:%.+]] = vector.extract [[V66]][1] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V69:%.+]] = vector.extract [[V66]][2] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V70:%.+]] = vector.extract [[V66]][3] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V71:%.+]] = arith.addi [[V68]], [[V69]] : vector<2x2xi32>
// CHECK-NEXT: [[V72:%.+]] = arith.subi [[V68]], [[V69]] : vector<2x2xi32>
// CHECK-NEXT: [[V73:%.+]] = arith.addi [[V67]], [[V71]] : vector<2x2xi32>
// CHECK-NEXT: [[V74:%.+]] = arith.subi [[V72]], [[V70]] : vector<2x2xi32>
// CHECK-NEXT: [[V75:%.+]] = simd.stack [[V73]], [[V74]] : vector<2x2xi32>, vector<2x2xi32> to vector<2x2x2xi32>
// CHECK-NEXT: [[V76:%.+]] = arith.shrsi [[V75]], [[V10]] : vector<2x2x2xi32>
// CHECK-NEXT: [[V77:%.+]] = simd.load [[V13]][[[V3]], [[V3]], [[V3]], [[V3]]] {strides = array<i64: 8, 2>} : memref<4x4x1x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V78:%.+]] = vector.extract [[V77]][0] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V79:%.+]] = vector.extract [[V77]][1] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V80:%.+]] = vector.extract [[V77]][2] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V81:%.+]] = vector.extract [[V77]][3] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V82:%.+]] = arith.addi [[V79]], [[V80]] : vector<4x2xi32>
// CHECK-NEXT: [[V83:%.+]] = arith.subi [[V79]], [[V80]] : vector<4x2xi32>
// CHECK-NEXT: [[V84:%.+]] = arith.addi [[V78]], [[V82]] : vector<4x2xi32>
// CHECK-NEXT: [[V85:%.+]] = arith.subi [[V83]], [[V81]] : vector<4x2xi32>
// CHECK-NEXT: [[V86:%.+]] = simd.stack [[V84]], [[V85]] : vector<4x2xi32>, vector<4x2xi32> to vector<2x4x2xi32>
// CHECK-NEXT: [[V87:%.+]] = simd.transpose [[V86]] : vector<2x4x2xi32> to vector<4x2x2xi32>
// CHECK-NEXT: [[V88:%.+]] = vector.extract [[V87]][0] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V89:%.+]] = vector.extract [[V87]][1] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V90:%.+]] = vector.extract [[V87]][2] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V91:%.+]] = vector.extract [[V87]][3] : vector<2x2xi32> from vector<4x2x2xi32>
// CHECK-NEXT: [[V92:%.+]] = arith.addi [[V89]], [[V90]] : vector<2x2xi32>
// CHECK-NEXT: [[V93:%.+]] = arith.subi [[V89]], [[V90]] : vector<2x2xi32>
// CHECK-NEXT: [[V94:%.+]] = arith.addi [[V88]], [[V92]] : vector<2x2xi32>
// CHECK-NEXT: [[V95:%.+]] = arith.subi [[V93]], [[V91]] : vector<2x2xi32>
// CHECK-NEXT: [[V96:%.+]] = simd.stack [[V94]], [[V95]] : vector<2x2xi32>, vector<2x2xi32> to vector<2x2x2xi32>
// CHECK-NEXT: [[V97:%.+]] = arith.shrsi [[V96]], [[V10]] : vector<2x2x2xi32>
// CHECK-NEXT: [[V98:%.+]] = arith.addi [[V76]], [[V97]] : vector<2x2x2xi32>
// CHECK-NEXT: [[V99:%.+]] = simd.transpose [[V98]] : vector<2x2x2xi32> to vector<2x2x2xi32>
// CHECK-NEXT: [[V100:%.+]] = vector.extract [[V99]][0] : vector<2x2xi32> from vector<2x2x2xi32>
// CHECK-NEXT: [[V101:%.+]] = vector.extract [[V99]][1] : vector<2x2xi32> from vector<2x2x2xi32>
// CHECK-NEXT: [[V102:%.+]] = vector.extract [[V100]][0] : vector<2xi32> from vector<2x2xi32>
// CHECK-NEXT: [[V103:%.+]] = vector.extract [[V100]][1] : vector<2xi32> from vector<2x2xi32>
// CHECK-NEXT: [[V104:%.+]] = simd.stack [[V102]], [[V103]] : vector<2xi32>, vector<2xi32> to vector<1x2x2xi32>
// CHECK-NEXT: [[V105:%.+]] = vector.extract [[V104]][0] : vector<2x2xi32> from vector<1x2x2xi32>
// CHECK-NEXT: simd.store [[V105]], [[V2]][[[V3]], [[V3]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<2x2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: [[V106:%.+]] = vector.extract [[V101]][0] : vector<2xi32> from vector<2x2xi32>
// CHECK-NEXT: [[V107:%.+]] = vector.extract [[V101]][1] : vector<2xi32> from vector<2x2xi32>
// CHECK-NEXT: [[V108:%.+]] = simd.stack [[V106]], [[V107]] : vector<2xi32>, vector<2xi32> to vector<1x2x2xi32>
// CHECK-NEXT: [[V109:%.+]] = vector.extract [[V108]][0] : vector<2x2xi32> from vector<1x2x2xi32>
// CHECK-NEXT: simd.store [[V109]], [[V2]][[[V3]], [[V5]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<2x2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: func.return
func.func @parts(%x: memref<1x4x4x8xi8>, %w: memref<1x1x4x4x4x4xi16>, %y: memref<1x2x2x2xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x4x4x8xi8>, memref<1x1x4x4x4x4xi16>) outs(%y : memref<1x2x2x2xi32>) attributes {parts = 2 : i64,
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
