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
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i32 to vector<1x2xi32>
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
// CHECK-NEXT: [[V83:%.+]], [[V84:%.+]] = scf.for [[V85:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V86:%.+]] = [[V13]], [[V87:%.+]] = [[V13]]) -> (vector<1x2xi32>, vector<1x2xi32>) {
// CHECK-NEXT: [[V88:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V81]], [[V82]], [[V85]], [[V3]]] {strides = array<i64: 4>} : memref<1x1x6x6x2x4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V89:%.+]] = arith.muli [[V85]], [[V4]] : index
// CHECK-NEXT: [[V90:%.+]] = simd.load_group_splat [[V25]][[[V81]], [[V82]], [[V3]], [[V89]]] : memref<6x6x3x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V91:%.+]] = vector.broadcast [[V90]] : vector<4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V92:%.+]] = simd.dot_accumulate [[V86]], [[V91]], [[V88]] : vector<1x2xi32>, vector<1x4xi16>, vector<1x4xi16> -> vector<1x2xi32>
// CHECK-NEXT: [[V93:%.+]] = arith.muli [[V85]], [[V4]] : index
// CHECK-NEXT: [[V94:%.+]] = simd.load_group_splat [[V25]][[[V81]], [[V82]], [[V5]], [[V93]]] : memref<6x6x3x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V95:%.+]] = vector.broadcast [[V94]] : vector<4xi16> to vector<1x4xi16>
// CHECK-NEXT: [[V96:%.+]] = simd.dot_accumulate [[V87]], [[V95]], [[V88]] : vector<1x2xi32>, vector<1x4xi16>, vector<1x4xi16> -> vector<1x2xi32>
// CHECK-NEXT: scf.yield [[V92]], [[V96]] : vector<1x2xi32>, vector<1x2xi32>
// CHECK: simd.store [[V83]], [[V26]][[[V81]], [[V82]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<1x2xi32>, memref<6x6x3x2xi32>
// CHECK-NEXT: simd.store [[V84]], [[V26]][[[V81]], [[V82]], [[V5]], [[V3]]] {strides = array<i64: 2>} : vector<1x2xi32>, memref<6x6x3x2xi32>
// CHECK: scf.for [[V97:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V98:%.+]] = arith.muli [[V97]], [[V6]] : index
// CHECK-NEXT: [[V99:%.+]] = arith.minsi [[V98]], [[V5]] : index
// CHECK-NEXT: [[V100:%.+]] = simd.load [[V26]][[[V3]], [[V3]], [[V97]], [[V3]]] {strides = array<i64: 36, 6>} : memref<6x6x3x2xi32> to vector<6x6x2xi32>
// CHECK-NEXT: [[V101:%.+]] = vector.extract [[V100]][0] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V102:%.+]] = vector.extract [[V100]][1] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V103:%.+]] = vector.extract [[V100]][2] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V104:%.+]] = vector.extract [[V100]][3] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V105:%.+]] = vector.extract [[V100]][4] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V106:%.+]] = vector.extract [[V100]][5] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V107:%.+]] = arith.addi [[V102]], [[V103]] : vector<6x2xi32>
// CHECK-NEXT: [[V108:%.+]] = arith.subi [[V102]], [[V103]] : vector<6x2xi32>
// CHECK-NEXT: [[V109:%.+]] = arith.addi [[V104]], [[V105]] : vector<6x2xi32>
// CHECK-NEXT: [[V110:%.+]] = arith.subi [[V104]], [[V105]] : vector<6x2xi32>
// CHECK-NEXT: [[V111:%.+]] = arith.addi [[V101]], [[V107]] : vector<6x2xi32>
// CHECK-NEXT: [[V112:%.+]] = arith.addi [[V111]], [[V109]] : vector<6x2xi32>
// CHECK-NEXT: [[V113:%.+]] = arith.shli [[V110]], [[V15]] : vector<6x2xi32>
// CHECK-NEXT: [[V114:%.+]] = arith.addi [[V113]], [[V108]] : vector<6x2xi32>
// CHECK-NEXT: [[V115:%.+]] = arith.shli [[V109]], [[V17]] : vector<6x2xi32>
// CHECK-NEXT: [[V116:%.+]] = arith.addi [[V115]], [[V107]] : vector<6x2xi32>
// CHECK-NEXT: [[V117:%.+]] = arith.shli [[V110]], [[V17]] : vector<6x2xi32>
// CHECK-NEXT: [[V118:%.+]] = arith.addi [[V117]], [[V106]] : vector<6x2xi32>
// CHECK-NEXT: [[V119:%.+]] = arith.shli [[V118]], [[V15]] : vector<6x2xi32>
// CHECK-NEXT: [[V120:%.+]] = arith.addi [[V119]], [[V108]] : vector<6x2xi32>
// CHECK-NEXT: [[V121:%.+]] = simd.stack [[V112]], [[V114]], [[V116]], [[V120]] : vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32> to vector<4x6x2xi32>
// CHECK-NEXT: [[V122:%.+]] = simd.transpose [[V121]] : vector<4x6x2xi32> to vector<6x4x2xi32>
// CHECK-NEXT: [[V123:%.+]] = vector.extract [[V122]][0] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V124:%.+]] = vector.extract [[V122]][1] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V125:%.+]] = vector.extract [[V122]][2] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V126:%.+]] = vector.extract [[V122]][3] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V127:%.+]] = vector.extract [[V122]][4] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V128:%.+]] = vector.extract [[V122]][5] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V129:%.+]] = arith.addi [[V124]], [[V125]] : vector<4x2xi32>
// CHECK-NEXT: [[V130:%.+]] = arith.subi [[V124]], [[V125]] : vector<4x2xi32>
// CHECK-NEXT: [[V131:%.+]] = arith.addi [[V126]], [[V127]] : vector<4x2xi32>
// CHECK-NEXT: [[V132:%.+]] = arith.subi [[V126]], [[V127]] : vector<4x2xi32>
// CHECK-NEXT: [[V133:%.+]] = arith.addi [[V123]], [[V129]] : vector<4x2xi32>
// CHECK-NEXT: [[V134:%.+]] = arith.addi [[V133]], [[V131]] : vector<4x2xi32>
// CHECK-NEXT: [[V135:%.+]] = arith.shli [[V132]], [[V18]] : vector<4x2xi32>
// CHECK-NEXT: [[V136:%.+]] = arith.addi [[V135]], [[V130]] : vector<4x2xi32>
// CHECK-NEXT: [[V137:%.+]] = arith.shli [[V131]], [[V19]] : vector<4x2xi32>
// CHECK-NEXT: [[V138:%.+]] = arith.addi [[V137]], [[V129]] : vector<4x2xi32>
// CHECK-NEXT: [[V139:%.+]] = arith.shli [[V132]], [[V19]] : vector<4x2xi32>
// CHECK-NEXT: [[V140:%.+]] = arith.addi [[V139]], [[V128]] : vector<4x2xi32>
// CHECK-NEXT: [[V141:%.+]] = arith.shli [[V140]], [[V18]] : vector<4x2xi32>
// CHECK-NEXT: [[V142:%.+]] = arith.addi [[V141]], [[V130]] : vector<4x2xi32>
// CHECK-NEXT: [[V143:%.+]] = simd.stack [[V134]], [[V136]], [[V138]], [[V142]] : vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V144:%.+]] = arith.muli [[V143]], [[V21]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V145:%.+]] = arith.shrsi [[V144]], [[V23]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V146:%.+]] = simd.transpose [[V145]] : vector<4x4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V147:%.+]] = vector.extract [[V146]][0] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V148:%.+]] = vector.extract [[V146]][1] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V149:%.+]] = vector.extract [[V146]][2] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V150:%.+]] = vector.extract [[V146]][3] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V151:%.+]] = arith.cmpi eq, [[V99]], [[V98]] : index
// CHECK-NEXT: scf.if [[V151]] {
// CHECK-NEXT: [[V152:%.+]] = vector.extract [[V147]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V153:%.+]] = vector.extract [[V147]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V154:%.+]] = vector.extract [[V147]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V155:%.+]] = vector.extract [[V147]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V156:%.+]] = simd.stack [[V152]], [[V153]], [[V154]], [[V155]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V157:%.+]] = vector.extract [[V156]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V157]], [[V2]][[[V3]], [[V99]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V158:%.+]] = arith.addi [[V99]], [[V5]] : index
// CHECK-NEXT: [[V159:%.+]] = vector.extract [[V148]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V160:%.+]] = vector.extract [[V148]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V161:%.+]] = vector.extract [[V148]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V162:%.+]] = vector.extract [[V148]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V163:%.+]] = simd.stack [[V159]], [[V160]], [[V161]], [[V162]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V164:%.+]] = vector.extract [[V163]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V164]], [[V2]][[[V3]], [[V158]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V165:%.+]] = arith.addi [[V99]], [[V4]] : index
// CHECK-NEXT: [[V166:%.+]] = vector.extract [[V149]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V167:%.+]] = vector.extract [[V149]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V168:%.+]] = vector.extract [[V149]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V169:%.+]] = vector.extract [[V149]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V170:%.+]] = simd.stack [[V166]], [[V167]], [[V168]], [[V169]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V171:%.+]] = vector.extract [[V170]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V171]], [[V2]][[[V3]], [[V165]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK: [[V172:%.+]] = arith.addi [[V99]], [[V24]] : index
// CHECK-NEXT: [[V173:%.+]] = vector.extract [[V150]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V174:%.+]] = vector.extract [[V150]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V175:%.+]] = vector.extract [[V150]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V176:%.+]] = vector.extract [[V150]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V177:%.+]] = simd.stack [[V173]], [[V174]], [[V175]], [[V176]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V178:%.+]] = vector.extract [[V177]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V178]], [[V2]][[[V3]], [[V172]], [[V3]], [[V3]]] {strides = array<i64: 2>} : vector<4x2xi32>, memref<1x5x4x2xi32>
// CHECK: func.return
func.func @odd(%x: memref<1x7x6x4xi8>, %w: memref<1x1x6x6x2x4xi16>, %y: memref<1x5x4x2xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x7x6x4xi8>, memref<1x1x6x6x2x4xi16>) outs(%y : memref<1x5x4x2xi32>) attributes {algorithm = "f4",
    layout = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 2>, schedule = #kernel.schedule<rows = 2, block = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
