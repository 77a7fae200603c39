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
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V13]] : i32 to vector<4xi32>
// CHECK-NEXT: scf.for [[V15:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V16:%.+]] = memref.alloca() : memref<4x4x1x24xi16>
// CHECK-NEXT: [[V17:%.+]] = memref.alloca() : memref<4x4x1x4xi32>
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.minsi [[V18]], [[V6]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V0]][[[V4]], [[V19]], [[V4]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V21:%.+]] = simd.convert [[V20]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V0]][[[V4]], [[V22]], [[V4]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.convert [[V23]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V26:%.+]] = simd.load [[V0]][[[V4]], [[V25]], [[V4]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V27:%.+]] = simd.convert [[V26]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V28:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V0]][[[V4]], [[V28]], [[V4]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.convert [[V29]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V31:%.+]] = arith.subi [[V21]], [[V27]] : vector<8xi16>
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V27]], [[V24]] : vector<8xi16>
// CHECK-NEXT: [[V33:%.+]] = arith.subi [[V27]], [[V24]] : vector<8xi16>
// CHECK-NEXT: [[V34:%.+]] = arith.subi [[V24]], [[V30]] : vector<8xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V0]][[[V4]], [[V19]], [[V6]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V37:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V38:%.+]] = simd.load [[V0]][[[V4]], [[V37]], [[V6]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.convert [[V38]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V0]][[[V4]], [[V40]], [[V6]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V44:%.+]] = simd.load [[V0]][[[V4]], [[V43]], [[V6]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V45:%.+]] = simd.convert [[V44]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V46:%.+]] = arith.subi [[V36]], [[V42]] : vector<8xi16>
// CHECK-NEXT: [[V47:%.+]] = arith.addi [[V42]], [[V39]] : vector<8xi16>
// CHECK-NEXT: [[V48:%.+]] = arith.subi [[V42]], [[V39]] : vector<8xi16>
// CHECK-NEXT: [[V49:%.+]] = arith.subi [[V39]], [[V45]] : vector<8xi16>
// CHECK-NEXT: [[V50:%.+]] = simd.load [[V0]][[[V4]], [[V19]], [[V5]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V51:%.+]] = simd.convert [[V50]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V53:%.+]] = simd.load [[V0]][[[V4]], [[V52]], [[V5]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.convert [[V53]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V55:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V56:%.+]] = simd.load [[V0]][[[V4]], [[V55]], [[V5]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V57:%.+]] = simd.convert [[V56]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V58:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V59:%.+]] = simd.load [[V0]][[[V4]], [[V58]], [[V5]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V60:%.+]] = simd.convert [[V59]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V61:%.+]] = arith.subi [[V51]], [[V57]] : vector<8xi16>
// CHECK-NEXT: [[V62:%.+]] = arith.addi [[V57]], [[V54]] : vector<8xi16>
// CHECK-NEXT: [[V63:%.+]] = arith.subi [[V57]], [[V54]] : vector<8xi16>
// CHECK-NEXT: [[V64:%.+]] = arith.subi [[V54]], [[V60]] : vector<8xi16>
// CHECK-NEXT: [[V65:%.+]] = simd.load [[V0]][[[V4]], [[V19]], [[V7]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V66:%.+]] = simd.convert [[V65]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V67:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V68:%.+]] = simd.load [[V0]][[[V4]], [[V67]], [[V7]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.convert [[V68]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V70:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V71:%.+]] = simd.load [[V0]][[[V4]], [[V70]], [[V7]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V72:%.+]] = simd.convert [[V71]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V73:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V74:%.+]] = simd.load [[V0]][[[V4]], [[V73]], [[V7]], [[V4]]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V75:%.+]] = simd.convert [[V74]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.subi [[V66]], [[V72]] : vector<8xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.addi [[V72]], [[V69]] : vector<8xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.subi [[V72]], [[V69]] : vector<8xi16>
// CHECK-NEXT: [[V79:%.+]] = arith.subi [[V69]], [[V75]] : vector<8xi16>
// CHECK-NEXT: [[V80:%.+]] = arith.subi [[V31]], [[V61]] : vector<8xi16>
// CHECK-NEXT: [[V81:%.+]] = arith.addi [[V61]], [[V46]] : vector<8xi16>
// CHECK-NEXT: [[V82:%.+]] = arith.subi [[V61]], [[V46]] : vector<8xi16>
// CHECK-NEXT: [[V83:%.+]] = arith.subi [[V46]], [[V76]] : vector<8xi16>
// CHECK-NEXT: [[V84:%.+]] = arith.subi [[V32]], [[V62]] : vector<8xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.addi [[V62]], [[V47]] : vector<8xi16>
// CHECK-NEXT: [[V86:%.+]] = arith.subi [[V62]], [[V47]] : vector<8xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.subi [[V47]], [[V77]] : vector<8xi16>
// CHECK-NEXT: [[V88:%.+]] = arith.subi [[V33]], [[V63]] : vector<8xi16>
// CHECK-NEXT: [[V89:%.+]] = arith.addi [[V63]], [[V48]] : vector<8xi16>
// CHECK-NEXT: [[V90:%.+]] = arith.subi [[V63]], [[V48]] : vector<8xi16>
// CHECK-NEXT: [[V91:%.+]] = arith.subi [[V48]], [[V78]] : vector<8xi16>
// CHECK-NEXT: [[V92:%.+]] = arith.subi [[V34]], [[V64]] : vector<8xi16>
// CHECK-NEXT: [[V93:%.+]] = arith.addi [[V64]], [[V49]] : vector<8xi16>
// CHECK-NEXT: [[V94:%.+]] = arith.subi [[V64]], [[V49]] : vector<8xi16>
// CHECK-NEXT: [[V95:%.+]] = arith.subi [[V49]], [[V79]] : vector<8xi16>
// CHECK-NEXT: simd.store [[V80]], [[V16]][[[V4]], [[V4]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V81]], [[V16]][[[V4]], [[V6]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V82]], [[V16]][[[V4]], [[V5]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V83]], [[V16]][[[V4]], [[V7]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V84]], [[V16]][[[V6]], [[V4]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V85]], [[V16]][[[V6]], [[V6]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V86]], [[V16]][[[V6]], [[V5]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V87]], [[V16]][[[V6]], [[V7]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V88]], [[V16]][[[V5]], [[V4]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V89]], [[V16]][[[V5]], [[V6]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V90]], [[V16]][[[V5]], [[V5]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V91]], [[V16]][[[V5]], [[V7]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V92]], [[V16]][[[V7]], [[V4]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V93]], [[V16]][[[V7]], [[V6]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V94]], [[V16]][[[V7]], [[V5]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V95]], [[V16]][[[V7]], [[V7]], [[V4]], [[V4]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: [[V96:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V97:%.+]] = simd.convert [[V96]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V98:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V99:%.+]] = simd.load_partial [[V0]][[[V4]], [[V98]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V100:%.+]] = simd.convert [[V99]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V101:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V102:%.+]] = simd.load_partial [[V0]][[[V4]], [[V101]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V103:%.+]] = simd.convert [[V102]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V104:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V105:%.+]] = simd.load_partial [[V0]][[[V4]], [[V104]], [[V4]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V106:%.+]] = simd.convert [[V105]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V107:%.+]] = arith.subi [[V97]], [[V103]] : vector<8xi16>
// CHECK-NEXT: [[V108:%.+]] = arith.addi [[V103]], [[V100]] : vector<8xi16>
// CHECK-NEXT: [[V109:%.+]] = arith.subi [[V103]], [[V100]] : vector<8xi16>
// CHECK-NEXT: [[V110:%.+]] = arith.subi [[V100]], [[V106]] : vector<8xi16>
// CHECK-NEXT: [[V111:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V112:%.+]] = simd.convert [[V111]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V113:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V114:%.+]] = simd.load_partial [[V0]][[[V4]], [[V113]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V115:%.+]] = simd.convert [[V114]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V116:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V117:%.+]] = simd.load_partial [[V0]][[[V4]], [[V116]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V118:%.+]] = simd.convert [[V117]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V119:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V120:%.+]] = simd.load_partial [[V0]][[[V4]], [[V119]], [[V6]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V121:%.+]] = simd.convert [[V120]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V122:%.+]] = arith.subi [[V112]], [[V118]] : vector<8xi16>
// CHECK-NEXT: [[V123:%.+]] = arith.addi [[V118]], [[V115]] : vector<8xi16>
// CHECK-NEXT: [[V124:%.+]] = arith.subi [[V118]], [[V115]] : vector<8xi16>
// CHECK-NEXT: [[V125:%.+]] = arith.subi [[V115]], [[V121]] : vector<8xi16>
// CHECK-NEXT: [[V126:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V127:%.+]] = simd.convert [[V126]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V128:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V129:%.+]] = simd.load_partial [[V0]][[[V4]], [[V128]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V130:%.+]] = simd.convert [[V129]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V131:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V132:%.+]] = simd.load_partial [[V0]][[[V4]], [[V131]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V133:%.+]] = simd.convert [[V132]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V134:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V135:%.+]] = simd.load_partial [[V0]][[[V4]], [[V134]], [[V5]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V136:%.+]] = simd.convert [[V135]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V137:%.+]] = arith.subi [[V127]], [[V133]] : vector<8xi16>
// CHECK-NEXT: [[V138:%.+]] = arith.addi [[V133]], [[V130]] : vector<8xi16>
// CHECK-NEXT: [[V139:%.+]] = arith.subi [[V133]], [[V130]] : vector<8xi16>
// CHECK-NEXT: [[V140:%.+]] = arith.subi [[V130]], [[V136]] : vector<8xi16>
// CHECK-NEXT: [[V141:%.+]] = simd.load_partial [[V0]][[[V4]], [[V19]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V142:%.+]] = simd.convert [[V141]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V143:%.+]] = arith.addi [[V19]], [[V6]] : index
// CHECK-NEXT: [[V144:%.+]] = simd.load_partial [[V0]][[[V4]], [[V143]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V145:%.+]] = simd.convert [[V144]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V146:%.+]] = arith.addi [[V19]], [[V5]] : index
// CHECK-NEXT: [[V147:%.+]] = simd.load_partial [[V0]][[[V4]], [[V146]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V148:%.+]] = simd.convert [[V147]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V149:%.+]] = arith.addi [[V19]], [[V7]] : index
// CHECK-NEXT: [[V150:%.+]] = simd.load_partial [[V0]][[[V4]], [[V149]], [[V7]], [[V8]]], [[V5]] : memref<1x5x4x10xi8> to vector<8xi8>
// CHECK-NEXT: [[V151:%.+]] = simd.convert [[V150]] {kind = "extui"} : vector<8xi8> to vector<8xi16>
// CHECK-NEXT: [[V152:%.+]] = arith.subi [[V142]], [[V148]] : vector<8xi16>
// CHECK-NEXT: [[V153:%.+]] = arith.addi [[V148]], [[V145]] : vector<8xi16>
// CHECK-NEXT: [[V154:%.+]] = arith.subi [[V148]], [[V145]] : vector<8xi16>
// CHECK-NEXT: [[V155:%.+]] = arith.subi [[V145]], [[V151]] : vector<8xi16>
// CHECK-NEXT: [[V156:%.+]] = arith.subi [[V107]], [[V137]] : vector<8xi16>
// CHECK-NEXT: [[V157:%.+]] = arith.addi [[V137]], [[V122]] : vector<8xi16>
// CHECK-NEXT: [[V158:%.+]] = arith.subi [[V137]], [[V122]] : vector<8xi16>
// CHECK-NEXT: [[V159:%.+]] = arith.subi [[V122]], [[V152]] : vector<8xi16>
// CHECK-NEXT: [[V160:%.+]] = arith.subi [[V108]], [[V138]] : vector<8xi16>
// CHECK-NEXT: [[V161:%.+]] = arith.addi [[V138]], [[V123]] : vector<8xi16>
// CHECK-NEXT: [[V162:%.+]] = arith.subi [[V138]], [[V123]] : vector<8xi16>
// CHECK-NEXT: [[V163:%.+]] = arith.subi [[V123]], [[V153]] : vector<8xi16>
// CHECK-NEXT: [[V164:%.+]] = arith.subi [[V109]], [[V139]] : vector<8xi16>
// CHECK-NEXT: [[V165:%.+]] = arith.addi [[V139]], [[V124]] : vector<8xi16>
// CHECK-NEXT: [[V166:%.+]] = arith.subi [[V139]], [[V124]] : vector<8xi16>
// CHECK-NEXT: [[V167:%.+]] = arith.subi [[V124]], [[V154]] : vector<8xi16>
// CHECK-NEXT: [[V168:%.+]] = arith.subi [[V110]], [[V140]] : vector<8xi16>
// CHECK-NEXT: [[V169:%.+]] = arith.addi [[V140]], [[V125]] : vector<8xi16>
// CHECK-NEXT: [[V170:%.+]] = arith.subi [[V140]], [[V125]] : vector<8xi16>
// CHECK-NEXT: [[V171:%.+]] = arith.subi [[V125]], [[V155]] : vector<8xi16>
// CHECK-NEXT: simd.store [[V156]], [[V16]][[[V4]], [[V4]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V157]], [[V16]][[[V4]], [[V6]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V158]], [[V16]][[[V4]], [[V5]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V159]], [[V16]][[[V4]], [[V7]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V160]], [[V16]][[[V6]], [[V4]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V161]], [[V16]][[[V6]], [[V6]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V162]], [[V16]][[[V6]], [[V5]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V163]], [[V16]][[[V6]], [[V7]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V164]], [[V16]][[[V5]], [[V4]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V165]], [[V16]][[[V5]], [[V6]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V166]], [[V16]][[[V5]], [[V5]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V167]], [[V16]][[[V5]], [[V7]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V168]], [[V16]][[[V7]], [[V4]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V169]], [[V16]][[[V7]], [[V6]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V170]], [[V16]][[[V7]], [[V5]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: simd.store [[V171]], [[V16]][[[V7]], [[V7]], [[V4]], [[V8]]] : vector<8xi16>, memref<4x4x1x24xi16>
// CHECK-NEXT: scf.for [[V172:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: scf.for [[V173:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: [[V174:%.+]] = scf.for [[V175:%.+]] = [[V4]] to [[V12]] step [[V6]] iter_args([[V176:%.+]] = [[V11]]) -> (vector<4xi32>) {
// CHECK-NEXT: [[V177:%.+]] = simd.load [[V1]][[[V4]], [[V4]], [[V172]], [[V173]], [[V175]], [[V4]]] : memref<1x2x4x4x5x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V178:%.+]] = arith.muli [[V175]], [[V5]] : index
// CHECK-NEXT: [[V179:%.+]] = simd.load_group_splat [[V16]][[[V172]], [[V173]], [[V4]], [[V178]]] : memref<4x4x1x24xi16> to vector<8xi16>
// CHECK-NEXT: [[V180:%.+]] = simd.dot_accumulate [[V176]], [[V179]], [[V177]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V180]] : vector<4xi32>
// CHECK: simd.store [[V174]], [[V17]][[[V172]], [[V173]], [[V4]], [[V4]]] : vector<4xi32>, memref<4x4x1x4xi32>
// CHECK: [[V181:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V182:%.+]] = arith.minsi [[V181]], [[V6]] : index
// CHECK-NEXT: [[V183:%.+]] = simd.load [[V17]][[[V4]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V184:%.+]] = simd.load [[V17]][[[V6]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V185:%.+]] = simd.load [[V17]][[[V5]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V186:%.+]] = simd.load [[V17]][[[V7]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V187:%.+]] = arith.addi [[V184]], [[V185]] : vector<4xi32>
// CHECK-NEXT: [[V188:%.+]] = arith.subi [[V184]], [[V185]] : vector<4xi32>
// CHECK-NEXT: [[V189:%.+]] = arith.addi [[V183]], [[V187]] : vector<4xi32>
// CHECK-NEXT: [[V190:%.+]] = arith.subi [[V188]], [[V186]] : vector<4xi32>
// CHECK-NEXT: [[V191:%.+]] = simd.load [[V17]][[[V4]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V192:%.+]] = simd.load [[V17]][[[V6]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V193:%.+]] = simd.load [[V17]][[[V5]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V194:%.+]] = simd.load [[V17]][[[V7]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V195:%.+]] = arith.addi [[V192]], [[V193]] : vector<4xi32>
// CHECK-NEXT: [[V196:%.+]] = arith.subi [[V192]], [[V193]] : vector<4xi32>
// CHECK-NEXT: [[V197:%.+]] = arith.addi [[V191]], [[V195]] : vector<4xi32>
// CHECK-NEXT: [[V198:%.+]] = arith.subi [[V196]], [[V194]] : vector<4xi32>
// CHECK-NEXT: [[V199:%.+]] = simd.load [[V17]][[[V4]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V200:%.+]] = simd.load [[V17]][[[V6]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V201:%.+]] = simd.load [[V17]][[[V5]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V202:%.+]] = simd.load [[V17]][[[V7]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V203:%.+]] = arith.addi [[V200]], [[V201]] : vector<4xi32>
// CHECK-NEXT: [[V204:%.+]] = arith.subi [[V200]], [[V201]] : vector<4xi32>
// CHECK-NEXT: [[V205:%.+]] = arith.addi [[V199]], [[V203]] : vector<4xi32>
// CHECK-NEXT: [[V206:%.+]] = arith.subi [[V204]], [[V202]] : vector<4xi32>
// CHECK-NEXT: [[V207:%.+]] = simd.load [[V17]][[[V4]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V208:%.+]] = simd.load [[V17]][[[V6]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V209:%.+]] = simd.load [[V17]][[[V5]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V210:%.+]] = simd.load [[V17]][[[V7]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V211:%.+]] = arith.addi [[V208]], [[V209]] : vector<4xi32>
// CHECK-NEXT: [[V212:%.+]] = arith.subi [[V208]], [[V209]] : vector<4xi32>
// CHECK-NEXT: [[V213:%.+]] = arith.addi [[V207]], [[V211]] : vector<4xi32>
// CHECK-NEXT: [[V214:%.+]] = arith.subi [[V212]], [[V210]] : vector<4xi32>
// CHECK-NEXT: [[V215:%.+]] = arith.addi [[V197]], [[V205]] : vector<4xi32>
// CHECK-NEXT: [[V216:%.+]] = arith.subi [[V197]], [[V205]] : vector<4xi32>
// CHECK-NEXT: [[V217:%.+]] = arith.addi [[V189]], [[V215]] : vector<4xi32>
// CHECK-NEXT: [[V218:%.+]] = arith.subi [[V216]], [[V213]] : vector<4xi32>
// CHECK-NEXT: [[V219:%.+]] = arith.addi [[V198]], [[V206]] : vector<4xi32>
// CHECK-NEXT: [[V220:%.+]] = arith.subi [[V198]], [[V206]] : vector<4xi32>
// CHECK-NEXT: [[V221:%.+]] = arith.addi [[V190]], [[V219]] : vector<4xi32>
// CHECK-NEXT: [[V222:%.+]] = arith.subi [[V220]], [[V214]] : vector<4xi32>
// CHECK-NEXT: [[V223:%.+]] = arith.shrsi [[V217]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V224:%.+]] = arith.shrsi [[V218]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V225:%.+]] = arith.shrsi [[V221]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V226:%.+]] = arith.shrsi [[V222]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V227:%.+]] = arith.cmpi eq, [[V182]], [[V181]] : index
// CHECK-NEXT: scf.if [[V227]] {
// CHECK-NEXT: [[V228:%.+]] = simd.load [[V2]][[[V4]]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V229:%.+]] = arith.addi [[V223]], [[V228]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V229]], [[V3]][[[V4]], [[V182]], [[V4]], [[V4]]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V230:%.+]] = arith.addi [[V224]], [[V228]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V230]], [[V3]][[[V4]], [[V182]], [[V6]], [[V4]]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK: [[V231:%.+]] = arith.addi [[V182]], [[V6]] : index
// CHECK-NEXT: [[V232:%.+]] = simd.load [[V2]][[[V4]]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V233:%.+]] = arith.addi [[V225]], [[V232]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V233]], [[V3]][[[V4]], [[V231]], [[V4]], [[V4]]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V234:%.+]] = arith.addi [[V226]], [[V232]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V234]], [[V3]][[[V4]], [[V231]], [[V6]], [[V4]]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: scf.for [[V235:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: scf.for [[V236:%.+]] = [[V4]] to [[V9]] step [[V6]] {
// CHECK-NEXT: [[V237:%.+]] = scf.for [[V238:%.+]] = [[V4]] to [[V12]] step [[V6]] iter_args([[V239:%.+]] = [[V11]]) -> (vector<4xi32>) {
// CHECK-NEXT: [[V240:%.+]] = simd.load [[V1]][[[V4]], [[V6]], [[V235]], [[V236]], [[V238]], [[V4]]] : memref<1x2x4x4x5x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V241:%.+]] = arith.muli [[V238]], [[V5]] : index
// CHECK-NEXT: [[V242:%.+]] = simd.load_group_splat [[V16]][[[V235]], [[V236]], [[V4]], [[V241]]] : memref<4x4x1x24xi16> to vector<8xi16>
// CHECK-NEXT: [[V243:%.+]] = simd.dot_accumulate [[V239]], [[V242]], [[V240]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V243]] : vector<4xi32>
// CHECK: simd.store [[V237]], [[V17]][[[V235]], [[V236]], [[V4]], [[V4]]] : vector<4xi32>, memref<4x4x1x4xi32>
// CHECK: [[V244:%.+]] = arith.muli [[V15]], [[V5]] : index
// CHECK-NEXT: [[V245:%.+]] = arith.minsi [[V244]], [[V6]] : index
// CHECK-NEXT: [[V246:%.+]] = simd.load [[V17]][[[V4]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V247:%.+]] = simd.load [[V17]][[[V6]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V248:%.+]] = simd.load [[V17]][[[V5]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V249:%.+]] = simd.load [[V17]][[[V7]], [[V4]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V250:%.+]] = arith.addi [[V247]], [[V248]] : vector<4xi32>
// CHECK-NEXT: [[V251:%.+]] = arith.subi [[V247]], [[V248]] : vector<4xi32>
// CHECK-NEXT: [[V252:%.+]] = arith.addi [[V246]], [[V250]] : vector<4xi32>
// CHECK-NEXT: [[V253:%.+]] = arith.subi [[V251]], [[V249]] : vector<4xi32>
// CHECK-NEXT: [[V254:%.+]] = simd.load [[V17]][[[V4]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V255:%.+]] = simd.load [[V17]][[[V6]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V256:%.+]] = simd.load [[V17]][[[V5]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V257:%.+]] = simd.load [[V17]][[[V7]], [[V6]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V258:%.+]] = arith.addi [[V255]], [[V256]] : vector<4xi32>
// CHECK-NEXT: [[V259:%.+]] = arith.subi [[V255]], [[V256]] : vector<4xi32>
// CHECK-NEXT: [[V260:%.+]] = arith.addi [[V254]], [[V258]] : vector<4xi32>
// CHECK-NEXT: [[V261:%.+]] = arith.subi [[V259]], [[V257]] : vector<4xi32>
// CHECK-NEXT: [[V262:%.+]] = simd.load [[V17]][[[V4]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V263:%.+]] = simd.load [[V17]][[[V6]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V264:%.+]] = simd.load [[V17]][[[V5]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V265:%.+]] = simd.load [[V17]][[[V7]], [[V5]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V266:%.+]] = arith.addi [[V263]], [[V264]] : vector<4xi32>
// CHECK-NEXT: [[V267:%.+]] = arith.subi [[V263]], [[V264]] : vector<4xi32>
// CHECK-NEXT: [[V268:%.+]] = arith.addi [[V262]], [[V266]] : vector<4xi32>
// CHECK-NEXT: [[V269:%.+]] = arith.subi [[V267]], [[V265]] : vector<4xi32>
// CHECK-NEXT: [[V270:%.+]] = simd.load [[V17]][[[V4]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V271:%.+]] = simd.load [[V17]][[[V6]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V272:%.+]] = simd.load [[V17]][[[V5]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V273:%.+]] = simd.load [[V17]][[[V7]], [[V7]], [[V4]], [[V4]]] : memref<4x4x1x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V274:%.+]] = arith.addi [[V271]], [[V272]] : vector<4xi32>
// CHECK-NEXT: [[V275:%.+]] = arith.subi [[V271]], [[V272]] : vector<4xi32>
// CHECK-NEXT: [[V276:%.+]] = arith.addi [[V270]], [[V274]] : vector<4xi32>
// CHECK-NEXT: [[V277:%.+]] = arith.subi [[V275]], [[V273]] : vector<4xi32>
// CHECK-NEXT: [[V278:%.+]] = arith.addi [[V260]], [[V268]] : vector<4xi32>
// CHECK-NEXT: [[V279:%.+]] = arith.subi [[V260]], [[V268]] : vector<4xi32>
// CHECK-NEXT: [[V280:%.+]] = arith.addi [[V252]], [[V278]] : vector<4xi32>
// CHECK-NEXT: [[V281:%.+]] = arith.subi [[V279]], [[V276]] : vector<4xi32>
// CHECK-NEXT: [[V282:%.+]] = arith.addi [[V261]], [[V269]] : vector<4xi32>
// CHECK-NEXT: [[V283:%.+]] = arith.subi [[V261]], [[V269]] : vector<4xi32>
// CHECK-NEXT: [[V284:%.+]] = arith.addi [[V253]], [[V282]] : vector<4xi32>
// CHECK-NEXT: [[V285:%.+]] = arith.subi [[V283]], [[V277]] : vector<4xi32>
// CHECK-NEXT: [[V286:%.+]] = arith.shrsi [[V280]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V287:%.+]] = arith.shrsi [[V281]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V288:%.+]] = arith.shrsi [[V284]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V289:%.+]] = arith.shrsi [[V285]], [[V14]] : vector<4xi32>
// CHECK-NEXT: [[V290:%.+]] = arith.cmpi eq, [[V245]], [[V244]] : index
// CHECK-NEXT: scf.if [[V290]] {
// CHECK-NEXT: [[V291:%.+]] = simd.load_partial [[V2]][[[V9]]], [[V6]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V292:%.+]] = arith.addi [[V286]], [[V291]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V292]], [[V3]][[[V4]], [[V245]], [[V4]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V293:%.+]] = arith.addi [[V287]], [[V291]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V293]], [[V3]][[[V4]], [[V245]], [[V6]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK: [[V294:%.+]] = arith.addi [[V245]], [[V6]] : index
// CHECK-NEXT: [[V295:%.+]] = simd.load_partial [[V2]][[[V9]]], [[V6]] : memref<5xi32> to vector<4xi32>
// CHECK-NEXT: [[V296:%.+]] = arith.addi [[V288]], [[V295]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V296]], [[V3]][[[V4]], [[V294]], [[V4]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
// CHECK-NEXT: [[V297:%.+]] = arith.addi [[V289]], [[V295]] : vector<4xi32>
// CHECK-NEXT: simd.store_partial [[V297]], [[V3]][[[V4]], [[V294]], [[V6]], [[V9]]], [[V6]] : vector<4xi32>, memref<1x3x2x5xi32>
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
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<4xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V13:%.+]] = vector.broadcast [[V12]] : i32 to vector<4xi32>
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
// CHECK-NEXT: [[V26:%.+]] = simd.load [[V0]][[[V23]], [[V3]], [[V25]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V27:%.+]] = simd.load [[V0]][[[V23]], [[V5]], [[V25]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V28:%.+]] = simd.load [[V0]][[[V23]], [[V4]], [[V25]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V0]][[[V23]], [[V6]], [[V25]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V30:%.+]] = arith.subi [[V26]], [[V28]] : vector<8xi16>
// CHECK-NEXT: [[V31:%.+]] = arith.addi [[V28]], [[V27]] : vector<8xi16>
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V28]], [[V27]] : vector<8xi16>
// CHECK-NEXT: [[V33:%.+]] = arith.subi [[V27]], [[V29]] : vector<8xi16>
// CHECK-NEXT: [[V34:%.+]] = arith.addi [[V25]], [[V5]] : index
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V0]][[[V23]], [[V3]], [[V34]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V36:%.+]] = arith.addi [[V25]], [[V5]] : index
// CHECK-NEXT: [[V37:%.+]] = simd.load [[V0]][[[V23]], [[V5]], [[V36]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V25]], [[V5]] : index
// CHECK-NEXT: [[V39:%.+]] = simd.load [[V0]][[[V23]], [[V4]], [[V38]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V40:%.+]] = arith.addi [[V25]], [[V5]] : index
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V0]][[[V23]], [[V6]], [[V40]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V42:%.+]] = arith.subi [[V35]], [[V39]] : vector<8xi16>
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V39]], [[V37]] : vector<8xi16>
// CHECK-NEXT: [[V44:%.+]] = arith.subi [[V39]], [[V37]] : vector<8xi16>
// CHECK-NEXT: [[V45:%.+]] = arith.subi [[V37]], [[V41]] : vector<8xi16>
// CHECK-NEXT: [[V46:%.+]] = arith.addi [[V25]], [[V4]] : index
// CHECK-NEXT: [[V47:%.+]] = simd.load [[V0]][[[V23]], [[V3]], [[V46]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V25]], [[V4]] : index
// CHECK-NEXT: [[V49:%.+]] = simd.load [[V0]][[[V23]], [[V5]], [[V48]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V25]], [[V4]] : index
// CHECK-NEXT: [[V51:%.+]] = simd.load [[V0]][[[V23]], [[V4]], [[V50]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.addi [[V25]], [[V4]] : index
// CHECK-NEXT: [[V53:%.+]] = simd.load [[V0]][[[V23]], [[V6]], [[V52]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V54:%.+]] = arith.subi [[V47]], [[V51]] : vector<8xi16>
// CHECK-NEXT: [[V55:%.+]] = arith.addi [[V51]], [[V49]] : vector<8xi16>
// CHECK-NEXT: [[V56:%.+]] = arith.subi [[V51]], [[V49]] : vector<8xi16>
// CHECK-NEXT: [[V57:%.+]] = arith.subi [[V49]], [[V53]] : vector<8xi16>
// CHECK-NEXT: [[V58:%.+]] = arith.addi [[V25]], [[V6]] : index
// CHECK-NEXT: [[V59:%.+]] = simd.load [[V0]][[[V23]], [[V3]], [[V58]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V60:%.+]] = arith.addi [[V25]], [[V6]] : index
// CHECK-NEXT: [[V61:%.+]] = simd.load [[V0]][[[V23]], [[V5]], [[V60]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V62:%.+]] = arith.addi [[V25]], [[V6]] : index
// CHECK-NEXT: [[V63:%.+]] = simd.load [[V0]][[[V23]], [[V4]], [[V62]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V64:%.+]] = arith.addi [[V25]], [[V6]] : index
// CHECK-NEXT: [[V65:%.+]] = simd.load [[V0]][[[V23]], [[V6]], [[V64]], [[V3]]] : memref<2x4x6x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V66:%.+]] = arith.subi [[V59]], [[V63]] : vector<8xi16>
// CHECK-NEXT: [[V67:%.+]] = arith.addi [[V63]], [[V61]] : vector<8xi16>
// CHECK-NEXT: [[V68:%.+]] = arith.subi [[V63]], [[V61]] : vector<8xi16>
// CHECK-NEXT: [[V69:%.+]] = arith.subi [[V61]], [[V65]] : vector<8xi16>
// CHECK-NEXT: [[V70:%.+]] = arith.subi [[V30]], [[V54]] : vector<8xi16>
// CHECK-NEXT: [[V71:%.+]] = arith.addi [[V54]], [[V42]] : vector<8xi16>
// CHECK-NEXT: [[V72:%.+]] = arith.subi [[V54]], [[V42]] : vector<8xi16>
// CHECK-NEXT: [[V73:%.+]] = arith.subi [[V42]], [[V66]] : vector<8xi16>
// CHECK-NEXT: [[V74:%.+]] = arith.subi [[V31]], [[V55]] : vector<8xi16>
// CHECK-NEXT: [[V75:%.+]] = arith.addi [[V55]], [[V43]] : vector<8xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.subi [[V55]], [[V43]] : vector<8xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.subi [[V43]], [[V67]] : vector<8xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.subi [[V32]], [[V56]] : vector<8xi16>
// CHECK-NEXT: [[V79:%.+]] = arith.addi [[V56]], [[V44]] : vector<8xi16>
// CHECK-NEXT: [[V80:%.+]] = arith.subi [[V56]], [[V44]] : vector<8xi16>
// CHECK-NEXT: [[V81:%.+]] = arith.subi [[V44]], [[V68]] : vector<8xi16>
// CHECK-NEXT: [[V82:%.+]] = arith.subi [[V33]], [[V57]] : vector<8xi16>
// CHECK-NEXT: [[V83:%.+]] = arith.addi [[V57]], [[V45]] : vector<8xi16>
// CHECK-NEXT: [[V84:%.+]] = arith.subi [[V57]], [[V45]] : vector<8xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.subi [[V45]], [[V69]] : vector<8xi16>
// CHECK-NEXT: simd.store [[V70]], [[V19]][[[V3]], [[V3]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V71]], [[V19]][[[V3]], [[V5]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V72]], [[V19]][[[V3]], [[V4]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V73]], [[V19]][[[V3]], [[V6]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V74]], [[V19]][[[V5]], [[V3]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V75]], [[V19]][[[V5]], [[V5]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V76]], [[V19]][[[V5]], [[V4]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V77]], [[V19]][[[V5]], [[V6]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V78]], [[V19]][[[V4]], [[V3]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V79]], [[V19]][[[V4]], [[V5]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V80]], [[V19]][[[V4]], [[V4]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V81]], [[V19]][[[V4]], [[V6]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V82]], [[V19]][[[V6]], [[V3]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V83]], [[V19]][[[V6]], [[V5]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V84]], [[V19]][[[V6]], [[V4]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK-NEXT: simd.store [[V85]], [[V19]][[[V6]], [[V6]], [[V21]], [[V3]]] : vector<8xi16>, memref<4x4x5x16xi16>
// CHECK: [[V86:%.+]] = arith.addi [[V18]], [[V5]] : index
// CHECK-NEXT: [[V87:%.+]] = arith.divui [[V86]], [[V4]] : index
// CHECK-NEXT: scf.for [[V88:%.+]] = [[V3]] to [[V7]] step [[V5]] {
// CHECK-NEXT: scf.for [[V89:%.+]] = [[V3]] to [[V7]] step [[V5]] {
// CHECK-NEXT: scf.for [[V90:%.+]] = [[V3]] to [[V87]] step [[V5]] {
// CHECK-NEXT: [[V91:%.+]] = arith.muli [[V90]], [[V4]] : index
// CHECK-NEXT: [[V92:%.+]] = arith.muli [[V88]], [[V7]] : index
// CHECK-NEXT: [[V93:%.+]] = arith.addi [[V92]], [[V89]] : index
// CHECK-NEXT: [[V94:%.+]] = arith.addi [[V93]], [[V5]] : index
// CHECK-NEXT: [[V95:%.+]] = arith.muli [[V94]], [[V8]] : index
// CHECK-NEXT: [[V96:%.+]] = arith.muli [[V90]], [[V9]] : index
// CHECK-NEXT: [[V97:%.+]] = arith.addi [[V95]], [[V96]] : index
// CHECK-NEXT: [[V98:%.+]], [[V99:%.+]] = scf.for [[V100:%.+]] = [[V3]] to [[V7]] step [[V5]] iter_args([[V101:%.+]] = [[V11]], [[V102:%.+]] = [[V11]]) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT: [[V103:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V88]], [[V89]], [[V100]], [[V3]]] : memref<1x1x4x4x4x8xi16> to vector<8xi16>
// CHECK-NEXT: [[V104:%.+]] = arith.muli [[V100]], [[V7]] : index
// CHECK-NEXT: [[V105:%.+]] = arith.addi [[V97]], [[V104]] : index
// CHECK-NEXT: simd.prefetch [[V14]][[[V105]]] {level = 2 : i64} : memref<512xi16>
// CHECK-NEXT: [[V106:%.+]] = arith.muli [[V100]], [[V4]] : index
// CHECK-NEXT: [[V107:%.+]] = simd.load_group_splat [[V19]][[[V88]], [[V89]], [[V91]], [[V106]]] : memref<4x4x5x16xi16> to vector<8xi16>
// CHECK-NEXT: [[V108:%.+]] = simd.dot_accumulate [[V101]], [[V107]], [[V103]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: [[V109:%.+]] = arith.addi [[V91]], [[V5]] : index
// CHECK-NEXT: [[V110:%.+]] = arith.muli [[V100]], [[V4]] : index
// CHECK-NEXT: [[V111:%.+]] = simd.load_group_splat [[V19]][[[V88]], [[V89]], [[V109]], [[V110]]] : memref<4x4x5x16xi16> to vector<8xi16>
// CHECK-NEXT: [[V112:%.+]] = simd.dot_accumulate [[V102]], [[V111]], [[V103]] : vector<4xi32>, vector<8xi16>, vector<8xi16> -> vector<4xi32>
// CHECK-NEXT: scf.yield [[V108]], [[V112]] : vector<4xi32>, vector<4xi32>
// CHECK: simd.store [[V98]], [[V20]][[[V88]], [[V89]], [[V91]], [[V3]]] : vector<4xi32>, memref<4x4x5x4xi32>
// CHECK-NEXT: [[V113:%.+]] = arith.addi [[V91]], [[V5]] : index
// CHECK-NEXT: simd.store [[V99]], [[V20]][[[V88]], [[V89]], [[V113]], [[V3]]] : vector<4xi32>, memref<4x4x5x4xi32>
// CHECK: scf.for [[V114:%.+]] = [[V3]] to [[V18]] step [[V5]] {
// CHECK-NEXT: [[V115:%.+]] = arith.addi [[V16]], [[V114]] : index
// CHECK-NEXT: [[V116:%.+]] = arith.divui [[V115]], [[V4]] : index
// CHECK-NEXT: [[V117:%.+]] = arith.remui [[V115]], [[V4]] : index
// CHECK-NEXT: [[V118:%.+]] = arith.muli [[V117]], [[V4]] : index
// CHECK-NEXT: [[V119:%.+]] = simd.load [[V20]][[[V3]], [[V3]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V120:%.+]] = simd.load [[V20]][[[V5]], [[V3]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V121:%.+]] = simd.load [[V20]][[[V4]], [[V3]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V122:%.+]] = simd.load [[V20]][[[V6]], [[V3]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V123:%.+]] = arith.addi [[V120]], [[V121]] : vector<4xi32>
// CHECK-NEXT: [[V124:%.+]] = arith.subi [[V120]], [[V121]] : vector<4xi32>
// CHECK-NEXT: [[V125:%.+]] = arith.addi [[V119]], [[V123]] : vector<4xi32>
// CHECK-NEXT: [[V126:%.+]] = arith.subi [[V124]], [[V122]] : vector<4xi32>
// CHECK-NEXT: [[V127:%.+]] = simd.load [[V20]][[[V3]], [[V5]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V128:%.+]] = simd.load [[V20]][[[V5]], [[V5]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V129:%.+]] = simd.load [[V20]][[[V4]], [[V5]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V130:%.+]] = simd.load [[V20]][[[V6]], [[V5]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V131:%.+]] = arith.addi [[V128]], [[V129]] : vector<4xi32>
// CHECK-NEXT: [[V132:%.+]] = arith.subi [[V128]], [[V129]] : vector<4xi32>
// CHECK-NEXT: [[V133:%.+]] = arith.addi [[V127]], [[V131]] : vector<4xi32>
// CHECK-NEXT: [[V134:%.+]] = arith.subi [[V132]], [[V130]] : vector<4xi32>
// CHECK-NEXT: [[V135:%.+]] = simd.load [[V20]][[[V3]], [[V4]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V136:%.+]] = simd.load [[V20]][[[V5]], [[V4]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V137:%.+]] = simd.load [[V20]][[[V4]], [[V4]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V138:%.+]] = simd.load [[V20]][[[V6]], [[V4]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V139:%.+]] = arith.addi [[V136]], [[V137]] : vector<4xi32>
// CHECK-NEXT: [[V140:%.+]] = arith.subi [[V136]], [[V137]] : vector<4xi32>
// CHECK-NEXT: [[V141:%.+]] = arith.addi [[V135]], [[V139]] : vector<4xi32>
// CHECK-NEXT: [[V142:%.+]] = arith.subi [[V140]], [[V138]] : vector<4xi32>
// CHECK-NEXT: [[V143:%.+]] = simd.load [[V20]][[[V3]], [[V6]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V144:%.+]] = simd.load [[V20]][[[V5]], [[V6]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V145:%.+]] = simd.load [[V20]][[[V4]], [[V6]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V146:%.+]] = simd.load [[V20]][[[V6]], [[V6]], [[V114]], [[V3]]] : memref<4x4x5x4xi32> to vector<4xi32>
// CHECK-NEXT: [[V147:%.+]] = arith.addi [[V144]], [[V145]] : vector<4xi32>
// CHECK-NEXT: [[V148:%.+]] = arith.subi [[V144]], [[V145]] : vector<4xi32>
// CHECK-NEXT: [[V149:%.+]] = arith.addi [[V143]], [[V147]] : vector<4xi32>
// CHECK-NEXT: [[V150:%.+]] = arith.subi [[V148]], [[V146]] : vector<4xi32>
// CHECK-NEXT: [[V151:%.+]] = arith.addi [[V133]], [[V141]] : vector<4xi32>
// CHECK-NEXT: [[V152:%.+]] = arith.subi [[V133]], [[V141]] : vector<4xi32>
// CHECK-NEXT: [[V153:%.+]] = arith.addi [[V125]], [[V151]] : vector<4xi32>
// CHECK-NEXT: [[V154:%.+]] = arith.subi [[V152]], [[V149]] : vector<4xi32>
// CHECK-NEXT: [[V155:%.+]] = arith.addi [[V134]], [[V142]] : vector<4xi32>
// CHECK-NEXT: [[V156:%.+]] = arith.subi [[V134]], [[V142]] : vector<4xi32>
// CHECK-NEXT: [[V157:%.+]] = arith.addi [[V126]], [[V155]] : vector<4xi32>
// CHECK-NEXT: [[V158:%.+]] = arith.subi [[V156]], [[V150]] : vector<4xi32>
// CHECK-NEXT: [[V159:%.+]] = arith.shrsi [[V153]], [[V13]] : vector<4xi32>
// CHECK-NEXT: [[V160:%.+]] = arith.shrsi [[V154]], [[V13]] : vector<4xi32>
// CHECK-NEXT: [[V161:%.+]] = arith.shrsi [[V157]], [[V13]] : vector<4xi32>
// CHECK-NEXT: [[V162:%.+]] = arith.shrsi [[V158]], [[V13]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V159]], [[V2]][[[V116]], [[V3]], [[V118]], [[V3]]] : vector<4xi32>, memref<2x2x4x4xi32>
// CHECK-NEXT: [[V163:%.+]] = arith.addi [[V118]], [[V5]] : index
// CHECK-NEXT: simd.store [[V160]], [[V2]][[[V116]], [[V3]], [[V163]], [[V3]]] : vector<4xi32>, memref<2x2x4x4xi32>
// CHECK-NEXT: simd.store [[V161]], [[V2]][[[V116]], [[V5]], [[V118]], [[V3]]] : vector<4xi32>, memref<2x2x4x4xi32>
// CHECK-NEXT: [[V164:%.+]] = arith.addi [[V118]], [[V5]] : index
// CHECK-NEXT: simd.store [[V162]], [[V2]][[[V116]], [[V5]], [[V164]], [[V3]]] : vector<4xi32>, memref<2x2x4x4xi32>
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
