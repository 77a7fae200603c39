// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Five rows of four are two tiles: the second begins in row 1, and stores its last row only. A product with the inverse of
// 9 modulo 2^32 and a shift by 6 make sums of 576 times as much.
// CHECK-LABEL: @odd(
// CHECK-SAME: [[V0:%.+]]: memref<1x7x6x4xi8>, [[V1:%.+]]: memref<1x1x6x6x2x4xi16>, [[V2:%.+]]: memref<1x5x4x2xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 2 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V13:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V17:%.+]] = vector.broadcast [[V16]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V18:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V20:%.+]] = arith.constant 954437177 : i32
// CHECK-NEXT: [[V21:%.+]] = vector.broadcast [[V20]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V23:%.+]] = vector.broadcast [[V22]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V24:%.+]] = memref.alloca() : memref<6x6x3x8xi16>
// CHECK-NEXT: [[V25:%.+]] = memref.alloca() : memref<6x6x3x2xi32>
// CHECK-NEXT: scf.for [[V26:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V27:%.+]] = arith.muli [[V26]], [[V6]] : index
// CHECK-NEXT: [[V28:%.+]] = arith.minsi [[V27]], [[V5]] : index
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.convert [[V29]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V32:%.+]] = simd.load [[V0]][[[V3]], [[V31]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V33:%.+]] = simd.convert [[V32]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V34:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V0]][[[V3]], [[V34]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V38:%.+]] = simd.load [[V0]][[[V3]], [[V37]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.convert [[V38]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V0]][[[V3]], [[V40]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V44:%.+]] = simd.load [[V0]][[[V3]], [[V43]], [[V3]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V45:%.+]] = simd.convert [[V44]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V46:%.+]] = arith.subi [[V30]], [[V36]] : vector<4xi16>
// CHECK-NEXT: [[V47:%.+]] = arith.subi [[V42]], [[V36]] : vector<4xi16>
// CHECK-NEXT: [[V48:%.+]] = arith.shli [[V46]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V49:%.+]] = arith.addi [[V48]], [[V47]] : vector<4xi16>
// CHECK-NEXT: [[V50:%.+]] = arith.shli [[V36]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V51:%.+]] = arith.subi [[V42]], [[V50]] : vector<4xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.shli [[V33]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V53:%.+]] = arith.subi [[V39]], [[V52]] : vector<4xi16>
// CHECK-NEXT: [[V54:%.+]] = arith.addi [[V51]], [[V53]] : vector<4xi16>
// CHECK-NEXT: [[V55:%.+]] = arith.subi [[V51]], [[V53]] : vector<4xi16>
// CHECK-NEXT: [[V56:%.+]] = arith.subi [[V39]], [[V33]] : vector<4xi16>
// CHECK-NEXT: [[V57:%.+]] = arith.shli [[V56]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V58:%.+]] = arith.addi [[V47]], [[V57]] : vector<4xi16>
// CHECK-NEXT: [[V59:%.+]] = arith.subi [[V47]], [[V57]] : vector<4xi16>
// CHECK-NEXT: [[V60:%.+]] = arith.subi [[V45]], [[V39]] : vector<4xi16>
// CHECK-NEXT: [[V61:%.+]] = arith.shli [[V56]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V62:%.+]] = arith.subi [[V60]], [[V61]] : vector<4xi16>
// CHECK-NEXT: [[V63:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V64:%.+]] = simd.convert [[V63]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V65:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V66:%.+]] = simd.load [[V0]][[[V3]], [[V65]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V67:%.+]] = simd.convert [[V66]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V68:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V69:%.+]] = simd.load [[V0]][[[V3]], [[V68]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.convert [[V69]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V71:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V72:%.+]] = simd.load [[V0]][[[V3]], [[V71]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V73:%.+]] = simd.convert [[V72]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V74:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V75:%.+]] = simd.load [[V0]][[[V3]], [[V74]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V76:%.+]] = simd.convert [[V75]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V78:%.+]] = simd.load [[V0]][[[V3]], [[V77]], [[V5]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V79:%.+]] = simd.convert [[V78]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V80:%.+]] = arith.subi [[V64]], [[V70]] : vector<4xi16>
// CHECK-NEXT: [[V81:%.+]] = arith.subi [[V76]], [[V70]] : vector<4xi16>
// CHECK-NEXT: [[V82:%.+]] = arith.shli [[V80]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V83:%.+]] = arith.addi [[V82]], [[V81]] : vector<4xi16>
// CHECK-NEXT: [[V84:%.+]] = arith.shli [[V70]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.subi [[V76]], [[V84]] : vector<4xi16>
// CHECK-NEXT: [[V86:%.+]] = arith.shli [[V67]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.subi [[V73]], [[V86]] : vector<4xi16>
// CHECK-NEXT: [[V88:%.+]] = arith.addi [[V85]], [[V87]] : vector<4xi16>
// CHECK-NEXT: [[V89:%.+]] = arith.subi [[V85]], [[V87]] : vector<4xi16>
// CHECK-NEXT: [[V90:%.+]] = arith.subi [[V73]], [[V67]] : vector<4xi16>
// CHECK-NEXT: [[V91:%.+]] = arith.shli [[V90]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V92:%.+]] = arith.addi [[V81]], [[V91]] : vector<4xi16>
// CHECK-NEXT: [[V93:%.+]] = arith.subi [[V81]], [[V91]] : vector<4xi16>
// CHECK-NEXT: [[V94:%.+]] = arith.subi [[V79]], [[V73]] : vector<4xi16>
// CHECK-NEXT: [[V95:%.+]] = arith.shli [[V90]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V96:%.+]] = arith.subi [[V94]], [[V95]] : vector<4xi16>
// CHECK-NEXT: [[V97:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V98:%.+]] = simd.convert [[V97]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V99:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V100:%.+]] = simd.load [[V0]][[[V3]], [[V99]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V101:%.+]] = simd.convert [[V100]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V102:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V103:%.+]] = simd.load [[V0]][[[V3]], [[V102]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V104:%.+]] = simd.convert [[V103]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V105:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V106:%.+]] = simd.load [[V0]][[[V3]], [[V105]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V107:%.+]] = simd.convert [[V106]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V108:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V109:%.+]] = simd.load [[V0]][[[V3]], [[V108]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V110:%.+]] = simd.convert [[V109]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V111:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V112:%.+]] = simd.load [[V0]][[[V3]], [[V111]], [[V4]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V113:%.+]] = simd.convert [[V112]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V114:%.+]] = arith.subi [[V98]], [[V104]] : vector<4xi16>
// CHECK-NEXT: [[V115:%.+]] = arith.subi [[V110]], [[V104]] : vector<4xi16>
// CHECK-NEXT: [[V116:%.+]] = arith.shli [[V114]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V117:%.+]] = arith.addi [[V116]], [[V115]] : vector<4xi16>
// CHECK-NEXT: [[V118:%.+]] = arith.shli [[V104]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V119:%.+]] = arith.subi [[V110]], [[V118]] : vector<4xi16>
// CHECK-NEXT: [[V120:%.+]] = arith.shli [[V101]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V121:%.+]] = arith.subi [[V107]], [[V120]] : vector<4xi16>
// CHECK-NEXT: [[V122:%.+]] = arith.addi [[V119]], [[V121]] : vector<4xi16>
// CHECK-NEXT: [[V123:%.+]] = arith.subi [[V119]], [[V121]] : vector<4xi16>
// CHECK-NEXT: [[V124:%.+]] = arith.subi [[V107]], [[V101]] : vector<4xi16>
// CHECK-NEXT: [[V125:%.+]] = arith.shli [[V124]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V126:%.+]] = arith.addi [[V115]], [[V125]] : vector<4xi16>
// CHECK-NEXT: [[V127:%.+]] = arith.subi [[V115]], [[V125]] : vector<4xi16>
// CHECK-NEXT: [[V128:%.+]] = arith.subi [[V113]], [[V107]] : vector<4xi16>
// CHECK-NEXT: [[V129:%.+]] = arith.shli [[V124]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V130:%.+]] = arith.subi [[V128]], [[V129]] : vector<4xi16>
// CHECK-NEXT: [[V131:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V132:%.+]] = simd.convert [[V131]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V133:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V134:%.+]] = simd.load [[V0]][[[V3]], [[V133]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V135:%.+]] = simd.convert [[V134]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V136:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V137:%.+]] = simd.load [[V0]][[[V3]], [[V136]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V138:%.+]] = simd.convert [[V137]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V139:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V140:%.+]] = simd.load [[V0]][[[V3]], [[V139]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V141:%.+]] = simd.convert [[V140]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V142:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V143:%.+]] = simd.load [[V0]][[[V3]], [[V142]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V144:%.+]] = simd.convert [[V143]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V145:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V146:%.+]] = simd.load [[V0]][[[V3]], [[V145]], [[V7]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V147:%.+]] = simd.convert [[V146]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V148:%.+]] = arith.subi [[V132]], [[V138]] : vector<4xi16>
// CHECK-NEXT: [[V149:%.+]] = arith.subi [[V144]], [[V138]] : vector<4xi16>
// CHECK-NEXT: [[V150:%.+]] = arith.shli [[V148]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V151:%.+]] = arith.addi [[V150]], [[V149]] : vector<4xi16>
// CHECK-NEXT: [[V152:%.+]] = arith.shli [[V138]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V153:%.+]] = arith.subi [[V144]], [[V152]] : vector<4xi16>
// CHECK-NEXT: [[V154:%.+]] = arith.shli [[V135]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V155:%.+]] = arith.subi [[V141]], [[V154]] : vector<4xi16>
// CHECK-NEXT: [[V156:%.+]] = arith.addi [[V153]], [[V155]] : vector<4xi16>
// CHECK-NEXT: [[V157:%.+]] = arith.subi [[V153]], [[V155]] : vector<4xi16>
// CHECK-NEXT: [[V158:%.+]] = arith.subi [[V141]], [[V135]] : vector<4xi16>
// CHECK-NEXT: [[V159:%.+]] = arith.shli [[V158]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V160:%.+]] = arith.addi [[V149]], [[V159]] : vector<4xi16>
// CHECK-NEXT: [[V161:%.+]] = arith.subi [[V149]], [[V159]] : vector<4xi16>
// CHECK-NEXT: [[V162:%.+]] = arith.subi [[V147]], [[V141]] : vector<4xi16>
// CHECK-NEXT: [[V163:%.+]] = arith.shli [[V158]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V164:%.+]] = arith.subi [[V162]], [[V163]] : vector<4xi16>
// CHECK-NEXT: [[V165:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V166:%.+]] = simd.convert [[V165]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V167:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V168:%.+]] = simd.load [[V0]][[[V3]], [[V167]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V169:%.+]] = simd.convert [[V168]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V170:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V171:%.+]] = simd.load [[V0]][[[V3]], [[V170]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V172:%.+]] = simd.convert [[V171]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V173:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V174:%.+]] = simd.load [[V0]][[[V3]], [[V173]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V175:%.+]] = simd.convert [[V174]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V176:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V177:%.+]] = simd.load [[V0]][[[V3]], [[V176]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V178:%.+]] = simd.convert [[V177]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V179:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V180:%.+]] = simd.load [[V0]][[[V3]], [[V179]], [[V6]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V181:%.+]] = simd.convert [[V180]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V182:%.+]] = arith.subi [[V166]], [[V172]] : vector<4xi16>
// CHECK-NEXT: [[V183:%.+]] = arith.subi [[V178]], [[V172]] : vector<4xi16>
// CHECK-NEXT: [[V184:%.+]] = arith.shli [[V182]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V185:%.+]] = arith.addi [[V184]], [[V183]] : vector<4xi16>
// CHECK-NEXT: [[V186:%.+]] = arith.shli [[V172]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V187:%.+]] = arith.subi [[V178]], [[V186]] : vector<4xi16>
// CHECK-NEXT: [[V188:%.+]] = arith.shli [[V169]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V189:%.+]] = arith.subi [[V175]], [[V188]] : vector<4xi16>
// CHECK-NEXT: [[V190:%.+]] = arith.addi [[V187]], [[V189]] : vector<4xi16>
// CHECK-NEXT: [[V191:%.+]] = arith.subi [[V187]], [[V189]] : vector<4xi16>
// CHECK-NEXT: [[V192:%.+]] = arith.subi [[V175]], [[V169]] : vector<4xi16>
// CHECK-NEXT: [[V193:%.+]] = arith.shli [[V192]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V194:%.+]] = arith.addi [[V183]], [[V193]] : vector<4xi16>
// CHECK-NEXT: [[V195:%.+]] = arith.subi [[V183]], [[V193]] : vector<4xi16>
// CHECK-NEXT: [[V196:%.+]] = arith.subi [[V181]], [[V175]] : vector<4xi16>
// CHECK-NEXT: [[V197:%.+]] = arith.shli [[V192]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V198:%.+]] = arith.subi [[V196]], [[V197]] : vector<4xi16>
// CHECK-NEXT: [[V199:%.+]] = simd.load [[V0]][[[V3]], [[V28]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V200:%.+]] = simd.convert [[V199]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V201:%.+]] = arith.addi [[V28]], [[V5]] : index
// CHECK-NEXT: [[V202:%.+]] = simd.load [[V0]][[[V3]], [[V201]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V203:%.+]] = simd.convert [[V202]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V204:%.+]] = arith.addi [[V28]], [[V4]] : index
// CHECK-NEXT: [[V205:%.+]] = simd.load [[V0]][[[V3]], [[V204]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V206:%.+]] = simd.convert [[V205]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V207:%.+]] = arith.addi [[V28]], [[V7]] : index
// CHECK-NEXT: [[V208:%.+]] = simd.load [[V0]][[[V3]], [[V207]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V209:%.+]] = simd.convert [[V208]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V210:%.+]] = arith.addi [[V28]], [[V6]] : index
// CHECK-NEXT: [[V211:%.+]] = simd.load [[V0]][[[V3]], [[V210]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V212:%.+]] = simd.convert [[V211]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V213:%.+]] = arith.addi [[V28]], [[V8]] : index
// CHECK-NEXT: [[V214:%.+]] = simd.load [[V0]][[[V3]], [[V213]], [[V8]], [[V3]]] : memref<1x7x6x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V215:%.+]] = simd.convert [[V214]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V216:%.+]] = arith.subi [[V200]], [[V206]] : vector<4xi16>
// CHECK-NEXT: [[V217:%.+]] = arith.subi [[V212]], [[V206]] : vector<4xi16>
// CHECK-NEXT: [[V218:%.+]] = arith.shli [[V216]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V219:%.+]] = arith.addi [[V218]], [[V217]] : vector<4xi16>
// CHECK-NEXT: [[V220:%.+]] = arith.shli [[V206]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V221:%.+]] = arith.subi [[V212]], [[V220]] : vector<4xi16>
// CHECK-NEXT: [[V222:%.+]] = arith.shli [[V203]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V223:%.+]] = arith.subi [[V209]], [[V222]] : vector<4xi16>
// CHECK-NEXT: [[V224:%.+]] = arith.addi [[V221]], [[V223]] : vector<4xi16>
// CHECK-NEXT: [[V225:%.+]] = arith.subi [[V221]], [[V223]] : vector<4xi16>
// CHECK-NEXT: [[V226:%.+]] = arith.subi [[V209]], [[V203]] : vector<4xi16>
// CHECK-NEXT: [[V227:%.+]] = arith.shli [[V226]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V228:%.+]] = arith.addi [[V217]], [[V227]] : vector<4xi16>
// CHECK-NEXT: [[V229:%.+]] = arith.subi [[V217]], [[V227]] : vector<4xi16>
// CHECK-NEXT: [[V230:%.+]] = arith.subi [[V215]], [[V209]] : vector<4xi16>
// CHECK-NEXT: [[V231:%.+]] = arith.shli [[V226]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V232:%.+]] = arith.subi [[V230]], [[V231]] : vector<4xi16>
// CHECK-NEXT: [[V233:%.+]] = arith.subi [[V49]], [[V117]] : vector<4xi16>
// CHECK-NEXT: [[V234:%.+]] = arith.subi [[V185]], [[V117]] : vector<4xi16>
// CHECK-NEXT: [[V235:%.+]] = arith.shli [[V233]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V236:%.+]] = arith.addi [[V235]], [[V234]] : vector<4xi16>
// CHECK-NEXT: [[V237:%.+]] = arith.shli [[V117]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V238:%.+]] = arith.subi [[V185]], [[V237]] : vector<4xi16>
// CHECK-NEXT: [[V239:%.+]] = arith.shli [[V83]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V240:%.+]] = arith.subi [[V151]], [[V239]] : vector<4xi16>
// CHECK-NEXT: [[V241:%.+]] = arith.addi [[V238]], [[V240]] : vector<4xi16>
// CHECK-NEXT: [[V242:%.+]] = arith.subi [[V238]], [[V240]] : vector<4xi16>
// CHECK-NEXT: [[V243:%.+]] = arith.subi [[V151]], [[V83]] : vector<4xi16>
// CHECK-NEXT: [[V244:%.+]] = arith.shli [[V243]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V245:%.+]] = arith.addi [[V234]], [[V244]] : vector<4xi16>
// CHECK-NEXT: [[V246:%.+]] = arith.subi [[V234]], [[V244]] : vector<4xi16>
// CHECK-NEXT: [[V247:%.+]] = arith.subi [[V219]], [[V151]] : vector<4xi16>
// CHECK-NEXT: [[V248:%.+]] = arith.shli [[V243]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V249:%.+]] = arith.subi [[V247]], [[V248]] : vector<4xi16>
// CHECK-NEXT: [[V250:%.+]] = arith.subi [[V54]], [[V122]] : vector<4xi16>
// CHECK-NEXT: [[V251:%.+]] = arith.subi [[V190]], [[V122]] : vector<4xi16>
// CHECK-NEXT: [[V252:%.+]] = arith.shli [[V250]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V253:%.+]] = arith.addi [[V252]], [[V251]] : vector<4xi16>
// CHECK-NEXT: [[V254:%.+]] = arith.shli [[V122]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V255:%.+]] = arith.subi [[V190]], [[V254]] : vector<4xi16>
// CHECK-NEXT: [[V256:%.+]] = arith.shli [[V88]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V257:%.+]] = arith.subi [[V156]], [[V256]] : vector<4xi16>
// CHECK-NEXT: [[V258:%.+]] = arith.addi [[V255]], [[V257]] : vector<4xi16>
// CHECK-NEXT: [[V259:%.+]] = arith.subi [[V255]], [[V257]] : vector<4xi16>
// CHECK-NEXT: [[V260:%.+]] = arith.subi [[V156]], [[V88]] : vector<4xi16>
// CHECK-NEXT: [[V261:%.+]] = arith.shli [[V260]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V262:%.+]] = arith.addi [[V251]], [[V261]] : vector<4xi16>
// CHECK-NEXT: [[V263:%.+]] = arith.subi [[V251]], [[V261]] : vector<4xi16>
// CHECK-NEXT: [[V264:%.+]] = arith.subi [[V224]], [[V156]] : vector<4xi16>
// CHECK-NEXT: [[V265:%.+]] = arith.shli [[V260]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V266:%.+]] = arith.subi [[V264]], [[V265]] : vector<4xi16>
// CHECK-NEXT: [[V267:%.+]] = arith.subi [[V55]], [[V123]] : vector<4xi16>
// CHECK-NEXT: [[V268:%.+]] = arith.subi [[V191]], [[V123]] : vector<4xi16>
// CHECK-NEXT: [[V269:%.+]] = arith.shli [[V267]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V270:%.+]] = arith.addi [[V269]], [[V268]] : vector<4xi16>
// CHECK-NEXT: [[V271:%.+]] = arith.shli [[V123]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V272:%.+]] = arith.subi [[V191]], [[V271]] : vector<4xi16>
// CHECK-NEXT: [[V273:%.+]] = arith.shli [[V89]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V274:%.+]] = arith.subi [[V157]], [[V273]] : vector<4xi16>
// CHECK-NEXT: [[V275:%.+]] = arith.addi [[V272]], [[V274]] : vector<4xi16>
// CHECK-NEXT: [[V276:%.+]] = arith.subi [[V272]], [[V274]] : vector<4xi16>
// CHECK-NEXT: [[V277:%.+]] = arith.subi [[V157]], [[V89]] : vector<4xi16>
// CHECK-NEXT: [[V278:%.+]] = arith.shli [[V277]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V279:%.+]] = arith.addi [[V268]], [[V278]] : vector<4xi16>
// CHECK-NEXT: [[V280:%.+]] = arith.subi [[V268]], [[V278]] : vector<4xi16>
// CHECK-NEXT: [[V281:%.+]] = arith.subi [[V225]], [[V157]] : vector<4xi16>
// CHECK-NEXT: [[V282:%.+]] = arith.shli [[V277]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V283:%.+]] = arith.subi [[V281]], [[V282]] : vector<4xi16>
// CHECK-NEXT: [[V284:%.+]] = arith.subi [[V58]], [[V126]] : vector<4xi16>
// CHECK-NEXT: [[V285:%.+]] = arith.subi [[V194]], [[V126]] : vector<4xi16>
// CHECK-NEXT: [[V286:%.+]] = arith.shli [[V284]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V287:%.+]] = arith.addi [[V286]], [[V285]] : vector<4xi16>
// CHECK-NEXT: [[V288:%.+]] = arith.shli [[V126]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V289:%.+]] = arith.subi [[V194]], [[V288]] : vector<4xi16>
// CHECK-NEXT: [[V290:%.+]] = arith.shli [[V92]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V291:%.+]] = arith.subi [[V160]], [[V290]] : vector<4xi16>
// CHECK-NEXT: [[V292:%.+]] = arith.addi [[V289]], [[V291]] : vector<4xi16>
// CHECK-NEXT: [[V293:%.+]] = arith.subi [[V289]], [[V291]] : vector<4xi16>
// CHECK-NEXT: [[V294:%.+]] = arith.subi [[V160]], [[V92]] : vector<4xi16>
// CHECK-NEXT: [[V295:%.+]] = arith.shli [[V294]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V296:%.+]] = arith.addi [[V285]], [[V295]] : vector<4xi16>
// CHECK-NEXT: [[V297:%.+]] = arith.subi [[V285]], [[V295]] : vector<4xi16>
// CHECK-NEXT: [[V298:%.+]] = arith.subi [[V228]], [[V160]] : vector<4xi16>
// CHECK-NEXT: [[V299:%.+]] = arith.shli [[V294]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V300:%.+]] = arith.subi [[V298]], [[V299]] : vector<4xi16>
// CHECK-NEXT: [[V301:%.+]] = arith.subi [[V59]], [[V127]] : vector<4xi16>
// CHECK-NEXT: [[V302:%.+]] = arith.subi [[V195]], [[V127]] : vector<4xi16>
// CHECK-NEXT: [[V303:%.+]] = arith.shli [[V301]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V304:%.+]] = arith.addi [[V303]], [[V302]] : vector<4xi16>
// CHECK-NEXT: [[V305:%.+]] = arith.shli [[V127]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V306:%.+]] = arith.subi [[V195]], [[V305]] : vector<4xi16>
// CHECK-NEXT: [[V307:%.+]] = arith.shli [[V93]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V308:%.+]] = arith.subi [[V161]], [[V307]] : vector<4xi16>
// CHECK-NEXT: [[V309:%.+]] = arith.addi [[V306]], [[V308]] : vector<4xi16>
// CHECK-NEXT: [[V310:%.+]] = arith.subi [[V306]], [[V308]] : vector<4xi16>
// CHECK-NEXT: [[V311:%.+]] = arith.subi [[V161]], [[V93]] : vector<4xi16>
// CHECK-NEXT: [[V312:%.+]] = arith.shli [[V311]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V313:%.+]] = arith.addi [[V302]], [[V312]] : vector<4xi16>
// CHECK-NEXT: [[V314:%.+]] = arith.subi [[V302]], [[V312]] : vector<4xi16>
// CHECK-NEXT: [[V315:%.+]] = arith.subi [[V229]], [[V161]] : vector<4xi16>
// CHECK-NEXT: [[V316:%.+]] = arith.shli [[V311]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V317:%.+]] = arith.subi [[V315]], [[V316]] : vector<4xi16>
// CHECK-NEXT: [[V318:%.+]] = arith.subi [[V62]], [[V130]] : vector<4xi16>
// CHECK-NEXT: [[V319:%.+]] = arith.subi [[V198]], [[V130]] : vector<4xi16>
// CHECK-NEXT: [[V320:%.+]] = arith.shli [[V318]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V321:%.+]] = arith.addi [[V320]], [[V319]] : vector<4xi16>
// CHECK-NEXT: [[V322:%.+]] = arith.shli [[V130]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V323:%.+]] = arith.subi [[V198]], [[V322]] : vector<4xi16>
// CHECK-NEXT: [[V324:%.+]] = arith.shli [[V96]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V325:%.+]] = arith.subi [[V164]], [[V324]] : vector<4xi16>
// CHECK-NEXT: [[V326:%.+]] = arith.addi [[V323]], [[V325]] : vector<4xi16>
// CHECK-NEXT: [[V327:%.+]] = arith.subi [[V323]], [[V325]] : vector<4xi16>
// CHECK-NEXT: [[V328:%.+]] = arith.subi [[V164]], [[V96]] : vector<4xi16>
// CHECK-NEXT: [[V329:%.+]] = arith.shli [[V328]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V330:%.+]] = arith.addi [[V319]], [[V329]] : vector<4xi16>
// CHECK-NEXT: [[V331:%.+]] = arith.subi [[V319]], [[V329]] : vector<4xi16>
// CHECK-NEXT: [[V332:%.+]] = arith.subi [[V232]], [[V164]] : vector<4xi16>
// CHECK-NEXT: [[V333:%.+]] = arith.shli [[V328]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V334:%.+]] = arith.subi [[V332]], [[V333]] : vector<4xi16>
// CHECK-NEXT: simd.store [[V236]], [[V24]][[[V3]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V241]], [[V24]][[[V3]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V242]], [[V24]][[[V3]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V245]], [[V24]][[[V3]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V246]], [[V24]][[[V3]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V249]], [[V24]][[[V3]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V253]], [[V24]][[[V5]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V258]], [[V24]][[[V5]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V259]], [[V24]][[[V5]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V262]], [[V24]][[[V5]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V263]], [[V24]][[[V5]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V266]], [[V24]][[[V5]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V270]], [[V24]][[[V4]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V275]], [[V24]][[[V4]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V276]], [[V24]][[[V4]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V279]], [[V24]][[[V4]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V280]], [[V24]][[[V4]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V283]], [[V24]][[[V4]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V287]], [[V24]][[[V7]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V292]], [[V24]][[[V7]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V293]], [[V24]][[[V7]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V296]], [[V24]][[[V7]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V297]], [[V24]][[[V7]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V300]], [[V24]][[[V7]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V304]], [[V24]][[[V6]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V309]], [[V24]][[[V6]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V310]], [[V24]][[[V6]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V313]], [[V24]][[[V6]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V314]], [[V24]][[[V6]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V317]], [[V24]][[[V6]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V321]], [[V24]][[[V8]], [[V3]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V326]], [[V24]][[[V8]], [[V5]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V327]], [[V24]][[[V8]], [[V4]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V330]], [[V24]][[[V8]], [[V7]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V331]], [[V24]][[[V8]], [[V6]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK-NEXT: simd.store [[V334]], [[V24]][[[V8]], [[V8]], [[V26]], [[V3]]] : vector<4xi16>, memref<6x6x3x8xi16>
// CHECK: scf.for [[V335:%.+]] = [[V3]] to [[V13]] step [[V5]] {
// CHECK-NEXT: scf.for [[V336:%.+]] = [[V3]] to [[V13]] step [[V5]] {
// CHECK-NEXT: [[V337:%.+]], [[V338:%.+]] = scf.for [[V339:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V340:%.+]] = [[V15]], [[V341:%.+]] = [[V15]]) -> (vector<2xi32>, vector<2xi32>) {
// CHECK-NEXT: [[V342:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V335]], [[V336]], [[V339]], [[V3]]] : memref<1x1x6x6x2x4xi16> to vector<4xi16>
// CHECK-NEXT: [[V343:%.+]] = arith.muli [[V339]], [[V4]] : index
// CHECK-NEXT: [[V344:%.+]] = simd.load_group_splat [[V24]][[[V335]], [[V336]], [[V3]], [[V343]]] : memref<6x6x3x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V345:%.+]] = simd.dot_accumulate [[V340]], [[V344]], [[V342]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V346:%.+]] = arith.muli [[V339]], [[V4]] : index
// CHECK-NEXT: [[V347:%.+]] = simd.load_group_splat [[V24]][[[V335]], [[V336]], [[V5]], [[V346]]] : memref<6x6x3x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V348:%.+]] = simd.dot_accumulate [[V341]], [[V347]], [[V342]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: scf.yield [[V345]], [[V348]] : vector<2xi32>, vector<2xi32>
// CHECK: simd.store [[V337]], [[V25]][[[V335]], [[V336]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x3x2xi32>
// CHECK-NEXT: simd.store [[V338]], [[V25]][[[V335]], [[V336]], [[V5]], [[V3]]] : vector<2xi32>, memref<6x6x3x2xi32>
// CHECK: scf.for [[V349:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V350:%.+]] = arith.muli [[V349]], [[V6]] : index
// CHECK-NEXT: [[V351:%.+]] = arith.minsi [[V350]], [[V5]] : index
// CHECK-NEXT: [[V352:%.+]] = simd.load [[V25]][[[V3]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V353:%.+]] = simd.load [[V25]][[[V5]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V354:%.+]] = simd.load [[V25]][[[V4]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V355:%.+]] = simd.load [[V25]][[[V7]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V356:%.+]] = simd.load [[V25]][[[V6]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V357:%.+]] = simd.load [[V25]][[[V8]], [[V3]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V358:%.+]] = arith.addi [[V353]], [[V354]] : vector<2xi32>
// CHECK-NEXT: [[V359:%.+]] = arith.subi [[V353]], [[V354]] : vector<2xi32>
// CHECK-NEXT: [[V360:%.+]] = arith.addi [[V355]], [[V356]] : vector<2xi32>
// CHECK-NEXT: [[V361:%.+]] = arith.subi [[V355]], [[V356]] : vector<2xi32>
// CHECK-NEXT: [[V362:%.+]] = arith.addi [[V352]], [[V358]] : vector<2xi32>
// CHECK-NEXT: [[V363:%.+]] = arith.addi [[V362]], [[V360]] : vector<2xi32>
// CHECK-NEXT: [[V364:%.+]] = arith.shli [[V361]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V365:%.+]] = arith.addi [[V364]], [[V359]] : vector<2xi32>
// CHECK-NEXT: [[V366:%.+]] = arith.shli [[V360]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V367:%.+]] = arith.addi [[V366]], [[V358]] : vector<2xi32>
// CHECK-NEXT: [[V368:%.+]] = arith.shli [[V361]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V369:%.+]] = arith.addi [[V368]], [[V357]] : vector<2xi32>
// CHECK-NEXT: [[V370:%.+]] = arith.shli [[V369]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V371:%.+]] = arith.addi [[V370]], [[V359]] : vector<2xi32>
// CHECK-NEXT: [[V372:%.+]] = simd.load [[V25]][[[V3]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V373:%.+]] = simd.load [[V25]][[[V5]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V374:%.+]] = simd.load [[V25]][[[V4]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V375:%.+]] = simd.load [[V25]][[[V7]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V376:%.+]] = simd.load [[V25]][[[V6]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V377:%.+]] = simd.load [[V25]][[[V8]], [[V5]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V378:%.+]] = arith.addi [[V373]], [[V374]] : vector<2xi32>
// CHECK-NEXT: [[V379:%.+]] = arith.subi [[V373]], [[V374]] : vector<2xi32>
// CHECK-NEXT: [[V380:%.+]] = arith.addi [[V375]], [[V376]] : vector<2xi32>
// CHECK-NEXT: [[V381:%.+]] = arith.subi [[V375]], [[V376]] : vector<2xi32>
// CHECK-NEXT: [[V382:%.+]] = arith.addi [[V372]], [[V378]] : vector<2xi32>
// CHECK-NEXT: [[V383:%.+]] = arith.addi [[V382]], [[V380]] : vector<2xi32>
// CHECK-NEXT: [[V384:%.+]] = arith.shli [[V381]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V385:%.+]] = arith.addi [[V384]], [[V379]] : vector<2xi32>
// CHECK-NEXT: [[V386:%.+]] = arith.shli [[V380]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V387:%.+]] = arith.addi [[V386]], [[V378]] : vector<2xi32>
// CHECK-NEXT: [[V388:%.+]] = arith.shli [[V381]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V389:%.+]] = arith.addi [[V388]], [[V377]] : vector<2xi32>
// CHECK-NEXT: [[V390:%.+]] = arith.shli [[V389]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V391:%.+]] = arith.addi [[V390]], [[V379]] : vector<2xi32>
// CHECK-NEXT: [[V392:%.+]] = simd.load [[V25]][[[V3]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V393:%.+]] = simd.load [[V25]][[[V5]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V394:%.+]] = simd.load [[V25]][[[V4]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V395:%.+]] = simd.load [[V25]][[[V7]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V396:%.+]] = simd.load [[V25]][[[V6]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V397:%.+]] = simd.load [[V25]][[[V8]], [[V4]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V398:%.+]] = arith.addi [[V393]], [[V394]] : vector<2xi32>
// CHECK-NEXT: [[V399:%.+]] = arith.subi [[V393]], [[V394]] : vector<2xi32>
// CHECK-NEXT: [[V400:%.+]] = arith.addi [[V395]], [[V396]] : vector<2xi32>
// CHECK-NEXT: [[V401:%.+]] = arith.subi [[V395]], [[V396]] : vector<2xi32>
// CHECK-NEXT: [[V402:%.+]] = arith.addi [[V392]], [[V398]] : vector<2xi32>
// CHECK-NEXT: [[V403:%.+]] = arith.addi [[V402]], [[V400]] : vector<2xi32>
// CHECK-NEXT: [[V404:%.+]] = arith.shli [[V401]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V405:%.+]] = arith.addi [[V404]], [[V399]] : vector<2xi32>
// CHECK-NEXT: [[V406:%.+]] = arith.shli [[V400]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V407:%.+]] = arith.addi [[V406]], [[V398]] : vector<2xi32>
// CHECK-NEXT: [[V408:%.+]] = arith.shli [[V401]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V409:%.+]] = arith.addi [[V408]], [[V397]] : vector<2xi32>
// CHECK-NEXT: [[V410:%.+]] = arith.shli [[V409]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V411:%.+]] = arith.addi [[V410]], [[V399]] : vector<2xi32>
// CHECK-NEXT: [[V412:%.+]] = simd.load [[V25]][[[V3]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V413:%.+]] = simd.load [[V25]][[[V5]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V414:%.+]] = simd.load [[V25]][[[V4]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V415:%.+]] = simd.load [[V25]][[[V7]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V416:%.+]] = simd.load [[V25]][[[V6]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V417:%.+]] = simd.load [[V25]][[[V8]], [[V7]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V418:%.+]] = arith.addi [[V413]], [[V414]] : vector<2xi32>
// CHECK-NEXT: [[V419:%.+]] = arith.subi [[V413]], [[V414]] : vector<2xi32>
// CHECK-NEXT: [[V420:%.+]] = arith.addi [[V415]], [[V416]] : vector<2xi32>
// CHECK-NEXT: [[V421:%.+]] = arith.subi [[V415]], [[V416]] : vector<2xi32>
// CHECK-NEXT: [[V422:%.+]] = arith.addi [[V412]], [[V418]] : vector<2xi32>
// CHECK-NEXT: [[V423:%.+]] = arith.addi [[V422]], [[V420]] : vector<2xi32>
// CHECK-NEXT: [[V424:%.+]] = arith.shli [[V421]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V425:%.+]] = arith.addi [[V424]], [[V419]] : vector<2xi32>
// CHECK-NEXT: [[V426:%.+]] = arith.shli [[V420]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V427:%.+]] = arith.addi [[V426]], [[V418]] : vector<2xi32>
// CHECK-NEXT: [[V428:%.+]] = arith.shli [[V421]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V429:%.+]] = arith.addi [[V428]], [[V417]] : vector<2xi32>
// CHECK-NEXT: [[V430:%.+]] = arith.shli [[V429]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V431:%.+]] = arith.addi [[V430]], [[V419]] : vector<2xi32>
// CHECK-NEXT: [[V432:%.+]] = simd.load [[V25]][[[V3]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V433:%.+]] = simd.load [[V25]][[[V5]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V434:%.+]] = simd.load [[V25]][[[V4]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V435:%.+]] = simd.load [[V25]][[[V7]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V436:%.+]] = simd.load [[V25]][[[V6]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V437:%.+]] = simd.load [[V25]][[[V8]], [[V6]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V438:%.+]] = arith.addi [[V433]], [[V434]] : vector<2xi32>
// CHECK-NEXT: [[V439:%.+]] = arith.subi [[V433]], [[V434]] : vector<2xi32>
// CHECK-NEXT: [[V440:%.+]] = arith.addi [[V435]], [[V436]] : vector<2xi32>
// CHECK-NEXT: [[V441:%.+]] = arith.subi [[V435]], [[V436]] : vector<2xi32>
// CHECK-NEXT: [[V442:%.+]] = arith.addi [[V432]], [[V438]] : vector<2xi32>
// CHECK-NEXT: [[V443:%.+]] = arith.addi [[V442]], [[V440]] : vector<2xi32>
// CHECK-NEXT: [[V444:%.+]] = arith.shli [[V441]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V445:%.+]] = arith.addi [[V444]], [[V439]] : vector<2xi32>
// CHECK-NEXT: [[V446:%.+]] = arith.shli [[V440]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V447:%.+]] = arith.addi [[V446]], [[V438]] : vector<2xi32>
// CHECK-NEXT: [[V448:%.+]] = arith.shli [[V441]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V449:%.+]] = arith.addi [[V448]], [[V437]] : vector<2xi32>
// CHECK-NEXT: [[V450:%.+]] = arith.shli [[V449]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V451:%.+]] = arith.addi [[V450]], [[V439]] : vector<2xi32>
// CHECK-NEXT: [[V452:%.+]] = simd.load [[V25]][[[V3]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V453:%.+]] = simd.load [[V25]][[[V5]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V454:%.+]] = simd.load [[V25]][[[V4]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V455:%.+]] = simd.load [[V25]][[[V7]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V456:%.+]] = simd.load [[V25]][[[V6]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V457:%.+]] = simd.load [[V25]][[[V8]], [[V8]], [[V349]], [[V3]]] : memref<6x6x3x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V458:%.+]] = arith.addi [[V453]], [[V454]] : vector<2xi32>
// CHECK-NEXT: [[V459:%.+]] = arith.subi [[V453]], [[V454]] : vector<2xi32>
// CHECK-NEXT: [[V460:%.+]] = arith.addi [[V455]], [[V456]] : vector<2xi32>
// CHECK-NEXT: [[V461:%.+]] = arith.subi [[V455]], [[V456]] : vector<2xi32>
// CHECK-NEXT: [[V462:%.+]] = arith.addi [[V452]], [[V458]] : vector<2xi32>
// CHECK-NEXT: [[V463:%.+]] = arith.addi [[V462]], [[V460]] : vector<2xi32>
// CHECK-NEXT: [[V464:%.+]] = arith.shli [[V461]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V465:%.+]] = arith.addi [[V464]], [[V459]] : vector<2xi32>
// CHECK-NEXT: [[V466:%.+]] = arith.shli [[V460]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V467:%.+]] = arith.addi [[V466]], [[V458]] : vector<2xi32>
// CHECK-NEXT: [[V468:%.+]] = arith.shli [[V461]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V469:%.+]] = arith.addi [[V468]], [[V457]] : vector<2xi32>
// CHECK-NEXT: [[V470:%.+]] = arith.shli [[V469]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V471:%.+]] = arith.addi [[V470]], [[V459]] : vector<2xi32>
// CHECK-NEXT: [[V472:%.+]] = arith.addi [[V383]], [[V403]] : vector<2xi32>
// CHECK-NEXT: [[V473:%.+]] = arith.subi [[V383]], [[V403]] : vector<2xi32>
// CHECK-NEXT: [[V474:%.+]] = arith.addi [[V423]], [[V443]] : vector<2xi32>
// CHECK-NEXT: [[V475:%.+]] = arith.subi [[V423]], [[V443]] : vector<2xi32>
// CHECK-NEXT: [[V476:%.+]] = arith.addi [[V363]], [[V472]] : vector<2xi32>
// CHECK-NEXT: [[V477:%.+]] = arith.addi [[V476]], [[V474]] : vector<2xi32>
// CHECK-NEXT: [[V478:%.+]] = arith.shli [[V475]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V479:%.+]] = arith.addi [[V478]], [[V473]] : vector<2xi32>
// CHECK-NEXT: [[V480:%.+]] = arith.shli [[V474]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V481:%.+]] = arith.addi [[V480]], [[V472]] : vector<2xi32>
// CHECK-NEXT: [[V482:%.+]] = arith.shli [[V475]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V483:%.+]] = arith.addi [[V482]], [[V463]] : vector<2xi32>
// CHECK-NEXT: [[V484:%.+]] = arith.shli [[V483]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V485:%.+]] = arith.addi [[V484]], [[V473]] : vector<2xi32>
// CHECK-NEXT: [[V486:%.+]] = arith.addi [[V385]], [[V405]] : vector<2xi32>
// CHECK-NEXT: [[V487:%.+]] = arith.subi [[V385]], [[V405]] : vector<2xi32>
// CHECK-NEXT: [[V488:%.+]] = arith.addi [[V425]], [[V445]] : vector<2xi32>
// CHECK-NEXT: [[V489:%.+]] = arith.subi [[V425]], [[V445]] : vector<2xi32>
// CHECK-NEXT: [[V490:%.+]] = arith.addi [[V365]], [[V486]] : vector<2xi32>
// CHECK-NEXT: [[V491:%.+]] = arith.addi [[V490]], [[V488]] : vector<2xi32>
// CHECK-NEXT: [[V492:%.+]] = arith.shli [[V489]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V493:%.+]] = arith.addi [[V492]], [[V487]] : vector<2xi32>
// CHECK-NEXT: [[V494:%.+]] = arith.shli [[V488]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V495:%.+]] = arith.addi [[V494]], [[V486]] : vector<2xi32>
// CHECK-NEXT: [[V496:%.+]] = arith.shli [[V489]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V497:%.+]] = arith.addi [[V496]], [[V465]] : vector<2xi32>
// CHECK-NEXT: [[V498:%.+]] = arith.shli [[V497]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V499:%.+]] = arith.addi [[V498]], [[V487]] : vector<2xi32>
// CHECK-NEXT: [[V500:%.+]] = arith.addi [[V387]], [[V407]] : vector<2xi32>
// CHECK-NEXT: [[V501:%.+]] = arith.subi [[V387]], [[V407]] : vector<2xi32>
// CHECK-NEXT: [[V502:%.+]] = arith.addi [[V427]], [[V447]] : vector<2xi32>
// CHECK-NEXT: [[V503:%.+]] = arith.subi [[V427]], [[V447]] : vector<2xi32>
// CHECK-NEXT: [[V504:%.+]] = arith.addi [[V367]], [[V500]] : vector<2xi32>
// CHECK-NEXT: [[V505:%.+]] = arith.addi [[V504]], [[V502]] : vector<2xi32>
// CHECK-NEXT: [[V506:%.+]] = arith.shli [[V503]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V507:%.+]] = arith.addi [[V506]], [[V501]] : vector<2xi32>
// CHECK-NEXT: [[V508:%.+]] = arith.shli [[V502]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V509:%.+]] = arith.addi [[V508]], [[V500]] : vector<2xi32>
// CHECK-NEXT: [[V510:%.+]] = arith.shli [[V503]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V511:%.+]] = arith.addi [[V510]], [[V467]] : vector<2xi32>
// CHECK-NEXT: [[V512:%.+]] = arith.shli [[V511]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V513:%.+]] = arith.addi [[V512]], [[V501]] : vector<2xi32>
// CHECK-NEXT: [[V514:%.+]] = arith.addi [[V391]], [[V411]] : vector<2xi32>
// CHECK-NEXT: [[V515:%.+]] = arith.subi [[V391]], [[V411]] : vector<2xi32>
// CHECK-NEXT: [[V516:%.+]] = arith.addi [[V431]], [[V451]] : vector<2xi32>
// CHECK-NEXT: [[V517:%.+]] = arith.subi [[V431]], [[V451]] : vector<2xi32>
// CHECK-NEXT: [[V518:%.+]] = arith.addi [[V371]], [[V514]] : vector<2xi32>
// CHECK-NEXT: [[V519:%.+]] = arith.addi [[V518]], [[V516]] : vector<2xi32>
// CHECK-NEXT: [[V520:%.+]] = arith.shli [[V517]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V521:%.+]] = arith.addi [[V520]], [[V515]] : vector<2xi32>
// CHECK-NEXT: [[V522:%.+]] = arith.shli [[V516]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V523:%.+]] = arith.addi [[V522]], [[V514]] : vector<2xi32>
// CHECK-NEXT: [[V524:%.+]] = arith.shli [[V517]], [[V19]] : vector<2xi32>
// CHECK-NEXT: [[V525:%.+]] = arith.addi [[V524]], [[V471]] : vector<2xi32>
// CHECK-NEXT: [[V526:%.+]] = arith.shli [[V525]], [[V17]] : vector<2xi32>
// CHECK-NEXT: [[V527:%.+]] = arith.addi [[V526]], [[V515]] : vector<2xi32>
// CHECK-NEXT: [[V528:%.+]] = arith.muli [[V477]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V529:%.+]] = arith.shrsi [[V528]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V530:%.+]] = arith.muli [[V479]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V531:%.+]] = arith.shrsi [[V530]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V532:%.+]] = arith.muli [[V481]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V533:%.+]] = arith.shrsi [[V532]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V534:%.+]] = arith.muli [[V485]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V535:%.+]] = arith.shrsi [[V534]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V536:%.+]] = arith.muli [[V491]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V537:%.+]] = arith.shrsi [[V536]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V538:%.+]] = arith.muli [[V493]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V539:%.+]] = arith.shrsi [[V538]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V540:%.+]] = arith.muli [[V495]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V541:%.+]] = arith.shrsi [[V540]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V542:%.+]] = arith.muli [[V499]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V543:%.+]] = arith.shrsi [[V542]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V544:%.+]] = arith.muli [[V505]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V545:%.+]] = arith.shrsi [[V544]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V546:%.+]] = arith.muli [[V507]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V547:%.+]] = arith.shrsi [[V546]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V548:%.+]] = arith.muli [[V509]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V549:%.+]] = arith.shrsi [[V548]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V550:%.+]] = arith.muli [[V513]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V551:%.+]] = arith.shrsi [[V550]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V552:%.+]] = arith.muli [[V519]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V553:%.+]] = arith.shrsi [[V552]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V554:%.+]] = arith.muli [[V521]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V555:%.+]] = arith.shrsi [[V554]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V556:%.+]] = arith.muli [[V523]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V557:%.+]] = arith.shrsi [[V556]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V558:%.+]] = arith.muli [[V527]], [[V21]] : vector<2xi32>
// CHECK-NEXT: [[V559:%.+]] = arith.shrsi [[V558]], [[V23]] : vector<2xi32>
// CHECK-NEXT: [[V560:%.+]] = arith.cmpi eq, [[V351]], [[V350]] : index
// CHECK-NEXT: scf.if [[V560]] {
// CHECK-NEXT: simd.store [[V529]], [[V2]][[[V3]], [[V351]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V531]], [[V2]][[[V3]], [[V351]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V533]], [[V2]][[[V3]], [[V351]], [[V4]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V535]], [[V2]][[[V3]], [[V351]], [[V7]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V561:%.+]] = arith.addi [[V351]], [[V5]] : index
// CHECK-NEXT: simd.store [[V537]], [[V2]][[[V3]], [[V561]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V539]], [[V2]][[[V3]], [[V561]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V541]], [[V2]][[[V3]], [[V561]], [[V4]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V543]], [[V2]][[[V3]], [[V561]], [[V7]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: [[V562:%.+]] = arith.addi [[V351]], [[V4]] : index
// CHECK-NEXT: simd.store [[V545]], [[V2]][[[V3]], [[V562]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V547]], [[V2]][[[V3]], [[V562]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V549]], [[V2]][[[V3]], [[V562]], [[V4]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V551]], [[V2]][[[V3]], [[V562]], [[V7]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK: [[V563:%.+]] = arith.addi [[V351]], [[V7]] : index
// CHECK-NEXT: simd.store [[V553]], [[V2]][[[V3]], [[V563]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V555]], [[V2]][[[V3]], [[V563]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V557]], [[V2]][[[V3]], [[V563]], [[V4]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK-NEXT: simd.store [[V559]], [[V2]][[[V3]], [[V563]], [[V7]], [[V3]]] : vector<2xi32>, memref<1x5x4x2xi32>
// CHECK: func.return
func.func @odd(%x: memref<1x7x6x4xi8>, %w: memref<1x1x6x6x2x4xi16>, %y: memref<1x5x4x2xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x7x6x4xi8>, memref<1x1x6x6x2x4xi16>) outs(%y : memref<1x5x4x2xi32>) attributes {algorithm = "f4",
    layout = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 2>, schedule = #kernel.schedule<rows = 2, block = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
