// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Three rows of two are two tiles, a block each: the second begins in row 1, and stores its second row only. A register
// has four of the five channels of the result, and eight of the ten of the input.
// CHECK-LABEL: @odd(
// CHECK-SAME: [[V0:%.+]]: memref<1x5x4x10xi8>, [[V1:%.+]]: memref<1x2x4x4x5x8xi16>, [[V2:%.+]]: memref<5xi32>, [[V3:%.+]]: memref<1x3x2x5xi32>)
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<1x4xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : i32 to vector<2x2x4xi32>
// CHECK-NEXT: scf.for [[V15:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V16:%.+]] = memref.alloca() : memref<4x4x1x24xi16>
// CHECK-NEXT: [[V17:%.+]] = memref.alloca() : memref<4x4x1x4xi32>
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.minsi [[V18]], [[V6]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V0]][[[V4]], [[V19]], [[V4]], [[V4]]] {strides = array<i64: 40, 10>} : memref<1x5x4x10xi8> to vector<4x4x8xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.convert [[V20]] {kind = "extui"} : vector<4x4x8xi8> to vector<4x4x8xi16>
// CHECK-NEXT: [[V22:%.+]] = vector.extract [[V21]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V23:%.+]] = vector.extract [[V21]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V24:%.+]] = vector.extract [[V21]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V25:%.+]] = vector.extract [[V21]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V22]], [[V24]] : vector<4x8xi16>
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V24]], [[V23]] : vector<4x8xi16>
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V24]], [[V23]] : vector<4x8xi16>
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V23]], [[V25]] : vector<4x8xi16>
// CHECK-NEXT: [[V30:%.+]] = simd.stack [[V26]], [[V27]], [[V28]], [[V29]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.transpose [[V30]] : vector<4x4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V32:%.+]] = vector.extract [[V31]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V33:%.+]] = vector.extract [[V31]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V34:%.+]] = vector.extract [[V31]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V35:%.+]] = vector.extract [[V31]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V36:%.+]] = arith.subi [[V32]], [[V34]] : vector<4x8xi16>
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V34]], [[V33]] : vector<4x8xi16>
// CHECK-NEXT: [[V38:%.+]] = arith.subi [[V34]], [[V33]] : vector<4x8xi16>
// CHECK-NEXT: [[V39:%.+]] = arith.subi [[V33]], [[V35]] : vector<4x8xi16>
// CHECK-NEXT: [[V40:%.+]] = simd.stack [[V36]], [[V37]], [[V38]], [[V39]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: simd.store [[V40]], [[V16]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 24, 96>} : vector<4x4x8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: [[V41:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V42:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V45:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V47:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V49:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V51:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V52:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V53:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V55:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V56:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V57:%.+]] = simd.load_partial [[V0]][[[V4]], [[V41]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V58:%.+]] = simd.load_partial [[V0]][[[V4]], [[V42]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V59:%.+]] = simd.load_partial [[V0]][[[V4]], [[V43]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V60:%.+]] = simd.load_partial [[V0]][[[V4]], [[V44]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V61:%.+]] = simd.load_partial [[V0]][[[V4]], [[V45]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V62:%.+]] = simd.load_partial [[V0]][[[V4]], [[V46]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V63:%.+]] = simd.load_partial [[V0]][[[V4]], [[V47]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V64:%.+]] = simd.load_partial [[V0]][[[V4]], [[V48]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V65:%.+]] = simd.load_partial [[V0]][[[V4]], [[V49]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V66:%.+]] = simd.load_partial [[V0]][[[V4]], [[V50]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V67:%.+]] = simd.load_partial [[V0]][[[V4]], [[V51]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V68:%.+]] = simd.load_partial [[V0]][[[V4]], [[V52]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.stack [[V53]], [[V54]], [[V55]], [[V56]], [[V57]], [[V58]], [[V59]], [[V60]], [[V61]], [[V62]], [[V63]], [[V64]], [[V65]], [[V66]], [[V67]], [[V68]] : vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8>, vector<8xi8> to vector<4x4x8xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.convert [[V69]] {kind = "extui"} : vector<4x4x8xi8> to vector<4x4x8xi16>
// CHECK-NEXT: [[V71:%.+]] = vector.extract [[V70]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V72:%.+]] = vector.extract [[V70]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V73:%.+]] = vector.extract [[V70]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V74:%.+]] = vector.extract [[V70]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V75:%.+]] = arith.subi [[V71]], [[V73]] : vector<4x8xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.addi [[V73]], [[V72]] : vector<4x8xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.subi [[V73]], [[V72]] : vector<4x8xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.subi [[V72]], [[V74]] : vector<4x8xi16>
// CHECK-NEXT: [[V79:%.+]] = simd.stack [[V75]], [[V76]], [[V77]], [[V78]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V80:%.+]] = simd.transpose [[V79]] : vector<4x4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V81:%.+]] = vector.extract [[V80]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V82:%.+]] = vector.extract [[V80]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V83:%.+]] = vector.extract [[V80]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V84:%.+]] = vector.extract [[V80]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.subi [[V81]], [[V83]] : vector<4x8xi16>
// CHECK-NEXT: [[V86:%.+]] = arith.addi [[V83]], [[V82]] : vector<4x8xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.subi [[V83]], [[V82]] : vector<4x8xi16>
// CHECK-NEXT: [[V88:%.+]] = arith.subi [[V82]], [[V84]] : vector<4x8xi16>
// CHECK-NEXT: [[V89:%.+]] = simd.stack [[V85]], [[V86]], [[V87]], [[V88]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: simd.store [[V89]], [[V16]][[[V4]], [[V4]], [[V4]], [[V8]]] {strides = array<i64: 24, 96>} : vector<4x4x8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: scf.for [[V90:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: scf.for [[V91:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: [[V92:%.+]] = scf.for [[V93:%.+]] = [[V4]] to [[V12]] step [[V6]] iter_args([[V94:%.+]] = [[V11]]) -> (vector<1x4xi32>) {
// CHECK-NEXT: [[V95:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V90]], [[V91]], [[V93]], [[V4]]] {strides = array<i64: 8>} : memref<1x2x4x4x5x8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V96:%.+]] = arith.muli [[V93]], [[V5]] : index
// CHECK-NEXT: [[V97:%.+]] = simd.load_group_splat [[V16]][[[V90]], [[V91]], [[V4]], [[V96]]] : memref<4x4x1x24xi16> to vector<8xi16>
// CHECK-NEXT: [[V98:%.+]] = vector.broadcast [[V97]] : vector<8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V99:%.+]] = simd.dot_accumulate [[V94]], [[V98]], [[V95]] : vector<1x4xi32>, vector<1x8xi16>, vector<1x8xi16> -> vector<1x4xi32>
// CHECK-NEXT: scf.yield [[V99]] : vector<1x4xi32>
// CHECK: simd.store [[V92]], [[V17]][[[V90]], [[V91]], [[V4]], [[V4]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<4x4x1x4xi32>
// CHECK: [[V100:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V101:%.+]] = arith.minsi [[V100]], [[V6]] : index
// CHECK-NEXT: [[V102:%.+]] = simd.load [[V17]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 16, 4>} : memref<4x4x1x4xi32> to vector<4x4x4xi32>
// CHECK-NEXT: [[V103:%.+]] = vector.extract [[V102]][0] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V104:%.+]] = vector.extract [[V102]][1] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V105:%.+]] = vector.extract [[V102]][2] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V106:%.+]] = vector.extract [[V102]][3] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V107:%.+]] = arith.addi [[V104]], [[V105]] : vector<4x4xi32>
// CHECK-NEXT: [[V108:%.+]] = arith.subi [[V104]], [[V105]] : vector<4x4xi32>
// CHECK-NEXT: [[V109:%.+]] = arith.addi [[V103]], [[V107]] : vector<4x4xi32>
// CHECK-NEXT: [[V110:%.+]] = arith.subi [[V108]], [[V106]] : vector<4x4xi32>
// CHECK-NEXT: [[V111:%.+]] = simd.stack [[V109]], [[V110]] : vector<4x4xi32>, vector<4x4xi32> to vector<2x4x4xi32>
// CHECK-NEXT: [[V112:%.+]] = simd.transpose [[V111]] : vector<2x4x4xi32> to vector<4x2x4xi32>
// CHECK-NEXT: [[V113:%.+]] = vector.extract [[V112]][0] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V114:%.+]] = vector.extract [[V112]][1] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V115:%.+]] = vector.extract [[V112]][2] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V116:%.+]] = vector.extract [[V112]][3] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V117:%.+]] = arith.addi [[V114]], [[V115]] : vector<2x4xi32>
// CHECK-NEXT: [[V118:%.+]] = arith.subi [[V114]], [[V115]] : vector<2x4xi32>
// CHECK-NEXT: [[V119:%.+]] = arith.addi [[V113]], [[V117]] : vector<2x4xi32>
// CHECK-NEXT: [[V120:%.+]] = arith.subi [[V118]], [[V116]] : vector<2x4xi32>
// CHECK-NEXT: [[V121:%.+]] = simd.stack [[V119]], [[V120]] : vector<2x4xi32>, vector<2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V122:%.+]] = arith.shrsi [[V121]], [[V14]] : vector<2x2x4xi32>
// CHECK-NEXT: [[V123:%.+]] = simd.transpose [[V122]] : vector<2x2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V124:%.+]] = vector.extract [[V123]][0] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V125:%.+]] = vector.extract [[V123]][1] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V126:%.+]] = arith.cmpi eq, [[V101]], [[V100]] : index
// CHECK-NEXT: scf.if [[V126]] {
// CHECK-NEXT: [[V127:%.+]] = vector.extract [[V124]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V128:%.+]] = vector.extract [[V124]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V129:%.+]] = simd.stack [[V127]], [[V128]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V130:%.+]] = simd.load [[V2]][[[V4]]] {strides = array<i64: 4, 0>} : memref<5xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V131:%.+]] = vector.broadcast [[V130]] : vector<1x1x4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V132:%.+]] = arith.addi [[V129]], [[V131]] : vector<1x2x4xi32>
// CHECK-NEXT: [[V133:%.+]] = vector.extract [[V132]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V133]], [[V3]][[[V4]], [[V101]], [[V4]], [[V4]]] {strides = array<i64: 5>} : vector<2x4xi32>, memref<1x3x2x5xi32>
// CHECK: [[V134:%.+]] = arith.addi [[V101]], [[V6]] : index
// CHECK-NEXT: [[V135:%.+]] = vector.extract [[V125]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V136:%.+]] = vector.extract [[V125]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V137:%.+]] = simd.stack [[V135]], [[V136]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V138:%.+]] = simd.load [[V2]][[[V4]]] {strides = array<i64: 4, 0>} : memref<5xi32> to vector<1x1x4xi32>
// CHECK-NEXT: [[V139:%.+]] = vector.broadcast [[V138]] : vector<1x1x4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V140:%.+]] = arith.addi [[V137]], [[V139]] : vector<1x2x4xi32>
// CHECK-NEXT: [[V141:%.+]] = vector.extract [[V140]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V141]], [[V3]][[[V4]], [[V134]], [[V4]], [[V4]]] {strides = array<i64: 5>} : vector<2x4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: scf.for [[V142:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: scf.for [[V143:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: [[V144:%.+]] = scf.for [[V145:%.+]] = [[V4]] to [[V12]] step [[V6]] iter_args([[V146:%.+]] = [[V11]]) -> (vector<1x4xi32>) {
// CHECK-NEXT: [[V147:%.+]] = simd.load [[V1]][[[V4]], [[V6]], [[V142]], [[V143]], [[V145]], [[V4]]] {strides = array<i64: 8>} : memref<1x2x4x4x5x8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V148:%.+]] = arith.muli [[V145]], [[V5]] : index
// CHECK-NEXT: [[V149:%.+]] = simd.load_group_splat [[V16]][[[V142]], [[V143]], [[V4]], [[V148]]] : memref<4x4x1x24xi16> to vector<8xi16>
// CHECK-NEXT: [[V150:%.+]] = vector.broadcast [[V149]] : vector<8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V151:%.+]] = simd.dot_accumulate [[V146]], [[V150]], [[V147]] : vector<1x4xi32>, vector<1x8xi16>, vector<1x8xi16> -> vector<1x4xi32>
// CHECK-NEXT: scf.yield [[V151]] : vector<1x4xi32>
// CHECK: simd.store [[V144]], [[V17]][[[V142]], [[V143]], [[V4]], [[V4]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<4x4x1x4xi32>
// CHECK: [[V152:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V153:%.+]] = arith.minsi [[V152]], [[V6]] : index
// CHECK-NEXT: [[V154:%.+]] = simd.load [[V17]][[[V4]], [[V4]], [[V4]], [[V4]]] {strides = array<i64: 16, 4>} : memref<4x4x1x4xi32> to vector<4x4x4xi32>
// CHECK-NEXT: [[V155:%.+]] = vector.extract [[V154]][0] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V156:%.+]] = vector.extract [[V154]][1] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V157:%.+]] = vector.extract [[V154]][2] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V158:%.+]] = vector.extract [[V154]][3] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V159:%.+]] = arith.addi [[V156]], [[V157]] : vector<4x4xi32>
// CHECK-NEXT: [[V160:%.+]] = arith.subi [[V156]], [[V157]] : vector<4x4xi32>
// CHECK-NEXT: [[V161:%.+]] = arith.addi [[V155]], [[V159]] : vector<4x4xi32>
// CHECK-NEXT: [[V162:%.+]] = arith.subi [[V160]], [[V158]] : vector<4x4xi32>
// CHECK-NEXT: [[V163:%.+]] = simd.stack [[V161]], [[V162]] : vector<4x4xi32>, vector<4x4xi32> to vector<2x4x4xi32>
// CHECK-NEXT: [[V164:%.+]] = simd.transpose [[V163]] : vector<2x4x4xi32> to vector<4x2x4xi32>
// CHECK-NEXT: [[V165:%.+]] = vector.extract [[V164]][0] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V166:%.+]] = vector.extract [[V164]][1] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V167:%.+]] = vector.extract [[V164]][2] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V168:%.+]] = vector.extract [[V164]][3] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V169:%.+]] = arith.addi [[V166]], [[V167]] : vector<2x4xi32>
// CHECK-NEXT: [[V170:%.+]] = arith.subi [[V166]], [[V167]] : vector<2x4xi32>
// CHECK-NEXT: [[V171:%.+]] = arith.addi [[V165]], [[V169]] : vector<2x4xi32>
// CHECK-NEXT: [[V172:%.+]] = arith.subi [[V170]], [[V168]] : vector<2x4xi32>
// CHECK-NEXT: [[V173:%.+]] = simd.stack [[V171]], [[V172]] : vector<2x4xi32>, vector<2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V174:%.+]] = arith.shrsi [[V173]], [[V14]] : vector<2x2x4xi32>
// CHECK-NEXT: [[V175:%.+]] = simd.transpose [[V174]] : vector<2x2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V176:%.+]] = vector.extract [[V175]][0] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V177:%.+]] = vector.extract [[V175]][1] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V178:%.+]] = arith.cmpi eq, [[V153]], [[V152]] : index
// CHECK-NEXT: scf.if [[V178]] {
// CHECK-NEXT: [[V179:%.+]] = vector.extract [[V176]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V180:%.+]] = vector.extract [[V176]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V181:%.+]] = simd.stack [[V179]], [[V180]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V182:%.+]] = vector.extract [[V181]][0, 0] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V183:%.+]] = simd.load_partial [[V2]][[[V9]]], [[V6]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V184:%.+]] = arith.addi [[V182]], [[V183]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V184]], [[V3]][[[V4]], [[V153]], [[V4]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V185:%.+]] = vector.extract [[V181]][0, 1] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V186:%.+]] = arith.addi [[V185]], [[V183]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V186]], [[V3]][[[V4]], [[V153]], [[V6]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK: [[V187:%.+]] = arith.addi [[V153]], [[V6]] : index
// CHECK-NEXT: [[V188:%.+]] = vector.extract [[V177]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V189:%.+]] = vector.extract [[V177]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V190:%.+]] = simd.stack [[V188]], [[V189]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V191:%.+]] = vector.extract [[V190]][0, 0] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V192:%.+]] = simd.load_partial [[V2]][[[V9]]], [[V6]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V193:%.+]] = arith.addi [[V191]], [[V192]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V193]], [[V3]][[[V4]], [[V187]], [[V4]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V194:%.+]] = vector.extract [[V190]][0, 1] : vector<4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: [[V195:%.+]] = arith.addi [[V194]], [[V192]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V195]], [[V3]][[[V4]], [[V187]], [[V6]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK: func.return
func.func @odd(%x: memref<1x5x4x10xi8>, %w: memref<1x2x4x4x5x8xi16>, %b: memref<5xi32>, %y: memref<1x3x2x5xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x5x4x10xi8>, memref<1x2x4x4x5x8xi16>) epilogue(%b : memref<5xi32>) outs(%y : memref<1x3x2x5xi32>)
      attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>],
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32, %bias: i32):
    %0 = arith.addi %sum, %bias : i32
    kernel.yield %0 : i32
  }
  func.return
}

// Two images of two tiles of elements of 16 bits, three tiles in a block, which threads divide: the last block has one.
// Each of two runs of tiles asks for half of the weights of the next product, four of them in each of its four steps.
// CHECK-LABEL: @blocks(
// CHECK-SAME: [[V0:%.+]]: memref<2x4x6x8xi16>, [[V1:%.+]]: memref<1x1x4x4x4x8xi16>, [[V2:%.+]]: memref<2x2x4x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 32 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<1x4xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i32 to vector<2x2x4xi32>
// CHECK-NEXT: [[V14:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64, 4 : i64, 5 : i64]] : memref<1x1x4x4x4x8xi16> into memref<512xi16>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V15:%.+]]: index):
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V15]], [[V6]] : index
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V7]], [[V16]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.minsi [[V17]], [[V6]] : index
// CHECK-NEXT: [[V19:%.+]] = memref.alloca() : memref<4x4x5x16xi16>
// CHECK-NEXT: [[V20:%.+]] = memref.alloca() : memref<4x4x5x4xi32>
// CHECK-NEXT: scf.for [[V21:%.+]] = [[V3]] to [[V18]] step [[V5]] {
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V16]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.divui [[V22]], [[V4]] : index
// CHECK-NEXT: [[V24:%.+]] = arith.remui [[V22]], [[V4]] : index
// CHECK-NEXT: [[V25:%.+]] = arith.muli [[V24]], [[V4]] : index
// CHECK-NEXT: [[V26:%.+]] = simd.load [[V0]][[[V23]], [[V3]], [[V25]], [[V3]]] {strides = array<i64: 48, 8>} : memref<2x4x6x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V27:%.+]] = vector.extract [[V26]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V28:%.+]] = vector.extract [[V26]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V29:%.+]] = vector.extract [[V26]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V30:%.+]] = vector.extract [[V26]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V31:%.+]] = arith.subi [[V27]], [[V29]] : vector<4x8xi16>
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V29]], [[V28]] : vector<4x8xi16>
// CHECK-NEXT: [[V33:%.+]] = arith.subi [[V29]], [[V28]] : vector<4x8xi16>
// CHECK-NEXT: [[V34:%.+]] = arith.subi [[V28]], [[V30]] : vector<4x8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.stack [[V31]], [[V32]], [[V33]], [[V34]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V36:%.+]] = simd.transpose [[V35]] : vector<4x4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: [[V37:%.+]] = vector.extract [[V36]][0] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V38:%.+]] = vector.extract [[V36]][1] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V39:%.+]] = vector.extract [[V36]][2] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V40:%.+]] = vector.extract [[V36]][3] : vector<4x8xi16> from vector<4x4x8xi16>
// CHECK-NEXT: [[V41:%.+]] = arith.subi [[V37]], [[V39]] : vector<4x8xi16>
// CHECK-NEXT: [[V42:%.+]] = arith.addi [[V39]], [[V38]] : vector<4x8xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.subi [[V39]], [[V38]] : vector<4x8xi16>
// CHECK-NEXT: [[V44:%.+]] = arith.subi [[V38]], [[V40]] : vector<4x8xi16>
// CHECK-NEXT: [[V45:%.+]] = simd.stack [[V41]], [[V42]], [[V43]], [[V44]] : vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16>, vector<4x8xi16> to vector<4x4x8xi16>
// CHECK-NEXT: simd.store [[V45]], [[V19]][[[V3]], [[V3]], [[V21]], [[V3]]] {strides = array<i64: 80, 320>} : vector<4x4x8xi16>, memref<4x4x5x16xi16>
// CHECK: [[V46:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V47:%.+]] = arith.divui [[V46]], [[V4]] : index
// CHECK-NEXT: scf.for [[V48:%.+]] = [[V3]] to [[V7]] step [[V5]] {
// CHECK-NEXT: scf.for [[V49:%.+]] = [[V3]] to [[V7]] step [[V5]] {
// CHECK-NEXT: scf.for [[V50:%.+]] = [[V3]] to [[V47]] step [[V5]] {
// CHECK-NEXT: [[V51:%.+]] = arith.muli [[V50]], [[V4]] : index
// CHECK-NEXT: [[V52:%.+]] = arith.muli [[V48]], [[V7]] : index
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V52]], [[V49]] : index
// CHECK-NEXT: [[V54:%.+]] = arith.addi [[V53]], [[V5]] : index
// CHECK-NEXT: [[V55:%.+]] = arith.muli [[V54]], [[V8]] : index
// CHECK-NEXT: [[V56:%.+]] = arith.muli [[V50]], [[V9]] : index
// CHECK-NEXT: [[V57:%.+]] = arith.addi [[V55]], [[V56]] : index
// CHECK-NEXT: [[V58:%.+]], [[V59:%.+]] = scf.for [[V60:%.+]] = [[V3]] to [[V7]] step [[V5]] iter_args([[V61:%.+]] = [[V11]], [[V62:%.+]] = [[V11]]) -> (vector<1x4xi32>, vector<1x4xi32>) {
// CHECK-NEXT: [[V63:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V48]], [[V49]], [[V60]], [[V3]]] {strides = array<i64: 8>} : memref<1x1x4x4x4x8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V64:%.+]] = arith.muli [[V60]], [[V7]] : index
// CHECK-NEXT: [[V65:%.+]] = arith.addi [[V57]], [[V64]] : index
// CHECK-NEXT: simd.prefetch [[V14]][[[V65]]] {level = 2 : i64} : memref<512xi16>
// CHECK-NEXT: [[V66:%.+]] = arith.muli [[V60]], [[V4]] : index
// CHECK-NEXT: [[V67:%.+]] = simd.load_group_splat [[V19]][[[V48]], [[V49]], [[V51]], [[V66]]] : memref<4x4x5x16xi16> to vector<8xi16>
// CHECK-NEXT: [[V68:%.+]] = vector.broadcast [[V67]] : vector<8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V69:%.+]] = simd.dot_accumulate [[V61]], [[V68]], [[V63]] : vector<1x4xi32>, vector<1x8xi16>, vector<1x8xi16> -> vector<1x4xi32>
// CHECK-NEXT: [[V70:%.+]] = arith.addi [[V51]], [[V5]] : index
// CHECK-NEXT: [[V71:%.+]] = arith.muli [[V60]], [[V4]] : index
// CHECK-NEXT: [[V72:%.+]] = simd.load_group_splat [[V19]][[[V48]], [[V49]], [[V70]], [[V71]]] : memref<4x4x5x16xi16> to vector<8xi16>
// CHECK-NEXT: [[V73:%.+]] = vector.broadcast [[V72]] : vector<8xi16> to vector<1x8xi16>
// CHECK-NEXT: [[V74:%.+]] = simd.dot_accumulate [[V62]], [[V73]], [[V63]] : vector<1x4xi32>, vector<1x8xi16>, vector<1x8xi16> -> vector<1x4xi32>
// CHECK-NEXT: scf.yield [[V69]], [[V74]] : vector<1x4xi32>, vector<1x4xi32>
// CHECK: simd.store [[V58]], [[V20]][[[V48]], [[V49]], [[V51]], [[V3]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<4x4x5x4xi32>
// CHECK-NEXT: [[V75:%.+]] = arith.addi [[V51]], [[V5]] : index
// CHECK-NEXT: simd.store [[V59]], [[V20]][[[V48]], [[V49]], [[V75]], [[V3]]] {strides = array<i64: 4>} : vector<1x4xi32>, memref<4x4x5x4xi32>
// CHECK: scf.for [[V76:%.+]] = [[V3]] to [[V18]] step [[V5]] {
// CHECK-NEXT: [[V77:%.+]] = arith.addi [[V16]], [[V76]] : index
// CHECK-NEXT: [[V78:%.+]] = arith.divui [[V77]], [[V4]] : index
// CHECK-NEXT: [[V79:%.+]] = arith.remui [[V77]], [[V4]] : index
// CHECK-NEXT: [[V80:%.+]] = arith.muli [[V79]], [[V4]] : index
// CHECK-NEXT: [[V81:%.+]] = simd.load [[V20]][[[V3]], [[V3]], [[V76]], [[V3]]] {strides = array<i64: 80, 20>} : memref<4x4x5x4xi32> to vector<4x4x4xi32>
// CHECK-NEXT: [[V82:%.+]] = vector.extract [[V81]][0] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V83:%.+]] = vector.extract [[V81]][1] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V84:%.+]] = vector.extract [[V81]][2] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V85:%.+]] = vector.extract [[V81]][3] : vector<4x4xi32> from vector<4x4x4xi32>
// CHECK-NEXT: [[V86:%.+]] = arith.addi [[V83]], [[V84]] : vector<4x4xi32>
// CHECK-NEXT: [[V87:%.+]] = arith.subi [[V83]], [[V84]] : vector<4x4xi32>
// CHECK-NEXT: [[V88:%.+]] = arith.addi [[V82]], [[V86]] : vector<4x4xi32>
// CHECK-NEXT: [[V89:%.+]] = arith.subi [[V87]], [[V85]] : vector<4x4xi32>
// CHECK-NEXT: [[V90:%.+]] = simd.stack [[V88]], [[V89]] : vector<4x4xi32>, vector<4x4xi32> to vector<2x4x4xi32>
// CHECK-NEXT: [[V91:%.+]] = simd.transpose [[V90]] : vector<2x4x4xi32> to vector<4x2x4xi32>
// CHECK-NEXT: [[V92:%.+]] = vector.extract [[V91]][0] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V93:%.+]] = vector.extract [[V91]][1] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V94:%.+]] = vector.extract [[V91]][2] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V95:%.+]] = vector.extract [[V91]][3] : vector<2x4xi32> from vector<4x2x4xi32>
// CHECK-NEXT: [[V96:%.+]] = arith.addi [[V93]], [[V94]] : vector<2x4xi32>
// CHECK-NEXT: [[V97:%.+]] = arith.subi [[V93]], [[V94]] : vector<2x4xi32>
// CHECK-NEXT: [[V98:%.+]] = arith.addi [[V92]], [[V96]] : vector<2x4xi32>
// CHECK-NEXT: [[V99:%.+]] = arith.subi [[V97]], [[V95]] : vector<2x4xi32>
// CHECK-NEXT: [[V100:%.+]] = simd.stack [[V98]], [[V99]] : vector<2x4xi32>, vector<2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V101:%.+]] = arith.shrsi [[V100]], [[V13]] : vector<2x2x4xi32>
// CHECK-NEXT: [[V102:%.+]] = simd.transpose [[V101]] : vector<2x2x4xi32> to vector<2x2x4xi32>
// CHECK-NEXT: [[V103:%.+]] = vector.extract [[V102]][0] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V104:%.+]] = vector.extract [[V102]][1] : vector<2x4xi32> from vector<2x2x4xi32>
// CHECK-NEXT: [[V105:%.+]] = vector.extract [[V103]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V106:%.+]] = vector.extract [[V103]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V107:%.+]] = simd.stack [[V105]], [[V106]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V108:%.+]] = vector.extract [[V107]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V108]], [[V2]][[[V78]], [[V3]], [[V80]], [[V3]]] {strides = array<i64: 4>} : vector<2x4xi32>, memref<2x2x4x4xi32>
// CHECK-NEXT: [[V109:%.+]] = vector.extract [[V104]][0] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V110:%.+]] = vector.extract [[V104]][1] : vector<4xi32> from vector<2x4xi32>
// CHECK-NEXT: [[V111:%.+]] = simd.stack [[V109]], [[V110]] : vector<4xi32>, vector<4xi32> to vector<1x2x4xi32>
// CHECK-NEXT: [[V112:%.+]] = vector.extract [[V111]][0] : vector<2x4xi32> from vector<1x2x4xi32>
// CHECK-NEXT: simd.store [[V112]], [[V2]][[[V78]], [[V5]], [[V80]], [[V3]]] {strides = array<i64: 4>} : vector<2x4xi32>, memref<2x2x4x4xi32>
// CHECK: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @blocks(%x: memref<2x4x6x8xi16>, %w: memref<1x1x4x4x4x8xi16>, %y: memref<2x2x4x4xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<2x4x6x8xi16>, memref<1x1x4x4x4x8xi16>) outs(%y : memref<2x2x4x4xi32>) attributes {
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2, block = 3, prefetch = 2, threads = true>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
