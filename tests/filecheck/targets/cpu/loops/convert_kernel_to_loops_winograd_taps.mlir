// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// One step of two channels: six rows of products of the only tile, of weights that are transformed in registers. Two
// threads have a block of two channels of the result each: both transform all inputs.
// CHECK-LABEL: @taps(
// CHECK-SAME: [[V0:%.+]]: memref<1x6x6x2xi8>, [[V1:%.+]]: memref<1x2x1x3x3x4xi8>, [[V2:%.+]]: memref<1x4x4x4xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 2 : i16
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V13:%.+]] = arith.constant 36 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V17:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V18:%.+]] = arith.constant 18 : index
// CHECK-NEXT: [[V19:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V20:%.+]] = arith.constant 30 : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V22:%.+]] = vector.broadcast [[V21]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V23:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.constant 954437177 : i32
// CHECK-NEXT: [[V26:%.+]] = vector.broadcast [[V25]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V27]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V29:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64, 4 : i64, 5 : i64]] : memref<1x2x1x3x3x4xi8> into memref<72xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V30:%.+]]: index):
// CHECK-NEXT: [[V31:%.+]] = memref.alloca() : memref<6x6x1x8xi16>
// CHECK-NEXT: [[V32:%.+]] = memref.alloca() : memref<6x6x1x2xi32>
// CHECK-NEXT: [[V33:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V33]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V37:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V38:%.+]] = simd.convert [[V37]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V39:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V40:%.+]] = simd.convert [[V39]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V41:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V43:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V43]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V45:%.+]] = arith.subi [[V34]], [[V38]] : vector<4xi16>
// CHECK-NEXT: [[V46:%.+]] = arith.subi [[V42]], [[V38]] : vector<4xi16>
// CHECK-NEXT: [[V47:%.+]] = arith.shli [[V45]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V47]], [[V46]] : vector<4xi16>
// CHECK-NEXT: [[V49:%.+]] = arith.shli [[V38]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V50:%.+]] = arith.subi [[V42]], [[V49]] : vector<4xi16>
// CHECK-NEXT: [[V51:%.+]] = arith.shli [[V36]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.subi [[V40]], [[V51]] : vector<4xi16>
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V50]], [[V52]] : vector<4xi16>
// CHECK-NEXT: [[V54:%.+]] = arith.subi [[V50]], [[V52]] : vector<4xi16>
// CHECK-NEXT: [[V55:%.+]] = arith.subi [[V40]], [[V36]] : vector<4xi16>
// CHECK-NEXT: [[V56:%.+]] = arith.shli [[V55]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V57:%.+]] = arith.addi [[V46]], [[V56]] : vector<4xi16>
// CHECK-NEXT: [[V58:%.+]] = arith.subi [[V46]], [[V56]] : vector<4xi16>
// CHECK-NEXT: [[V59:%.+]] = arith.subi [[V44]], [[V40]] : vector<4xi16>
// CHECK-NEXT: [[V60:%.+]] = arith.shli [[V55]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V61:%.+]] = arith.subi [[V59]], [[V60]] : vector<4xi16>
// CHECK-NEXT: [[V62:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V63:%.+]] = simd.convert [[V62]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V64:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V65:%.+]] = simd.convert [[V64]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V66:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V67:%.+]] = simd.convert [[V66]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V68:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.convert [[V68]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V70:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V71:%.+]] = simd.convert [[V70]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V72:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V73:%.+]] = simd.convert [[V72]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V74:%.+]] = arith.subi [[V63]], [[V67]] : vector<4xi16>
// CHECK-NEXT: [[V75:%.+]] = arith.subi [[V71]], [[V67]] : vector<4xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.shli [[V74]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.addi [[V76]], [[V75]] : vector<4xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.shli [[V67]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V79:%.+]] = arith.subi [[V71]], [[V78]] : vector<4xi16>
// CHECK-NEXT: [[V80:%.+]] = arith.shli [[V65]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V81:%.+]] = arith.subi [[V69]], [[V80]] : vector<4xi16>
// CHECK-NEXT: [[V82:%.+]] = arith.addi [[V79]], [[V81]] : vector<4xi16>
// CHECK-NEXT: [[V83:%.+]] = arith.subi [[V79]], [[V81]] : vector<4xi16>
// CHECK-NEXT: [[V84:%.+]] = arith.subi [[V69]], [[V65]] : vector<4xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.shli [[V84]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V86:%.+]] = arith.addi [[V75]], [[V85]] : vector<4xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.subi [[V75]], [[V85]] : vector<4xi16>
// CHECK-NEXT: [[V88:%.+]] = arith.subi [[V73]], [[V69]] : vector<4xi16>
// CHECK-NEXT: [[V89:%.+]] = arith.shli [[V84]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V90:%.+]] = arith.subi [[V88]], [[V89]] : vector<4xi16>
// CHECK-NEXT: [[V91:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V92:%.+]] = simd.convert [[V91]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V93:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V94:%.+]] = simd.convert [[V93]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V95:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V96:%.+]] = simd.convert [[V95]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V97:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V98:%.+]] = simd.convert [[V97]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V99:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V100:%.+]] = simd.convert [[V99]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V101:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V102:%.+]] = simd.convert [[V101]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V103:%.+]] = arith.subi [[V92]], [[V96]] : vector<4xi16>
// CHECK-NEXT: [[V104:%.+]] = arith.subi [[V100]], [[V96]] : vector<4xi16>
// CHECK-NEXT: [[V105:%.+]] = arith.shli [[V103]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V106:%.+]] = arith.addi [[V105]], [[V104]] : vector<4xi16>
// CHECK-NEXT: [[V107:%.+]] = arith.shli [[V96]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V108:%.+]] = arith.subi [[V100]], [[V107]] : vector<4xi16>
// CHECK-NEXT: [[V109:%.+]] = arith.shli [[V94]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V110:%.+]] = arith.subi [[V98]], [[V109]] : vector<4xi16>
// CHECK-NEXT: [[V111:%.+]] = arith.addi [[V108]], [[V110]] : vector<4xi16>
// CHECK-NEXT: [[V112:%.+]] = arith.subi [[V108]], [[V110]] : vector<4xi16>
// CHECK-NEXT: [[V113:%.+]] = arith.subi [[V98]], [[V94]] : vector<4xi16>
// CHECK-NEXT: [[V114:%.+]] = arith.shli [[V113]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V115:%.+]] = arith.addi [[V104]], [[V114]] : vector<4xi16>
// CHECK-NEXT: [[V116:%.+]] = arith.subi [[V104]], [[V114]] : vector<4xi16>
// CHECK-NEXT: [[V117:%.+]] = arith.subi [[V102]], [[V98]] : vector<4xi16>
// CHECK-NEXT: [[V118:%.+]] = arith.shli [[V113]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V119:%.+]] = arith.subi [[V117]], [[V118]] : vector<4xi16>
// CHECK-NEXT: [[V120:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V121:%.+]] = simd.convert [[V120]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V122:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V123:%.+]] = simd.convert [[V122]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V124:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V125:%.+]] = simd.convert [[V124]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V126:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V127:%.+]] = simd.convert [[V126]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V128:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V129:%.+]] = simd.convert [[V128]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V130:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V131:%.+]] = simd.convert [[V130]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V132:%.+]] = arith.subi [[V121]], [[V125]] : vector<4xi16>
// CHECK-NEXT: [[V133:%.+]] = arith.subi [[V129]], [[V125]] : vector<4xi16>
// CHECK-NEXT: [[V134:%.+]] = arith.shli [[V132]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V135:%.+]] = arith.addi [[V134]], [[V133]] : vector<4xi16>
// CHECK-NEXT: [[V136:%.+]] = arith.shli [[V125]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V137:%.+]] = arith.subi [[V129]], [[V136]] : vector<4xi16>
// CHECK-NEXT: [[V138:%.+]] = arith.shli [[V123]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V139:%.+]] = arith.subi [[V127]], [[V138]] : vector<4xi16>
// CHECK-NEXT: [[V140:%.+]] = arith.addi [[V137]], [[V139]] : vector<4xi16>
// CHECK-NEXT: [[V141:%.+]] = arith.subi [[V137]], [[V139]] : vector<4xi16>
// CHECK-NEXT: [[V142:%.+]] = arith.subi [[V127]], [[V123]] : vector<4xi16>
// CHECK-NEXT: [[V143:%.+]] = arith.shli [[V142]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V144:%.+]] = arith.addi [[V133]], [[V143]] : vector<4xi16>
// CHECK-NEXT: [[V145:%.+]] = arith.subi [[V133]], [[V143]] : vector<4xi16>
// CHECK-NEXT: [[V146:%.+]] = arith.subi [[V131]], [[V127]] : vector<4xi16>
// CHECK-NEXT: [[V147:%.+]] = arith.shli [[V142]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V148:%.+]] = arith.subi [[V146]], [[V147]] : vector<4xi16>
// CHECK-NEXT: [[V149:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V150:%.+]] = simd.convert [[V149]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V151:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V152:%.+]] = simd.convert [[V151]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V153:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V154:%.+]] = simd.convert [[V153]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V155:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V156:%.+]] = simd.convert [[V155]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V157:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V158:%.+]] = simd.convert [[V157]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V159:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V160:%.+]] = simd.convert [[V159]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V161:%.+]] = arith.subi [[V150]], [[V154]] : vector<4xi16>
// CHECK-NEXT: [[V162:%.+]] = arith.subi [[V158]], [[V154]] : vector<4xi16>
// CHECK-NEXT: [[V163:%.+]] = arith.shli [[V161]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V164:%.+]] = arith.addi [[V163]], [[V162]] : vector<4xi16>
// CHECK-NEXT: [[V165:%.+]] = arith.shli [[V154]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V166:%.+]] = arith.subi [[V158]], [[V165]] : vector<4xi16>
// CHECK-NEXT: [[V167:%.+]] = arith.shli [[V152]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V168:%.+]] = arith.subi [[V156]], [[V167]] : vector<4xi16>
// CHECK-NEXT: [[V169:%.+]] = arith.addi [[V166]], [[V168]] : vector<4xi16>
// CHECK-NEXT: [[V170:%.+]] = arith.subi [[V166]], [[V168]] : vector<4xi16>
// CHECK-NEXT: [[V171:%.+]] = arith.subi [[V156]], [[V152]] : vector<4xi16>
// CHECK-NEXT: [[V172:%.+]] = arith.shli [[V171]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V173:%.+]] = arith.addi [[V162]], [[V172]] : vector<4xi16>
// CHECK-NEXT: [[V174:%.+]] = arith.subi [[V162]], [[V172]] : vector<4xi16>
// CHECK-NEXT: [[V175:%.+]] = arith.subi [[V160]], [[V156]] : vector<4xi16>
// CHECK-NEXT: [[V176:%.+]] = arith.shli [[V171]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V177:%.+]] = arith.subi [[V175]], [[V176]] : vector<4xi16>
// CHECK-NEXT: [[V178:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V179:%.+]] = simd.convert [[V178]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V180:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V181:%.+]] = simd.convert [[V180]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V182:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V183:%.+]] = simd.convert [[V182]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V184:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V185:%.+]] = simd.convert [[V184]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V186:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V187:%.+]] = simd.convert [[V186]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V188:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V189:%.+]] = simd.convert [[V188]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V190:%.+]] = arith.subi [[V179]], [[V183]] : vector<4xi16>
// CHECK-NEXT: [[V191:%.+]] = arith.subi [[V187]], [[V183]] : vector<4xi16>
// CHECK-NEXT: [[V192:%.+]] = arith.shli [[V190]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V193:%.+]] = arith.addi [[V192]], [[V191]] : vector<4xi16>
// CHECK-NEXT: [[V194:%.+]] = arith.shli [[V183]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V195:%.+]] = arith.subi [[V187]], [[V194]] : vector<4xi16>
// CHECK-NEXT: [[V196:%.+]] = arith.shli [[V181]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V197:%.+]] = arith.subi [[V185]], [[V196]] : vector<4xi16>
// CHECK-NEXT: [[V198:%.+]] = arith.addi [[V195]], [[V197]] : vector<4xi16>
// CHECK-NEXT: [[V199:%.+]] = arith.subi [[V195]], [[V197]] : vector<4xi16>
// CHECK-NEXT: [[V200:%.+]] = arith.subi [[V185]], [[V181]] : vector<4xi16>
// CHECK-NEXT: [[V201:%.+]] = arith.shli [[V200]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V202:%.+]] = arith.addi [[V191]], [[V201]] : vector<4xi16>
// CHECK-NEXT: [[V203:%.+]] = arith.subi [[V191]], [[V201]] : vector<4xi16>
// CHECK-NEXT: [[V204:%.+]] = arith.subi [[V189]], [[V185]] : vector<4xi16>
// CHECK-NEXT: [[V205:%.+]] = arith.shli [[V200]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V206:%.+]] = arith.subi [[V204]], [[V205]] : vector<4xi16>
// CHECK-NEXT: [[V207:%.+]] = arith.subi [[V48]], [[V106]] : vector<4xi16>
// CHECK-NEXT: [[V208:%.+]] = arith.subi [[V164]], [[V106]] : vector<4xi16>
// CHECK-NEXT: [[V209:%.+]] = arith.shli [[V207]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V210:%.+]] = arith.addi [[V209]], [[V208]] : vector<4xi16>
// CHECK-NEXT: [[V211:%.+]] = arith.shli [[V106]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V212:%.+]] = arith.subi [[V164]], [[V211]] : vector<4xi16>
// CHECK-NEXT: [[V213:%.+]] = arith.shli [[V77]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V214:%.+]] = arith.subi [[V135]], [[V213]] : vector<4xi16>
// CHECK-NEXT: [[V215:%.+]] = arith.addi [[V212]], [[V214]] : vector<4xi16>
// CHECK-NEXT: [[V216:%.+]] = arith.subi [[V212]], [[V214]] : vector<4xi16>
// CHECK-NEXT: [[V217:%.+]] = arith.subi [[V135]], [[V77]] : vector<4xi16>
// CHECK-NEXT: [[V218:%.+]] = arith.shli [[V217]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V219:%.+]] = arith.addi [[V208]], [[V218]] : vector<4xi16>
// CHECK-NEXT: [[V220:%.+]] = arith.subi [[V208]], [[V218]] : vector<4xi16>
// CHECK-NEXT: [[V221:%.+]] = arith.subi [[V193]], [[V135]] : vector<4xi16>
// CHECK-NEXT: [[V222:%.+]] = arith.shli [[V217]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V223:%.+]] = arith.subi [[V221]], [[V222]] : vector<4xi16>
// CHECK-NEXT: [[V224:%.+]] = arith.subi [[V53]], [[V111]] : vector<4xi16>
// CHECK-NEXT: [[V225:%.+]] = arith.subi [[V169]], [[V111]] : vector<4xi16>
// CHECK-NEXT: [[V226:%.+]] = arith.shli [[V224]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V227:%.+]] = arith.addi [[V226]], [[V225]] : vector<4xi16>
// CHECK-NEXT: [[V228:%.+]] = arith.shli [[V111]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V229:%.+]] = arith.subi [[V169]], [[V228]] : vector<4xi16>
// CHECK-NEXT: [[V230:%.+]] = arith.shli [[V82]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V231:%.+]] = arith.subi [[V140]], [[V230]] : vector<4xi16>
// CHECK-NEXT: [[V232:%.+]] = arith.addi [[V229]], [[V231]] : vector<4xi16>
// CHECK-NEXT: [[V233:%.+]] = arith.subi [[V229]], [[V231]] : vector<4xi16>
// CHECK-NEXT: [[V234:%.+]] = arith.subi [[V140]], [[V82]] : vector<4xi16>
// CHECK-NEXT: [[V235:%.+]] = arith.shli [[V234]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V236:%.+]] = arith.addi [[V225]], [[V235]] : vector<4xi16>
// CHECK-NEXT: [[V237:%.+]] = arith.subi [[V225]], [[V235]] : vector<4xi16>
// CHECK-NEXT: [[V238:%.+]] = arith.subi [[V198]], [[V140]] : vector<4xi16>
// CHECK-NEXT: [[V239:%.+]] = arith.shli [[V234]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V240:%.+]] = arith.subi [[V238]], [[V239]] : vector<4xi16>
// CHECK-NEXT: [[V241:%.+]] = arith.subi [[V54]], [[V112]] : vector<4xi16>
// CHECK-NEXT: [[V242:%.+]] = arith.subi [[V170]], [[V112]] : vector<4xi16>
// CHECK-NEXT: [[V243:%.+]] = arith.shli [[V241]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V244:%.+]] = arith.addi [[V243]], [[V242]] : vector<4xi16>
// CHECK-NEXT: [[V245:%.+]] = arith.shli [[V112]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V246:%.+]] = arith.subi [[V170]], [[V245]] : vector<4xi16>
// CHECK-NEXT: [[V247:%.+]] = arith.shli [[V83]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V248:%.+]] = arith.subi [[V141]], [[V247]] : vector<4xi16>
// CHECK-NEXT: [[V249:%.+]] = arith.addi [[V246]], [[V248]] : vector<4xi16>
// CHECK-NEXT: [[V250:%.+]] = arith.subi [[V246]], [[V248]] : vector<4xi16>
// CHECK-NEXT: [[V251:%.+]] = arith.subi [[V141]], [[V83]] : vector<4xi16>
// CHECK-NEXT: [[V252:%.+]] = arith.shli [[V251]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V253:%.+]] = arith.addi [[V242]], [[V252]] : vector<4xi16>
// CHECK-NEXT: [[V254:%.+]] = arith.subi [[V242]], [[V252]] : vector<4xi16>
// CHECK-NEXT: [[V255:%.+]] = arith.subi [[V199]], [[V141]] : vector<4xi16>
// CHECK-NEXT: [[V256:%.+]] = arith.shli [[V251]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V257:%.+]] = arith.subi [[V255]], [[V256]] : vector<4xi16>
// CHECK-NEXT: [[V258:%.+]] = arith.subi [[V57]], [[V115]] : vector<4xi16>
// CHECK-NEXT: [[V259:%.+]] = arith.subi [[V173]], [[V115]] : vector<4xi16>
// CHECK-NEXT: [[V260:%.+]] = arith.shli [[V258]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V261:%.+]] = arith.addi [[V260]], [[V259]] : vector<4xi16>
// CHECK-NEXT: [[V262:%.+]] = arith.shli [[V115]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V263:%.+]] = arith.subi [[V173]], [[V262]] : vector<4xi16>
// CHECK-NEXT: [[V264:%.+]] = arith.shli [[V86]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V265:%.+]] = arith.subi [[V144]], [[V264]] : vector<4xi16>
// CHECK-NEXT: [[V266:%.+]] = arith.addi [[V263]], [[V265]] : vector<4xi16>
// CHECK-NEXT: [[V267:%.+]] = arith.subi [[V263]], [[V265]] : vector<4xi16>
// CHECK-NEXT: [[V268:%.+]] = arith.subi [[V144]], [[V86]] : vector<4xi16>
// CHECK-NEXT: [[V269:%.+]] = arith.shli [[V268]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V270:%.+]] = arith.addi [[V259]], [[V269]] : vector<4xi16>
// CHECK-NEXT: [[V271:%.+]] = arith.subi [[V259]], [[V269]] : vector<4xi16>
// CHECK-NEXT: [[V272:%.+]] = arith.subi [[V202]], [[V144]] : vector<4xi16>
// CHECK-NEXT: [[V273:%.+]] = arith.shli [[V268]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V274:%.+]] = arith.subi [[V272]], [[V273]] : vector<4xi16>
// CHECK-NEXT: [[V275:%.+]] = arith.subi [[V58]], [[V116]] : vector<4xi16>
// CHECK-NEXT: [[V276:%.+]] = arith.subi [[V174]], [[V116]] : vector<4xi16>
// CHECK-NEXT: [[V277:%.+]] = arith.shli [[V275]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V278:%.+]] = arith.addi [[V277]], [[V276]] : vector<4xi16>
// CHECK-NEXT: [[V279:%.+]] = arith.shli [[V116]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V280:%.+]] = arith.subi [[V174]], [[V279]] : vector<4xi16>
// CHECK-NEXT: [[V281:%.+]] = arith.shli [[V87]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V282:%.+]] = arith.subi [[V145]], [[V281]] : vector<4xi16>
// CHECK-NEXT: [[V283:%.+]] = arith.addi [[V280]], [[V282]] : vector<4xi16>
// CHECK-NEXT: [[V284:%.+]] = arith.subi [[V280]], [[V282]] : vector<4xi16>
// CHECK-NEXT: [[V285:%.+]] = arith.subi [[V145]], [[V87]] : vector<4xi16>
// CHECK-NEXT: [[V286:%.+]] = arith.shli [[V285]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V287:%.+]] = arith.addi [[V276]], [[V286]] : vector<4xi16>
// CHECK-NEXT: [[V288:%.+]] = arith.subi [[V276]], [[V286]] : vector<4xi16>
// CHECK-NEXT: [[V289:%.+]] = arith.subi [[V203]], [[V145]] : vector<4xi16>
// CHECK-NEXT: [[V290:%.+]] = arith.shli [[V285]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V291:%.+]] = arith.subi [[V289]], [[V290]] : vector<4xi16>
// CHECK-NEXT: [[V292:%.+]] = arith.subi [[V61]], [[V119]] : vector<4xi16>
// CHECK-NEXT: [[V293:%.+]] = arith.subi [[V177]], [[V119]] : vector<4xi16>
// CHECK-NEXT: [[V294:%.+]] = arith.shli [[V292]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V295:%.+]] = arith.addi [[V294]], [[V293]] : vector<4xi16>
// CHECK-NEXT: [[V296:%.+]] = arith.shli [[V119]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V297:%.+]] = arith.subi [[V177]], [[V296]] : vector<4xi16>
// CHECK-NEXT: [[V298:%.+]] = arith.shli [[V90]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V299:%.+]] = arith.subi [[V148]], [[V298]] : vector<4xi16>
// CHECK-NEXT: [[V300:%.+]] = arith.addi [[V297]], [[V299]] : vector<4xi16>
// CHECK-NEXT: [[V301:%.+]] = arith.subi [[V297]], [[V299]] : vector<4xi16>
// CHECK-NEXT: [[V302:%.+]] = arith.subi [[V148]], [[V90]] : vector<4xi16>
// CHECK-NEXT: [[V303:%.+]] = arith.shli [[V302]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V304:%.+]] = arith.addi [[V293]], [[V303]] : vector<4xi16>
// CHECK-NEXT: [[V305:%.+]] = arith.subi [[V293]], [[V303]] : vector<4xi16>
// CHECK-NEXT: [[V306:%.+]] = arith.subi [[V206]], [[V148]] : vector<4xi16>
// CHECK-NEXT: [[V307:%.+]] = arith.shli [[V302]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V308:%.+]] = arith.subi [[V306]], [[V307]] : vector<4xi16>
// CHECK-NEXT: simd.store [[V210]], [[V31]][[[V3]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V215]], [[V31]][[[V3]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V216]], [[V31]][[[V3]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V219]], [[V31]][[[V3]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V220]], [[V31]][[[V3]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V223]], [[V31]][[[V3]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V227]], [[V31]][[[V5]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V232]], [[V31]][[[V5]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V233]], [[V31]][[[V5]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V236]], [[V31]][[[V5]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V237]], [[V31]][[[V5]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V240]], [[V31]][[[V5]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V244]], [[V31]][[[V4]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V249]], [[V31]][[[V4]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V250]], [[V31]][[[V4]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V253]], [[V31]][[[V4]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V254]], [[V31]][[[V4]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V257]], [[V31]][[[V4]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V261]], [[V31]][[[V6]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V266]], [[V31]][[[V6]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V267]], [[V31]][[[V6]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V270]], [[V31]][[[V6]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V271]], [[V31]][[[V6]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V274]], [[V31]][[[V6]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V278]], [[V31]][[[V7]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V283]], [[V31]][[[V7]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V284]], [[V31]][[[V7]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V287]], [[V31]][[[V7]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V288]], [[V31]][[[V7]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V291]], [[V31]][[[V7]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V295]], [[V31]][[[V8]], [[V3]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V300]], [[V31]][[[V8]], [[V5]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V301]], [[V31]][[[V8]], [[V4]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V304]], [[V31]][[[V8]], [[V6]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V305]], [[V31]][[[V8]], [[V7]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: simd.store [[V308]], [[V31]][[[V8]], [[V8]], [[V3]], [[V3]]] : vector<4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: [[V309:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V310:%.+]] = arith.muli [[V309]], [[V13]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V310]]] : memref<72xi8>
// CHECK-NEXT: [[V311:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V312:%.+]] = simd.convert [[V311]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V313:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V314:%.+]] = simd.convert [[V313]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V315:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V316:%.+]] = simd.convert [[V315]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V317:%.+]] = arith.addi [[V312]], [[V316]] : vector<4xi16>
// CHECK-NEXT: [[V318:%.+]] = arith.addi [[V317]], [[V314]] : vector<4xi16>
// CHECK-NEXT: [[V319:%.+]] = arith.subi [[V317]], [[V314]] : vector<4xi16>
// CHECK-NEXT: [[V320:%.+]] = arith.shli [[V316]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V321:%.+]] = arith.addi [[V320]], [[V312]] : vector<4xi16>
// CHECK-NEXT: [[V322:%.+]] = arith.shli [[V314]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V323:%.+]] = arith.addi [[V321]], [[V322]] : vector<4xi16>
// CHECK-NEXT: [[V324:%.+]] = arith.subi [[V321]], [[V322]] : vector<4xi16>
// CHECK-NEXT: [[V325:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V326:%.+]] = simd.dot_accumulate [[V15]], [[V325]], [[V312]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V327:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V328:%.+]] = simd.dot_accumulate [[V15]], [[V327]], [[V318]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V329:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V330:%.+]] = simd.dot_accumulate [[V15]], [[V329]], [[V319]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V331:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V332:%.+]] = simd.dot_accumulate [[V15]], [[V331]], [[V323]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V333:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V334:%.+]] = simd.dot_accumulate [[V15]], [[V333]], [[V324]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V335:%.+]] = simd.load_group_splat [[V31]][[[V3]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V336:%.+]] = simd.dot_accumulate [[V15]], [[V335]], [[V316]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V326]], [[V32]][[[V3]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V328]], [[V32]][[[V3]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V330]], [[V32]][[[V3]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V332]], [[V32]][[[V3]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V334]], [[V32]][[[V3]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V336]], [[V32]][[[V3]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V337:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V338:%.+]] = arith.muli [[V337]], [[V13]] : index
// CHECK-NEXT: [[V339:%.+]] = arith.addi [[V338]], [[V16]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V339]]] : memref<72xi8>
// CHECK-NEXT: [[V340:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V341:%.+]] = simd.convert [[V340]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V342:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V343:%.+]] = simd.convert [[V342]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V344:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V345:%.+]] = simd.convert [[V344]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V346:%.+]] = arith.addi [[V341]], [[V343]] : vector<4xi16>
// CHECK-NEXT: [[V347:%.+]] = arith.addi [[V346]], [[V345]] : vector<4xi16>
// CHECK-NEXT: [[V348:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V349:%.+]] = simd.convert [[V348]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V350:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V351:%.+]] = simd.convert [[V350]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V352:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V353:%.+]] = simd.convert [[V352]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V354:%.+]] = arith.addi [[V349]], [[V351]] : vector<4xi16>
// CHECK-NEXT: [[V355:%.+]] = arith.addi [[V354]], [[V353]] : vector<4xi16>
// CHECK-NEXT: [[V356:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V357:%.+]] = simd.convert [[V356]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V358:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V359:%.+]] = simd.convert [[V358]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V360:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V361:%.+]] = simd.convert [[V360]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V362:%.+]] = arith.addi [[V357]], [[V359]] : vector<4xi16>
// CHECK-NEXT: [[V363:%.+]] = arith.addi [[V362]], [[V361]] : vector<4xi16>
// CHECK-NEXT: [[V364:%.+]] = arith.addi [[V347]], [[V363]] : vector<4xi16>
// CHECK-NEXT: [[V365:%.+]] = arith.addi [[V364]], [[V355]] : vector<4xi16>
// CHECK-NEXT: [[V366:%.+]] = arith.subi [[V364]], [[V355]] : vector<4xi16>
// CHECK-NEXT: [[V367:%.+]] = arith.shli [[V363]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V368:%.+]] = arith.addi [[V367]], [[V347]] : vector<4xi16>
// CHECK-NEXT: [[V369:%.+]] = arith.shli [[V355]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V370:%.+]] = arith.addi [[V368]], [[V369]] : vector<4xi16>
// CHECK-NEXT: [[V371:%.+]] = arith.subi [[V368]], [[V369]] : vector<4xi16>
// CHECK-NEXT: [[V372:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V373:%.+]] = simd.dot_accumulate [[V15]], [[V372]], [[V347]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V374:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V375:%.+]] = simd.dot_accumulate [[V15]], [[V374]], [[V365]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V376:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V377:%.+]] = simd.dot_accumulate [[V15]], [[V376]], [[V366]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V378:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V379:%.+]] = simd.dot_accumulate [[V15]], [[V378]], [[V370]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V380:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V381:%.+]] = simd.dot_accumulate [[V15]], [[V380]], [[V371]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V382:%.+]] = simd.load_group_splat [[V31]][[[V5]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V383:%.+]] = simd.dot_accumulate [[V15]], [[V382]], [[V363]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V373]], [[V32]][[[V5]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V375]], [[V32]][[[V5]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V377]], [[V32]][[[V5]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V379]], [[V32]][[[V5]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V381]], [[V32]][[[V5]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V383]], [[V32]][[[V5]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V384:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V385:%.+]] = arith.muli [[V384]], [[V13]] : index
// CHECK-NEXT: [[V386:%.+]] = arith.addi [[V385]], [[V17]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V386]]] : memref<72xi8>
// CHECK-NEXT: [[V387:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V388:%.+]] = simd.convert [[V387]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V389:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V390:%.+]] = simd.convert [[V389]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V391:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V392:%.+]] = simd.convert [[V391]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V393:%.+]] = arith.subi [[V388]], [[V390]] : vector<4xi16>
// CHECK-NEXT: [[V394:%.+]] = arith.addi [[V393]], [[V392]] : vector<4xi16>
// CHECK-NEXT: [[V395:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V396:%.+]] = simd.convert [[V395]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V397:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V398:%.+]] = simd.convert [[V397]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V399:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V400:%.+]] = simd.convert [[V399]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V401:%.+]] = arith.subi [[V396]], [[V398]] : vector<4xi16>
// CHECK-NEXT: [[V402:%.+]] = arith.addi [[V401]], [[V400]] : vector<4xi16>
// CHECK-NEXT: [[V403:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V404:%.+]] = simd.convert [[V403]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V405:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V406:%.+]] = simd.convert [[V405]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V407:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V408:%.+]] = simd.convert [[V407]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V409:%.+]] = arith.subi [[V404]], [[V406]] : vector<4xi16>
// CHECK-NEXT: [[V410:%.+]] = arith.addi [[V409]], [[V408]] : vector<4xi16>
// CHECK-NEXT: [[V411:%.+]] = arith.addi [[V394]], [[V410]] : vector<4xi16>
// CHECK-NEXT: [[V412:%.+]] = arith.addi [[V411]], [[V402]] : vector<4xi16>
// CHECK-NEXT: [[V413:%.+]] = arith.subi [[V411]], [[V402]] : vector<4xi16>
// CHECK-NEXT: [[V414:%.+]] = arith.shli [[V410]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V415:%.+]] = arith.addi [[V414]], [[V394]] : vector<4xi16>
// CHECK-NEXT: [[V416:%.+]] = arith.shli [[V402]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V417:%.+]] = arith.addi [[V415]], [[V416]] : vector<4xi16>
// CHECK-NEXT: [[V418:%.+]] = arith.subi [[V415]], [[V416]] : vector<4xi16>
// CHECK-NEXT: [[V419:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V420:%.+]] = simd.dot_accumulate [[V15]], [[V419]], [[V394]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V421:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V422:%.+]] = simd.dot_accumulate [[V15]], [[V421]], [[V412]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V423:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V424:%.+]] = simd.dot_accumulate [[V15]], [[V423]], [[V413]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V425:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V426:%.+]] = simd.dot_accumulate [[V15]], [[V425]], [[V417]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V427:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V428:%.+]] = simd.dot_accumulate [[V15]], [[V427]], [[V418]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V429:%.+]] = simd.load_group_splat [[V31]][[[V4]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V430:%.+]] = simd.dot_accumulate [[V15]], [[V429]], [[V410]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V420]], [[V32]][[[V4]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V422]], [[V32]][[[V4]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V424]], [[V32]][[[V4]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V426]], [[V32]][[[V4]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V428]], [[V32]][[[V4]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V430]], [[V32]][[[V4]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V431:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V432:%.+]] = arith.muli [[V431]], [[V13]] : index
// CHECK-NEXT: [[V433:%.+]] = arith.addi [[V432]], [[V18]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V433]]] : memref<72xi8>
// CHECK-NEXT: [[V434:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V435:%.+]] = simd.convert [[V434]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V436:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V437:%.+]] = simd.convert [[V436]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V438:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V439:%.+]] = simd.convert [[V438]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V440:%.+]] = arith.shli [[V439]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V441:%.+]] = arith.addi [[V440]], [[V437]] : vector<4xi16>
// CHECK-NEXT: [[V442:%.+]] = arith.shli [[V441]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V443:%.+]] = arith.addi [[V442]], [[V435]] : vector<4xi16>
// CHECK-NEXT: [[V444:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V445:%.+]] = simd.convert [[V444]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V446:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V447:%.+]] = simd.convert [[V446]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V448:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V449:%.+]] = simd.convert [[V448]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V450:%.+]] = arith.shli [[V449]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V451:%.+]] = arith.addi [[V450]], [[V447]] : vector<4xi16>
// CHECK-NEXT: [[V452:%.+]] = arith.shli [[V451]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V453:%.+]] = arith.addi [[V452]], [[V445]] : vector<4xi16>
// CHECK-NEXT: [[V454:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V455:%.+]] = simd.convert [[V454]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V456:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V457:%.+]] = simd.convert [[V456]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V458:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V459:%.+]] = simd.convert [[V458]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V460:%.+]] = arith.shli [[V459]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V461:%.+]] = arith.addi [[V460]], [[V457]] : vector<4xi16>
// CHECK-NEXT: [[V462:%.+]] = arith.shli [[V461]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V463:%.+]] = arith.addi [[V462]], [[V455]] : vector<4xi16>
// CHECK-NEXT: [[V464:%.+]] = arith.addi [[V443]], [[V463]] : vector<4xi16>
// CHECK-NEXT: [[V465:%.+]] = arith.addi [[V464]], [[V453]] : vector<4xi16>
// CHECK-NEXT: [[V466:%.+]] = arith.subi [[V464]], [[V453]] : vector<4xi16>
// CHECK-NEXT: [[V467:%.+]] = arith.shli [[V463]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V468:%.+]] = arith.addi [[V467]], [[V443]] : vector<4xi16>
// CHECK-NEXT: [[V469:%.+]] = arith.shli [[V453]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V470:%.+]] = arith.addi [[V468]], [[V469]] : vector<4xi16>
// CHECK-NEXT: [[V471:%.+]] = arith.subi [[V468]], [[V469]] : vector<4xi16>
// CHECK-NEXT: [[V472:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V473:%.+]] = simd.dot_accumulate [[V15]], [[V472]], [[V443]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V474:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V475:%.+]] = simd.dot_accumulate [[V15]], [[V474]], [[V465]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V476:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V477:%.+]] = simd.dot_accumulate [[V15]], [[V476]], [[V466]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V478:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V479:%.+]] = simd.dot_accumulate [[V15]], [[V478]], [[V470]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V480:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V481:%.+]] = simd.dot_accumulate [[V15]], [[V480]], [[V471]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V482:%.+]] = simd.load_group_splat [[V31]][[[V6]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V483:%.+]] = simd.dot_accumulate [[V15]], [[V482]], [[V463]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V473]], [[V32]][[[V6]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V475]], [[V32]][[[V6]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V477]], [[V32]][[[V6]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V479]], [[V32]][[[V6]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V481]], [[V32]][[[V6]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V483]], [[V32]][[[V6]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V484:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V485:%.+]] = arith.muli [[V484]], [[V13]] : index
// CHECK-NEXT: [[V486:%.+]] = arith.addi [[V485]], [[V19]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V486]]] : memref<72xi8>
// CHECK-NEXT: [[V487:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V488:%.+]] = simd.convert [[V487]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V489:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V490:%.+]] = simd.convert [[V489]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V491:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V492:%.+]] = simd.convert [[V491]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V493:%.+]] = arith.shli [[V492]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V494:%.+]] = arith.subi [[V493]], [[V490]] : vector<4xi16>
// CHECK-NEXT: [[V495:%.+]] = arith.shli [[V494]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V496:%.+]] = arith.addi [[V495]], [[V488]] : vector<4xi16>
// CHECK-NEXT: [[V497:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V498:%.+]] = simd.convert [[V497]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V499:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V500:%.+]] = simd.convert [[V499]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V501:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V502:%.+]] = simd.convert [[V501]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V503:%.+]] = arith.shli [[V502]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V504:%.+]] = arith.subi [[V503]], [[V500]] : vector<4xi16>
// CHECK-NEXT: [[V505:%.+]] = arith.shli [[V504]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V506:%.+]] = arith.addi [[V505]], [[V498]] : vector<4xi16>
// CHECK-NEXT: [[V507:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V508:%.+]] = simd.convert [[V507]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V509:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V510:%.+]] = simd.convert [[V509]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V511:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V512:%.+]] = simd.convert [[V511]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V513:%.+]] = arith.shli [[V512]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V514:%.+]] = arith.subi [[V513]], [[V510]] : vector<4xi16>
// CHECK-NEXT: [[V515:%.+]] = arith.shli [[V514]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V516:%.+]] = arith.addi [[V515]], [[V508]] : vector<4xi16>
// CHECK-NEXT: [[V517:%.+]] = arith.addi [[V496]], [[V516]] : vector<4xi16>
// CHECK-NEXT: [[V518:%.+]] = arith.addi [[V517]], [[V506]] : vector<4xi16>
// CHECK-NEXT: [[V519:%.+]] = arith.subi [[V517]], [[V506]] : vector<4xi16>
// CHECK-NEXT: [[V520:%.+]] = arith.shli [[V516]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V521:%.+]] = arith.addi [[V520]], [[V496]] : vector<4xi16>
// CHECK-NEXT: [[V522:%.+]] = arith.shli [[V506]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V523:%.+]] = arith.addi [[V521]], [[V522]] : vector<4xi16>
// CHECK-NEXT: [[V524:%.+]] = arith.subi [[V521]], [[V522]] : vector<4xi16>
// CHECK-NEXT: [[V525:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V526:%.+]] = simd.dot_accumulate [[V15]], [[V525]], [[V496]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V527:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V528:%.+]] = simd.dot_accumulate [[V15]], [[V527]], [[V518]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V529:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V530:%.+]] = simd.dot_accumulate [[V15]], [[V529]], [[V519]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V531:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V532:%.+]] = simd.dot_accumulate [[V15]], [[V531]], [[V523]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V533:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V534:%.+]] = simd.dot_accumulate [[V15]], [[V533]], [[V524]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V535:%.+]] = simd.load_group_splat [[V31]][[[V7]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V536:%.+]] = simd.dot_accumulate [[V15]], [[V535]], [[V516]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V526]], [[V32]][[[V7]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V528]], [[V32]][[[V7]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V530]], [[V32]][[[V7]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V532]], [[V32]][[[V7]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V534]], [[V32]][[[V7]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V536]], [[V32]][[[V7]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V537:%.+]] = arith.addi [[V30]], [[V5]] : index
// CHECK-NEXT: [[V538:%.+]] = arith.muli [[V537]], [[V13]] : index
// CHECK-NEXT: [[V539:%.+]] = arith.addi [[V538]], [[V20]] : index
// CHECK-NEXT: simd.prefetch [[V29]][[[V539]]] : memref<72xi8>
// CHECK-NEXT: [[V540:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V541:%.+]] = simd.convert [[V540]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V542:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V543:%.+]] = simd.convert [[V542]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V544:%.+]] = simd.load [[V1]][[[V3]], [[V30]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V545:%.+]] = simd.convert [[V544]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V546:%.+]] = arith.addi [[V541]], [[V545]] : vector<4xi16>
// CHECK-NEXT: [[V547:%.+]] = arith.addi [[V546]], [[V543]] : vector<4xi16>
// CHECK-NEXT: [[V548:%.+]] = arith.subi [[V546]], [[V543]] : vector<4xi16>
// CHECK-NEXT: [[V549:%.+]] = arith.shli [[V545]], [[V10]] : vector<4xi16>
// CHECK-NEXT: [[V550:%.+]] = arith.addi [[V549]], [[V541]] : vector<4xi16>
// CHECK-NEXT: [[V551:%.+]] = arith.shli [[V543]], [[V12]] : vector<4xi16>
// CHECK-NEXT: [[V552:%.+]] = arith.addi [[V550]], [[V551]] : vector<4xi16>
// CHECK-NEXT: [[V553:%.+]] = arith.subi [[V550]], [[V551]] : vector<4xi16>
// CHECK-NEXT: [[V554:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V555:%.+]] = simd.dot_accumulate [[V15]], [[V554]], [[V541]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V556:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V557:%.+]] = simd.dot_accumulate [[V15]], [[V556]], [[V547]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V558:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V559:%.+]] = simd.dot_accumulate [[V15]], [[V558]], [[V548]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V560:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V561:%.+]] = simd.dot_accumulate [[V15]], [[V560]], [[V552]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V562:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V563:%.+]] = simd.dot_accumulate [[V15]], [[V562]], [[V553]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V564:%.+]] = simd.load_group_splat [[V31]][[[V8]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V565:%.+]] = simd.dot_accumulate [[V15]], [[V564]], [[V545]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V555]], [[V32]][[[V8]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V557]], [[V32]][[[V8]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V559]], [[V32]][[[V8]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V561]], [[V32]][[[V8]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V563]], [[V32]][[[V8]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V565]], [[V32]][[[V8]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V566:%.+]] = arith.muli [[V30]], [[V4]] : index
// CHECK-NEXT: [[V567:%.+]] = simd.load [[V32]][[[V3]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V568:%.+]] = simd.load [[V32]][[[V5]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V569:%.+]] = simd.load [[V32]][[[V4]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V570:%.+]] = simd.load [[V32]][[[V6]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V571:%.+]] = simd.load [[V32]][[[V7]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V572:%.+]] = simd.load [[V32]][[[V8]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V573:%.+]] = arith.addi [[V568]], [[V569]] : vector<2xi32>
// CHECK-NEXT: [[V574:%.+]] = arith.subi [[V568]], [[V569]] : vector<2xi32>
// CHECK-NEXT: [[V575:%.+]] = arith.addi [[V570]], [[V571]] : vector<2xi32>
// CHECK-NEXT: [[V576:%.+]] = arith.subi [[V570]], [[V571]] : vector<2xi32>
// CHECK-NEXT: [[V577:%.+]] = arith.subi [[V567]], [[V573]] : vector<2xi32>
// CHECK-NEXT: [[V578:%.+]] = arith.shli [[V577]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V579:%.+]] = arith.addi [[V578]], [[V567]] : vector<2xi32>
// CHECK-NEXT: [[V580:%.+]] = arith.shli [[V579]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V581:%.+]] = arith.addi [[V580]], [[V575]] : vector<2xi32>
// CHECK-NEXT: [[V582:%.+]] = arith.shli [[V574]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V583:%.+]] = arith.subi [[V576]], [[V582]] : vector<2xi32>
// CHECK-NEXT: [[V584:%.+]] = arith.shli [[V583]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V585:%.+]] = arith.subi [[V575]], [[V573]] : vector<2xi32>
// CHECK-NEXT: [[V586:%.+]] = arith.shli [[V585]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V587:%.+]] = arith.addi [[V572]], [[V576]] : vector<2xi32>
// CHECK-NEXT: [[V588:%.+]] = arith.shli [[V572]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V589:%.+]] = arith.addi [[V588]], [[V587]] : vector<2xi32>
// CHECK-NEXT: [[V590:%.+]] = arith.shli [[V589]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V591:%.+]] = arith.subi [[V590]], [[V574]] : vector<2xi32>
// CHECK-NEXT: [[V592:%.+]] = arith.shli [[V591]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V593:%.+]] = simd.load [[V32]][[[V3]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V594:%.+]] = simd.load [[V32]][[[V5]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V595:%.+]] = simd.load [[V32]][[[V4]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V596:%.+]] = simd.load [[V32]][[[V6]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V597:%.+]] = simd.load [[V32]][[[V7]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V598:%.+]] = simd.load [[V32]][[[V8]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V599:%.+]] = arith.addi [[V594]], [[V595]] : vector<2xi32>
// CHECK-NEXT: [[V600:%.+]] = arith.subi [[V594]], [[V595]] : vector<2xi32>
// CHECK-NEXT: [[V601:%.+]] = arith.addi [[V596]], [[V597]] : vector<2xi32>
// CHECK-NEXT: [[V602:%.+]] = arith.subi [[V596]], [[V597]] : vector<2xi32>
// CHECK-NEXT: [[V603:%.+]] = arith.subi [[V593]], [[V599]] : vector<2xi32>
// CHECK-NEXT: [[V604:%.+]] = arith.shli [[V603]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V605:%.+]] = arith.addi [[V604]], [[V593]] : vector<2xi32>
// CHECK-NEXT: [[V606:%.+]] = arith.shli [[V605]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V607:%.+]] = arith.addi [[V606]], [[V601]] : vector<2xi32>
// CHECK-NEXT: [[V608:%.+]] = arith.shli [[V600]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V609:%.+]] = arith.subi [[V602]], [[V608]] : vector<2xi32>
// CHECK-NEXT: [[V610:%.+]] = arith.shli [[V609]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V611:%.+]] = arith.subi [[V601]], [[V599]] : vector<2xi32>
// CHECK-NEXT: [[V612:%.+]] = arith.shli [[V611]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V613:%.+]] = arith.addi [[V598]], [[V602]] : vector<2xi32>
// CHECK-NEXT: [[V614:%.+]] = arith.shli [[V598]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V615:%.+]] = arith.addi [[V614]], [[V613]] : vector<2xi32>
// CHECK-NEXT: [[V616:%.+]] = arith.shli [[V615]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V617:%.+]] = arith.subi [[V616]], [[V600]] : vector<2xi32>
// CHECK-NEXT: [[V618:%.+]] = arith.shli [[V617]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V619:%.+]] = simd.load [[V32]][[[V3]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V620:%.+]] = simd.load [[V32]][[[V5]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V621:%.+]] = simd.load [[V32]][[[V4]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V622:%.+]] = simd.load [[V32]][[[V6]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V623:%.+]] = simd.load [[V32]][[[V7]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V624:%.+]] = simd.load [[V32]][[[V8]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V625:%.+]] = arith.addi [[V620]], [[V621]] : vector<2xi32>
// CHECK-NEXT: [[V626:%.+]] = arith.subi [[V620]], [[V621]] : vector<2xi32>
// CHECK-NEXT: [[V627:%.+]] = arith.addi [[V622]], [[V623]] : vector<2xi32>
// CHECK-NEXT: [[V628:%.+]] = arith.subi [[V622]], [[V623]] : vector<2xi32>
// CHECK-NEXT: [[V629:%.+]] = arith.subi [[V619]], [[V625]] : vector<2xi32>
// CHECK-NEXT: [[V630:%.+]] = arith.shli [[V629]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V631:%.+]] = arith.addi [[V630]], [[V619]] : vector<2xi32>
// CHECK-NEXT: [[V632:%.+]] = arith.shli [[V631]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V633:%.+]] = arith.addi [[V632]], [[V627]] : vector<2xi32>
// CHECK-NEXT: [[V634:%.+]] = arith.shli [[V626]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V635:%.+]] = arith.subi [[V628]], [[V634]] : vector<2xi32>
// CHECK-NEXT: [[V636:%.+]] = arith.shli [[V635]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V637:%.+]] = arith.subi [[V627]], [[V625]] : vector<2xi32>
// CHECK-NEXT: [[V638:%.+]] = arith.shli [[V637]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V639:%.+]] = arith.addi [[V624]], [[V628]] : vector<2xi32>
// CHECK-NEXT: [[V640:%.+]] = arith.shli [[V624]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V641:%.+]] = arith.addi [[V640]], [[V639]] : vector<2xi32>
// CHECK-NEXT: [[V642:%.+]] = arith.shli [[V641]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V643:%.+]] = arith.subi [[V642]], [[V626]] : vector<2xi32>
// CHECK-NEXT: [[V644:%.+]] = arith.shli [[V643]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V645:%.+]] = simd.load [[V32]][[[V3]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V646:%.+]] = simd.load [[V32]][[[V5]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V647:%.+]] = simd.load [[V32]][[[V4]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V648:%.+]] = simd.load [[V32]][[[V6]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V649:%.+]] = simd.load [[V32]][[[V7]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V650:%.+]] = simd.load [[V32]][[[V8]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V651:%.+]] = arith.addi [[V646]], [[V647]] : vector<2xi32>
// CHECK-NEXT: [[V652:%.+]] = arith.subi [[V646]], [[V647]] : vector<2xi32>
// CHECK-NEXT: [[V653:%.+]] = arith.addi [[V648]], [[V649]] : vector<2xi32>
// CHECK-NEXT: [[V654:%.+]] = arith.subi [[V648]], [[V649]] : vector<2xi32>
// CHECK-NEXT: [[V655:%.+]] = arith.subi [[V645]], [[V651]] : vector<2xi32>
// CHECK-NEXT: [[V656:%.+]] = arith.shli [[V655]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V657:%.+]] = arith.addi [[V656]], [[V645]] : vector<2xi32>
// CHECK-NEXT: [[V658:%.+]] = arith.shli [[V657]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V659:%.+]] = arith.addi [[V658]], [[V653]] : vector<2xi32>
// CHECK-NEXT: [[V660:%.+]] = arith.shli [[V652]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V661:%.+]] = arith.subi [[V654]], [[V660]] : vector<2xi32>
// CHECK-NEXT: [[V662:%.+]] = arith.shli [[V661]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V663:%.+]] = arith.subi [[V653]], [[V651]] : vector<2xi32>
// CHECK-NEXT: [[V664:%.+]] = arith.shli [[V663]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V665:%.+]] = arith.addi [[V650]], [[V654]] : vector<2xi32>
// CHECK-NEXT: [[V666:%.+]] = arith.shli [[V650]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V667:%.+]] = arith.addi [[V666]], [[V665]] : vector<2xi32>
// CHECK-NEXT: [[V668:%.+]] = arith.shli [[V667]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V669:%.+]] = arith.subi [[V668]], [[V652]] : vector<2xi32>
// CHECK-NEXT: [[V670:%.+]] = arith.shli [[V669]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V671:%.+]] = simd.load [[V32]][[[V3]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V672:%.+]] = simd.load [[V32]][[[V5]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V673:%.+]] = simd.load [[V32]][[[V4]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V674:%.+]] = simd.load [[V32]][[[V6]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V675:%.+]] = simd.load [[V32]][[[V7]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V676:%.+]] = simd.load [[V32]][[[V8]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V677:%.+]] = arith.addi [[V672]], [[V673]] : vector<2xi32>
// CHECK-NEXT: [[V678:%.+]] = arith.subi [[V672]], [[V673]] : vector<2xi32>
// CHECK-NEXT: [[V679:%.+]] = arith.addi [[V674]], [[V675]] : vector<2xi32>
// CHECK-NEXT: [[V680:%.+]] = arith.subi [[V674]], [[V675]] : vector<2xi32>
// CHECK-NEXT: [[V681:%.+]] = arith.subi [[V671]], [[V677]] : vector<2xi32>
// CHECK-NEXT: [[V682:%.+]] = arith.shli [[V681]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V683:%.+]] = arith.addi [[V682]], [[V671]] : vector<2xi32>
// CHECK-NEXT: [[V684:%.+]] = arith.shli [[V683]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V685:%.+]] = arith.addi [[V684]], [[V679]] : vector<2xi32>
// CHECK-NEXT: [[V686:%.+]] = arith.shli [[V678]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V687:%.+]] = arith.subi [[V680]], [[V686]] : vector<2xi32>
// CHECK-NEXT: [[V688:%.+]] = arith.shli [[V687]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V689:%.+]] = arith.subi [[V679]], [[V677]] : vector<2xi32>
// CHECK-NEXT: [[V690:%.+]] = arith.shli [[V689]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V691:%.+]] = arith.addi [[V676]], [[V680]] : vector<2xi32>
// CHECK-NEXT: [[V692:%.+]] = arith.shli [[V676]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V693:%.+]] = arith.addi [[V692]], [[V691]] : vector<2xi32>
// CHECK-NEXT: [[V694:%.+]] = arith.shli [[V693]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V695:%.+]] = arith.subi [[V694]], [[V678]] : vector<2xi32>
// CHECK-NEXT: [[V696:%.+]] = arith.shli [[V695]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V697:%.+]] = simd.load [[V32]][[[V3]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V698:%.+]] = simd.load [[V32]][[[V5]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V699:%.+]] = simd.load [[V32]][[[V4]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V700:%.+]] = simd.load [[V32]][[[V6]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V701:%.+]] = simd.load [[V32]][[[V7]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V702:%.+]] = simd.load [[V32]][[[V8]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V703:%.+]] = arith.addi [[V698]], [[V699]] : vector<2xi32>
// CHECK-NEXT: [[V704:%.+]] = arith.subi [[V698]], [[V699]] : vector<2xi32>
// CHECK-NEXT: [[V705:%.+]] = arith.addi [[V700]], [[V701]] : vector<2xi32>
// CHECK-NEXT: [[V706:%.+]] = arith.subi [[V700]], [[V701]] : vector<2xi32>
// CHECK-NEXT: [[V707:%.+]] = arith.subi [[V697]], [[V703]] : vector<2xi32>
// CHECK-NEXT: [[V708:%.+]] = arith.shli [[V707]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V709:%.+]] = arith.addi [[V708]], [[V697]] : vector<2xi32>
// CHECK-NEXT: [[V710:%.+]] = arith.shli [[V709]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V711:%.+]] = arith.addi [[V710]], [[V705]] : vector<2xi32>
// CHECK-NEXT: [[V712:%.+]] = arith.shli [[V704]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V713:%.+]] = arith.subi [[V706]], [[V712]] : vector<2xi32>
// CHECK-NEXT: [[V714:%.+]] = arith.shli [[V713]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V715:%.+]] = arith.subi [[V705]], [[V703]] : vector<2xi32>
// CHECK-NEXT: [[V716:%.+]] = arith.shli [[V715]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V717:%.+]] = arith.addi [[V702]], [[V706]] : vector<2xi32>
// CHECK-NEXT: [[V718:%.+]] = arith.shli [[V702]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V719:%.+]] = arith.addi [[V718]], [[V717]] : vector<2xi32>
// CHECK-NEXT: [[V720:%.+]] = arith.shli [[V719]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V721:%.+]] = arith.subi [[V720]], [[V704]] : vector<2xi32>
// CHECK-NEXT: [[V722:%.+]] = arith.shli [[V721]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V723:%.+]] = arith.addi [[V607]], [[V633]] : vector<2xi32>
// CHECK-NEXT: [[V724:%.+]] = arith.subi [[V607]], [[V633]] : vector<2xi32>
// CHECK-NEXT: [[V725:%.+]] = arith.addi [[V659]], [[V685]] : vector<2xi32>
// CHECK-NEXT: [[V726:%.+]] = arith.subi [[V659]], [[V685]] : vector<2xi32>
// CHECK-NEXT: [[V727:%.+]] = arith.subi [[V581]], [[V723]] : vector<2xi32>
// CHECK-NEXT: [[V728:%.+]] = arith.shli [[V727]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V729:%.+]] = arith.addi [[V728]], [[V581]] : vector<2xi32>
// CHECK-NEXT: [[V730:%.+]] = arith.shli [[V729]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V731:%.+]] = arith.addi [[V730]], [[V725]] : vector<2xi32>
// CHECK-NEXT: [[V732:%.+]] = arith.shli [[V724]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V733:%.+]] = arith.subi [[V726]], [[V732]] : vector<2xi32>
// CHECK-NEXT: [[V734:%.+]] = arith.shli [[V733]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V735:%.+]] = arith.subi [[V725]], [[V723]] : vector<2xi32>
// CHECK-NEXT: [[V736:%.+]] = arith.shli [[V735]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V737:%.+]] = arith.addi [[V711]], [[V726]] : vector<2xi32>
// CHECK-NEXT: [[V738:%.+]] = arith.shli [[V711]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V739:%.+]] = arith.addi [[V738]], [[V737]] : vector<2xi32>
// CHECK-NEXT: [[V740:%.+]] = arith.shli [[V739]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V741:%.+]] = arith.subi [[V740]], [[V724]] : vector<2xi32>
// CHECK-NEXT: [[V742:%.+]] = arith.shli [[V741]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V743:%.+]] = arith.addi [[V610]], [[V636]] : vector<2xi32>
// CHECK-NEXT: [[V744:%.+]] = arith.subi [[V610]], [[V636]] : vector<2xi32>
// CHECK-NEXT: [[V745:%.+]] = arith.addi [[V662]], [[V688]] : vector<2xi32>
// CHECK-NEXT: [[V746:%.+]] = arith.subi [[V662]], [[V688]] : vector<2xi32>
// CHECK-NEXT: [[V747:%.+]] = arith.subi [[V584]], [[V743]] : vector<2xi32>
// CHECK-NEXT: [[V748:%.+]] = arith.shli [[V747]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V749:%.+]] = arith.addi [[V748]], [[V584]] : vector<2xi32>
// CHECK-NEXT: [[V750:%.+]] = arith.shli [[V749]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V751:%.+]] = arith.addi [[V750]], [[V745]] : vector<2xi32>
// CHECK-NEXT: [[V752:%.+]] = arith.shli [[V744]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V753:%.+]] = arith.subi [[V746]], [[V752]] : vector<2xi32>
// CHECK-NEXT: [[V754:%.+]] = arith.shli [[V753]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V755:%.+]] = arith.subi [[V745]], [[V743]] : vector<2xi32>
// CHECK-NEXT: [[V756:%.+]] = arith.shli [[V755]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V757:%.+]] = arith.addi [[V714]], [[V746]] : vector<2xi32>
// CHECK-NEXT: [[V758:%.+]] = arith.shli [[V714]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V759:%.+]] = arith.addi [[V758]], [[V757]] : vector<2xi32>
// CHECK-NEXT: [[V760:%.+]] = arith.shli [[V759]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V761:%.+]] = arith.subi [[V760]], [[V744]] : vector<2xi32>
// CHECK-NEXT: [[V762:%.+]] = arith.shli [[V761]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V763:%.+]] = arith.addi [[V612]], [[V638]] : vector<2xi32>
// CHECK-NEXT: [[V764:%.+]] = arith.subi [[V612]], [[V638]] : vector<2xi32>
// CHECK-NEXT: [[V765:%.+]] = arith.addi [[V664]], [[V690]] : vector<2xi32>
// CHECK-NEXT: [[V766:%.+]] = arith.subi [[V664]], [[V690]] : vector<2xi32>
// CHECK-NEXT: [[V767:%.+]] = arith.subi [[V586]], [[V763]] : vector<2xi32>
// CHECK-NEXT: [[V768:%.+]] = arith.shli [[V767]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V769:%.+]] = arith.addi [[V768]], [[V586]] : vector<2xi32>
// CHECK-NEXT: [[V770:%.+]] = arith.shli [[V769]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V771:%.+]] = arith.addi [[V770]], [[V765]] : vector<2xi32>
// CHECK-NEXT: [[V772:%.+]] = arith.shli [[V764]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V773:%.+]] = arith.subi [[V766]], [[V772]] : vector<2xi32>
// CHECK-NEXT: [[V774:%.+]] = arith.shli [[V773]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V775:%.+]] = arith.subi [[V765]], [[V763]] : vector<2xi32>
// CHECK-NEXT: [[V776:%.+]] = arith.shli [[V775]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V777:%.+]] = arith.addi [[V716]], [[V766]] : vector<2xi32>
// CHECK-NEXT: [[V778:%.+]] = arith.shli [[V716]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V779:%.+]] = arith.addi [[V778]], [[V777]] : vector<2xi32>
// CHECK-NEXT: [[V780:%.+]] = arith.shli [[V779]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V781:%.+]] = arith.subi [[V780]], [[V764]] : vector<2xi32>
// CHECK-NEXT: [[V782:%.+]] = arith.shli [[V781]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V783:%.+]] = arith.addi [[V618]], [[V644]] : vector<2xi32>
// CHECK-NEXT: [[V784:%.+]] = arith.subi [[V618]], [[V644]] : vector<2xi32>
// CHECK-NEXT: [[V785:%.+]] = arith.addi [[V670]], [[V696]] : vector<2xi32>
// CHECK-NEXT: [[V786:%.+]] = arith.subi [[V670]], [[V696]] : vector<2xi32>
// CHECK-NEXT: [[V787:%.+]] = arith.subi [[V592]], [[V783]] : vector<2xi32>
// CHECK-NEXT: [[V788:%.+]] = arith.shli [[V787]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V789:%.+]] = arith.addi [[V788]], [[V592]] : vector<2xi32>
// CHECK-NEXT: [[V790:%.+]] = arith.shli [[V789]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V791:%.+]] = arith.addi [[V790]], [[V785]] : vector<2xi32>
// CHECK-NEXT: [[V792:%.+]] = arith.shli [[V784]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V793:%.+]] = arith.subi [[V786]], [[V792]] : vector<2xi32>
// CHECK-NEXT: [[V794:%.+]] = arith.shli [[V793]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V795:%.+]] = arith.subi [[V785]], [[V783]] : vector<2xi32>
// CHECK-NEXT: [[V796:%.+]] = arith.shli [[V795]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V797:%.+]] = arith.addi [[V722]], [[V786]] : vector<2xi32>
// CHECK-NEXT: [[V798:%.+]] = arith.shli [[V722]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V799:%.+]] = arith.addi [[V798]], [[V797]] : vector<2xi32>
// CHECK-NEXT: [[V800:%.+]] = arith.shli [[V799]], [[V22]] : vector<2xi32>
// CHECK-NEXT: [[V801:%.+]] = arith.subi [[V800]], [[V784]] : vector<2xi32>
// CHECK-NEXT: [[V802:%.+]] = arith.shli [[V801]], [[V24]] : vector<2xi32>
// CHECK-NEXT: [[V803:%.+]] = arith.muli [[V731]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V804:%.+]] = arith.shrsi [[V803]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V805:%.+]] = arith.muli [[V734]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V806:%.+]] = arith.shrsi [[V805]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V807:%.+]] = arith.muli [[V736]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V808:%.+]] = arith.shrsi [[V807]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V809:%.+]] = arith.muli [[V742]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V810:%.+]] = arith.shrsi [[V809]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V811:%.+]] = arith.muli [[V751]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V812:%.+]] = arith.shrsi [[V811]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V813:%.+]] = arith.muli [[V754]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V814:%.+]] = arith.shrsi [[V813]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V815:%.+]] = arith.muli [[V756]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V816:%.+]] = arith.shrsi [[V815]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V817:%.+]] = arith.muli [[V762]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V818:%.+]] = arith.shrsi [[V817]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V819:%.+]] = arith.muli [[V771]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V820:%.+]] = arith.shrsi [[V819]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V821:%.+]] = arith.muli [[V774]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V822:%.+]] = arith.shrsi [[V821]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V823:%.+]] = arith.muli [[V776]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V824:%.+]] = arith.shrsi [[V823]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V825:%.+]] = arith.muli [[V782]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V826:%.+]] = arith.shrsi [[V825]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V827:%.+]] = arith.muli [[V791]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V828:%.+]] = arith.shrsi [[V827]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V829:%.+]] = arith.muli [[V794]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V830:%.+]] = arith.shrsi [[V829]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V831:%.+]] = arith.muli [[V796]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V832:%.+]] = arith.shrsi [[V831]], [[V28]] : vector<2xi32>
// CHECK-NEXT: [[V833:%.+]] = arith.muli [[V802]], [[V26]] : vector<2xi32>
// CHECK-NEXT: [[V834:%.+]] = arith.shrsi [[V833]], [[V28]] : vector<2xi32>
// CHECK-NEXT: simd.store [[V804]], [[V2]][[[V3]], [[V3]], [[V3]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V806]], [[V2]][[[V3]], [[V3]], [[V5]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V808]], [[V2]][[[V3]], [[V3]], [[V4]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V810]], [[V2]][[[V3]], [[V3]], [[V6]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V812]], [[V2]][[[V3]], [[V5]], [[V3]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V814]], [[V2]][[[V3]], [[V5]], [[V5]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V816]], [[V2]][[[V3]], [[V5]], [[V4]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V818]], [[V2]][[[V3]], [[V5]], [[V6]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V820]], [[V2]][[[V3]], [[V4]], [[V3]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V822]], [[V2]][[[V3]], [[V4]], [[V5]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V824]], [[V2]][[[V3]], [[V4]], [[V4]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V826]], [[V2]][[[V3]], [[V4]], [[V6]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V828]], [[V2]][[[V3]], [[V6]], [[V3]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V830]], [[V2]][[[V3]], [[V6]], [[V5]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V832]], [[V2]][[[V3]], [[V6]], [[V4]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: simd.store [[V834]], [[V2]][[[V3]], [[V6]], [[V6]], [[V566]]] : vector<2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }) : (index, index, index) -> ()
// CHECK-NEXT: func.return
func.func @taps(%x: memref<1x6x6x2xi8>, %w: memref<1x2x1x3x3x4xi8>, %y: memref<1x4x4x4xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x6x6x2xi8>, memref<1x2x1x3x3x4xi8>) outs(%y : memref<1x4x4x4xi32>) attributes {algorithm = "f4_bytes",
    layout = #kernel.layout<variant = "winograd_f4_bytes", vectors = 1, lanes = 2>, schedule = #kernel.schedule<prefetch = 1, threads = true>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
