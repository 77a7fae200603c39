// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Five rows of four are two tiles: the second begins in row 1, and stores its last row only. A product with the inverse of
// 9 modulo 2^32 and a shift by 6 make sums of 576 times as much.
// CHECK-LABEL: @odd(
// CHECK-SAME: [[V0:%.+]]: memref<1x7x6x4xi8>, [[V1:%.+]]: memref<1x1x6x6x2x4xi16>, [[V2:%.+]]: memref<1x5x4x2xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 2 : i16
// CHECK-NEXT: [[V8:%.+]] = vector.broadcast [[V7]] : i16 to vector<6x4xi16>
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<6x4xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i32 to vector<1x2x2xi32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<6x2xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V17:%.+]] = vector.broadcast [[V16]] : i32 to vector<6x2xi32>
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V14]] : i32 to vector<4x2xi32>
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V16]] : i32 to vector<4x2xi32>
// CHECK-NEXT: [[V20:%.+]] = arith.constant 954437177 : i32
// CHECK-NEXT: [[V21:%.+]] = vector.broadcast [[V20]] : i32 to vector<4x4x2xi32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V23:%.+]] = vector.broadcast [[V22]] : i32 to vector<4x4x2xi32>
// CHECK-NEXT: [[V24:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V25:%.+]] = memref.alloca() : memref<6x6x3x8xi16>
// CHECK-NEXT: [[V26:%.+]] = memref.alloca() : memref<6x6x3x2xi32>
// CHECK-NEXT: scf.for [[V27:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V28:%.+]] = arith.muli [[V27]], [[V6]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.minsi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V30:%.+]] = simd.load [[V0]][[[V3]], [[V29]], [[V3]], [[V3]]] {strides = array<i64: 24, 4>} : memref<1x7x6x4xi8> to vector<6x6x4xi8>
// CHECK-NEXT: [[V31:%.+]] = simd.convert [[V30]] {kind = "extsi"} : vector<6x6x4xi8> to vector<6x6x4xi16>
// CHECK-NEXT: [[V32:%.+]] = vector.extract [[V31]][0] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V33:%.+]] = vector.extract [[V31]][1] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V34:%.+]] = vector.extract [[V31]][2] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V35:%.+]] = vector.extract [[V31]][3] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V36:%.+]] = vector.extract [[V31]][4] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V37:%.+]] = vector.extract [[V31]][5] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V38:%.+]] = arith.subi [[V32]], [[V34]] : vector<6x4xi16>
// CHECK-NEXT: [[V39:%.+]] = arith.subi [[V36]], [[V34]] : vector<6x4xi16>
// CHECK-NEXT: [[V40:%.+]] = arith.shli [[V38]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V41:%.+]] = arith.addi [[V40]], [[V39]] : vector<6x4xi16>
// CHECK-NEXT: [[V42:%.+]] = arith.shli [[V34]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.subi [[V36]], [[V42]] : vector<6x4xi16>
// CHECK-NEXT: [[V44:%.+]] = arith.shli [[V33]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V45:%.+]] = arith.subi [[V35]], [[V44]] : vector<6x4xi16>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V43]], [[V45]] : vector<6x4xi16>
// CHECK-NEXT: [[V47:%.+]] = arith.subi [[V43]], [[V45]] : vector<6x4xi16>
// CHECK-NEXT: [[V48:%.+]] = arith.subi [[V35]], [[V33]] : vector<6x4xi16>
// CHECK-NEXT: [[V49:%.+]] = arith.shli [[V48]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V39]], [[V49]] : vector<6x4xi16>
// CHECK-NEXT: [[V51:%.+]] = arith.subi [[V39]], [[V49]] : vector<6x4xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.subi [[V37]], [[V35]] : vector<6x4xi16>
// CHECK-NEXT: [[V53:%.+]] = arith.shli [[V48]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V54:%.+]] = arith.subi [[V52]], [[V53]] : vector<6x4xi16>
// CHECK-NEXT: [[V55:%.+]] = simd.stack [[V41]], [[V46]], [[V47]], [[V50]], [[V51]], [[V54]] : vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: [[V56:%.+]] = simd.transpose [[V55]] : vector<6x6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: [[V57:%.+]] = vector.extract [[V56]][0] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V58:%.+]] = vector.extract [[V56]][1] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V59:%.+]] = vector.extract [[V56]][2] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V60:%.+]] = vector.extract [[V56]][3] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V61:%.+]] = vector.extract [[V56]][4] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V62:%.+]] = vector.extract [[V56]][5] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V63:%.+]] = arith.subi [[V57]], [[V59]] : vector<6x4xi16>
// CHECK-NEXT: [[V64:%.+]] = arith.subi [[V61]], [[V59]] : vector<6x4xi16>
// CHECK-NEXT: [[V65:%.+]] = arith.shli [[V63]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V66:%.+]] = arith.addi [[V65]], [[V64]] : vector<6x4xi16>
// CHECK-NEXT: [[V67:%.+]] = arith.shli [[V59]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V68:%.+]] = arith.subi [[V61]], [[V67]] : vector<6x4xi16>
// CHECK-NEXT: [[V69:%.+]] = arith.shli [[V58]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V70:%.+]] = arith.subi [[V60]], [[V69]] : vector<6x4xi16>
// CHECK-NEXT: [[V71:%.+]] = arith.addi [[V68]], [[V70]] : vector<6x4xi16>
// CHECK-NEXT: [[V72:%.+]] = arith.subi [[V68]], [[V70]] : vector<6x4xi16>
// CHECK-NEXT: [[V73:%.+]] = arith.subi [[V60]], [[V58]] : vector<6x4xi16>
// CHECK-NEXT: [[V74:%.+]] = arith.shli [[V73]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V75:%.+]] = arith.addi [[V64]], [[V74]] : vector<6x4xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.subi [[V64]], [[V74]] : vector<6x4xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.subi [[V62]], [[V60]] : vector<6x4xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.shli [[V73]], [[V8]] : vector<6x4xi16>
// CHECK-NEXT: [[V79:%.+]] = arith.subi [[V77]], [[V78]] : vector<6x4xi16>
// CHECK-NEXT: [[V80:%.+]] = simd.stack [[V66]], [[V71]], [[V72]], [[V75]], [[V76]], [[V79]] : vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: simd.store [[V80]], [[V25]][[[V3]], [[V3]], [[V27]], [[V3]]] {strides = array<i64: 24, 144>} : vector<6x6x4xi16>, memref<6x6x3x8xi16>
// CHECK: scf.for [[V81:%.+]] = [[V3]] to [[V11]] step [[V5]] {
// CHECK-NEXT: scf.for [[V82:%.+]] = [[V3]] to [[V11]] step [[V5]] {
// CHECK-NEXT: [[V83:%.+]] = scf.for [[V84:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V85:%.+]] = [[V13]]) -> (vector<1x2x2xi32>) {
// CHECK-NEXT: [[V86:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V81]], [[V82]], [[V84]], [[V3]]] {strides = array<i64: 4, 0>} : memref<1x1x6x6x2x4xi16> to vector<1x1x4xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.muli [[V84]], [[V4]] : index
// CHECK-NEXT: [[V88:%.+]] = simd.load_group_splat [[V25]][[[V81]], [[V82]], [[V3]], [[V87]]] {strides = array<i64: 8>} : memref<6x6x3x8xi16> to vector<2x4xi16>
// CHECK-NEXT: [[V89:%.+]] = vector.broadcast [[V88]] : vector<2x4xi16> to vector<1x2x4xi16>
// CHECK-NEXT: [[V90:%.+]] = vector.broadcast [[V86]] : vector<1x1x4xi16> to vector<1x2x4xi16>
// CHECK-NEXT: [[V91:%.+]] = simd.dot_accumulate [[V85]], [[V89]], [[V90]] : vector<1x2x2xi32>, vector<1x2x4xi16>, vector<1x2x4xi16> -> vector<1x2x2xi32>
// CHECK-NEXT: scf.yield [[V91]] : vector<1x2x2xi32>
// CHECK: simd.store [[V83]], [[V26]][[[V81]], [[V82]], [[V3]], [[V3]]] {strides = array<i64: 2, 2>} : vector<1x2x2xi32>, memref<6x6x3x2xi32>
// CHECK: scf.for [[V92:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V93:%.+]] = arith.muli [[V92]], [[V6]] : index
// CHECK-NEXT: [[V94:%.+]] = arith.minsi [[V93]], [[V5]] : index
// CHECK-NEXT: [[V95:%.+]] = simd.load [[V26]][[[V3]], [[V3]], [[V92]], [[V3]]] {strides = array<i64: 36, 6>} : memref<6x6x3x2xi32> to vector<6x6x2xi32>
// CHECK-NEXT: [[V96:%.+]] = vector.extract [[V95]][0] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V97:%.+]] = vector.extract [[V95]][1] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V98:%.+]] = vector.extract [[V95]][2] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V99:%.+]] = vector.extract [[V95]][3] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V100:%.+]] = vector.extract [[V95]][4] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V101:%.+]] = vector.extract [[V95]][5] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V102:%.+]] = arith.addi [[V97]], [[V98]] : vector<6x2xi32>
// CHECK-NEXT: [[V103:%.+]] = arith.subi [[V97]], [[V98]] : vector<6x2xi32>
// CHECK-NEXT: [[V104:%.+]] = arith.addi [[V99]], [[V100]] : vector<6x2xi32>
// CHECK-NEXT: [[V105:%.+]] = arith.subi [[V99]], [[V100]] : vector<6x2xi32>
// CHECK-NEXT: [[V106:%.+]] = arith.addi [[V96]], [[V102]] : vector<6x2xi32>
// CHECK-NEXT: [[V107:%.+]] = arith.addi [[V106]], [[V104]] : vector<6x2xi32>
// CHECK-NEXT: [[V108:%.+]] = arith.shli [[V105]], [[V15]] : vector<6x2xi32>
// CHECK-NEXT: [[V109:%.+]] = arith.addi [[V108]], [[V103]] : vector<6x2xi32>
// CHECK-NEXT: [[V110:%.+]] = arith.shli [[V104]], [[V17]] : vector<6x2xi32>
// CHECK-NEXT: [[V111:%.+]] = arith.addi [[V110]], [[V102]] : vector<6x2xi32>
// CHECK-NEXT: [[V112:%.+]] = arith.shli [[V105]], [[V17]] : vector<6x2xi32>
// CHECK-NEXT: [[V113:%.+]] = arith.addi [[V112]], [[V101]] : vector<6x2xi32>
// CHECK-NEXT: [[V114:%.+]] = arith.shli [[V113]], [[V15]] : vector<6x2xi32>
// CHECK-NEXT: [[V115:%.+]] = arith.addi [[V114]], [[V103]] : vector<6x2xi32>
// CHECK-NEXT: [[V116:%.+]] = simd.stack [[V107]], [[V109]], [[V111]], [[V115]] : vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32> to vector<4x6x2xi32>
// CHECK-NEXT: [[V117:%.+]] = simd.transpose [[V116]] : vector<4x6x2xi32> to vector<6x4x2xi32>
// CHECK-NEXT: [[V118:%.+]] = vector.extract [[V117]][0] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V119:%.+]] = vector.extract [[V117]][1] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V120:%.+]] = vector.extract [[V117]][2] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V121:%.+]] = vector.extract [[V117]][3] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V122:%.+]] = vector.extract [[V117]][4] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V123:%.+]] = vector.extract [[V117]][5] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V124:%.+]] = arith.addi [[V119]], [[V120]] : vector<4x2xi32>
// CHECK-NEXT: [[V125:%.+]] = arith.subi [[V119]], [[V120]] : vector<4x2xi32>
// CHECK-NEXT: [[V126:%.+]] = arith.addi [[V121]], [[V122]] : vector<4x2xi32>
// CHECK-NEXT: [[V127:%.+]] = arith.subi [[V121]], [[V122]] : vector<4x2xi32>
// CHECK-NEXT: [[V128:%.+]] = arith.addi [[V118]], [[V124]] : vector<4x2xi32>
// CHECK-NEXT: [[V129:%.+]] = arith.addi [[V128]], [[V126]] : vector<4x2xi32>
// CHECK-NEXT: [[V130:%.+]] = arith.shli [[V127]], [[V18]] : vector<4x2xi32>
// CHECK-NEXT: [[V131:%.+]] = arith.addi [[V130]], [[V125]] : vector<4x2xi32>
// CHECK-NEXT: [[V132:%.+]] = arith.shli [[V126]], [[V19]] : vector<4x2xi32>
// CHECK-NEXT: [[V133:%.+]] = arith.addi [[V132]], [[V124]] : vector<4x2xi32>
// CHECK-NEXT: [[V134:%.+]] = arith.shli [[V127]], [[V19]] : vector<4x2xi32>
// CHECK-NEXT: [[V135:%.+]] = arith.addi [[V134]], [[V123]] : vector<4x2xi32>
// CHECK-NEXT: [[V136:%.+]] = arith.shli [[V135]], [[V18]] : vector<4x2xi32>
// CHECK-NEXT: [[V137:%.+]] = arith.addi [[V136]], [[V125]] : vector<4x2xi32>
// CHECK-NEXT: [[V138:%.+]] = simd.stack [[V129]], [[V131]], [[V133]], [[V137]] : vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V139:%.+]] = arith.muli [[V138]], [[V21]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V140:%.+]] = arith.shrsi [[V139]], [[V23]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V141:%.+]] = simd.transpose [[V140]] : vector<4x4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V142:%.+]] = vector.extract [[V141]][0] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V143:%.+]] = vector.extract [[V141]][1] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V144:%.+]] = vector.extract [[V141]][2] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V145:%.+]] = vector.extract [[V141]][3] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V146:%.+]] = arith.cmpi eq, [[V94]], [[V93]] : index
// CHECK-NEXT: scf.if [[V146]] {
// CHECK-NEXT: [[V147:%.+]] = vector.extract [[V142]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V148:%.+]] = vector.extract [[V142]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V149:%.+]] = vector.extract [[V142]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V150:%.+]] = vector.extract [[V142]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V151:%.+]] = simd.stack [[V147]], [[V148]], [[V149]], [[V150]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V152:%.+]] = vector.extract [[V151]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V152]], [[V2]][[[V3]], [[V94]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V153:%.+]] = arith.addi [[V94]], [[V5]] : index
// CHECK-NEXT: [[V154:%.+]] = vector.extract [[V143]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V155:%.+]] = vector.extract [[V143]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V156:%.+]] = vector.extract [[V143]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V157:%.+]] = vector.extract [[V143]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V158:%.+]] = simd.stack [[V154]], [[V155]], [[V156]], [[V157]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V159:%.+]] = vector.extract [[V158]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V159]], [[V2]][[[V3]], [[V153]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V160:%.+]] = arith.addi [[V94]], [[V4]] : index
// CHECK-NEXT: [[V161:%.+]] = vector.extract [[V144]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V162:%.+]] = vector.extract [[V144]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V163:%.+]] = vector.extract [[V144]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V164:%.+]] = vector.extract [[V144]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V165:%.+]] = simd.stack [[V161]], [[V162]], [[V163]], [[V164]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V166:%.+]] = vector.extract [[V165]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V166]], [[V2]][[[V3]], [[V160]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK: [[V167:%.+]] = arith.addi [[V94]], [[V24]] : index
// CHECK-NEXT: [[V168:%.+]] = vector.extract [[V145]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V169:%.+]] = vector.extract [[V145]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V170:%.+]] = vector.extract [[V145]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V171:%.+]] = vector.extract [[V145]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V172:%.+]] = simd.stack [[V168]], [[V169]], [[V170]], [[V171]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V173:%.+]] = vector.extract [[V172]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V173]], [[V2]][[[V3]], [[V167]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK: func.return
func.func @odd(%x: memref<1x7x6x4xi8>, %w: memref<1x1x6x6x2x4xi16>, %y: memref<1x5x4x2xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x7x6x4xi8>, memref<1x1x6x6x2x4xi16>) outs(%y : memref<1x5x4x2xi32>) attributes {algorithm = "f4",
    layout = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 2>, schedule = #kernel.schedule<rows = 2, block = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
