// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// Two parts of four channels, each two steps: products of their own, whose sums are added behind their shifts.
// CHECK-LABEL: @parts(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x8xi8>, [[V1:%.+]]: memref<1x1x4x4x4x4xi16>, [[V2:%.+]]: memref<1x2x2x2xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V9:%.+]] = vector.broadcast [[V8]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V12:%.+]] = memref.alloca() : memref<4x4x1x12xi16>
// CHECK-NEXT: [[V13:%.+]] = memref.alloca() : memref<4x4x1x2xi32>
// CHECK-NEXT: [[V14:%.+]] = memref.alloca() : memref<4x4x1x2xi32>
// CHECK-NEXT: scf.for [[V15:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V15]], [[V6]] : index
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V0]][[[V3]], [[V3]], [[V3]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V18:%.+]] = simd.convert [[V17]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V19:%.+]] = simd.load [[V0]][[[V3]], [[V5]], [[V3]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V20:%.+]] = simd.convert [[V19]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V0]][[[V3]], [[V4]], [[V3]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V22:%.+]] = simd.convert [[V21]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V23:%.+]] = simd.load [[V0]][[[V3]], [[V7]], [[V3]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V24:%.+]] = simd.convert [[V23]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V18]], [[V22]] : vector<4xi16>
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V22]], [[V20]] : vector<4xi16>
// CHECK-NEXT: [[V27:%.+]] = arith.subi [[V22]], [[V20]] : vector<4xi16>
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V20]], [[V24]] : vector<4xi16>
// CHECK-NEXT: [[V29:%.+]] = simd.load [[V0]][[[V3]], [[V3]], [[V5]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V30:%.+]] = simd.convert [[V29]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V31:%.+]] = simd.load [[V0]][[[V3]], [[V5]], [[V5]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V32:%.+]] = simd.convert [[V31]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V33:%.+]] = simd.load [[V0]][[[V3]], [[V4]], [[V5]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V34:%.+]] = simd.convert [[V33]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V35:%.+]] = simd.load [[V0]][[[V3]], [[V7]], [[V5]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V36:%.+]] = simd.convert [[V35]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V37:%.+]] = arith.subi [[V30]], [[V34]] : vector<4xi16>
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V34]], [[V32]] : vector<4xi16>
// CHECK-NEXT: [[V39:%.+]] = arith.subi [[V34]], [[V32]] : vector<4xi16>
// CHECK-NEXT: [[V40:%.+]] = arith.subi [[V32]], [[V36]] : vector<4xi16>
// CHECK-NEXT: [[V41:%.+]] = simd.load [[V0]][[[V3]], [[V3]], [[V4]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.convert [[V41]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V43:%.+]] = simd.load [[V0]][[[V3]], [[V5]], [[V4]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.convert [[V43]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V45:%.+]] = simd.load [[V0]][[[V3]], [[V4]], [[V4]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V46:%.+]] = simd.convert [[V45]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V47:%.+]] = simd.load [[V0]][[[V3]], [[V7]], [[V4]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V48:%.+]] = simd.convert [[V47]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V49:%.+]] = arith.subi [[V42]], [[V46]] : vector<4xi16>
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V46]], [[V44]] : vector<4xi16>
// CHECK-NEXT: [[V51:%.+]] = arith.subi [[V46]], [[V44]] : vector<4xi16>
// CHECK-NEXT: [[V52:%.+]] = arith.subi [[V44]], [[V48]] : vector<4xi16>
// CHECK-NEXT: [[V53:%.+]] = simd.load [[V0]][[[V3]], [[V3]], [[V7]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.convert [[V53]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V55:%.+]] = simd.load [[V0]][[[V3]], [[V5]], [[V7]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V56:%.+]] = simd.convert [[V55]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V57:%.+]] = simd.load [[V0]][[[V3]], [[V4]], [[V7]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V58:%.+]] = simd.convert [[V57]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V59:%.+]] = simd.load [[V0]][[[V3]], [[V7]], [[V7]], [[V16]]] : memref<1x4x4x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V60:%.+]] = simd.convert [[V59]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V61:%.+]] = arith.subi [[V54]], [[V58]] : vector<4xi16>
// CHECK-NEXT: [[V62:%.+]] = arith.addi [[V58]], [[V56]] : vector<4xi16>
// CHECK-NEXT: [[V63:%.+]] = arith.subi [[V58]], [[V56]] : vector<4xi16>
// CHECK-NEXT: [[V64:%.+]] = arith.subi [[V56]], [[V60]] : vector<4xi16>
// CHECK-NEXT: [[V65:%.+]] = arith.subi [[V25]], [[V49]] : vector<4xi16>
// CHECK-NEXT: [[V66:%.+]] = arith.addi [[V49]], [[V37]] : vector<4xi16>
// CHECK-NEXT: [[V67:%.+]] = arith.subi [[V49]], [[V37]] : vector<4xi16>
// CHECK-NEXT: [[V68:%.+]] = arith.subi [[V37]], [[V61]] : vector<4xi16>
// CHECK-NEXT: [[V69:%.+]] = arith.subi [[V26]], [[V50]] : vector<4xi16>
// CHECK-NEXT: [[V70:%.+]] = arith.addi [[V50]], [[V38]] : vector<4xi16>
// CHECK-NEXT: [[V71:%.+]] = arith.subi [[V50]], [[V38]] : vector<4xi16>
// CHECK-NEXT: [[V72:%.+]] = arith.subi [[V38]], [[V62]] : vector<4xi16>
// CHECK-NEXT: [[V73:%.+]] = arith.subi [[V27]], [[V51]] : vector<4xi16>
// CHECK-NEXT: [[V74:%.+]] = arith.addi [[V51]], [[V39]] : vector<4xi16>
// CHECK-NEXT: [[V75:%.+]] = arith.subi [[V51]], [[V39]] : vector<4xi16>
// CHECK-NEXT: [[V76:%.+]] = arith.subi [[V39]], [[V63]] : vector<4xi16>
// CHECK-NEXT: [[V77:%.+]] = arith.subi [[V28]], [[V52]] : vector<4xi16>
// CHECK-NEXT: [[V78:%.+]] = arith.addi [[V52]], [[V40]] : vector<4xi16>
// CHECK-NEXT: [[V79:%.+]] = arith.subi [[V52]], [[V40]] : vector<4xi16>
// CHECK-NEXT: [[V80:%.+]] = arith.subi [[V40]], [[V64]] : vector<4xi16>
// CHECK-NEXT: simd.store [[V65]], [[V12]][[[V3]], [[V3]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V66]], [[V12]][[[V3]], [[V5]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V67]], [[V12]][[[V3]], [[V4]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V68]], [[V12]][[[V3]], [[V7]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V69]], [[V12]][[[V5]], [[V3]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V70]], [[V12]][[[V5]], [[V5]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V71]], [[V12]][[[V5]], [[V4]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V72]], [[V12]][[[V5]], [[V7]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V73]], [[V12]][[[V4]], [[V3]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V74]], [[V12]][[[V4]], [[V5]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V75]], [[V12]][[[V4]], [[V4]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V76]], [[V12]][[[V4]], [[V7]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V77]], [[V12]][[[V7]], [[V3]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V78]], [[V12]][[[V7]], [[V5]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V79]], [[V12]][[[V7]], [[V4]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK-NEXT: simd.store [[V80]], [[V12]][[[V7]], [[V7]], [[V3]], [[V16]]] : vector<4xi16>, memref<4x4x1x12xi16>
// CHECK: scf.for [[V81:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: scf.for [[V82:%.+]] = [[V3]] to [[V6]] step [[V5]] {
// CHECK-NEXT: [[V83:%.+]] = scf.for [[V84:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V85:%.+]] = [[V9]]) -> (vector<2xi32>) {
// CHECK-NEXT: [[V86:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V81]], [[V82]], [[V84]], [[V3]]] : memref<1x1x4x4x4x4xi16> to vector<4xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.muli [[V84]], [[V4]] : index
// CHECK-NEXT: [[V88:%.+]] = simd.load_group_splat [[V12]][[[V81]], [[V82]], [[V3]], [[V87]]] : memref<4x4x1x12xi16> to vector<4xi16>
// CHECK-NEXT: [[V89:%.+]] = simd.dot_accumulate [[V85]], [[V88]], [[V86]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: scf.yield [[V89]] : vector<2xi32>
// CHECK: simd.store [[V83]], [[V13]][[[V81]], [[V82]], [[V3]], [[V3]]] : vector<2xi32>, memref<4x4x1x2xi32>
// CHECK-NEXT: [[V90:%.+]] = scf.for [[V91:%.+]] = [[V3]] to [[V4]] step [[V5]] iter_args([[V92:%.+]] = [[V9]]) -> (vector<2xi32>) {
// CHECK-NEXT: [[V93:%.+]] = arith.addi [[V91]], [[V4]] : index
// CHECK-NEXT: [[V94:%.+]] = simd.load [[V1]][[[V3]], [[V3]], [[V81]], [[V82]], [[V93]], [[V3]]] : memref<1x1x4x4x4x4xi16> to vector<4xi16>
// CHECK-NEXT: [[V95:%.+]] = arith.muli [[V93]], [[V4]] : index
// CHECK-NEXT: [[V96:%.+]] = simd.load_group_splat [[V12]][[[V81]], [[V82]], [[V3]], [[V95]]] : memref<4x4x1x12xi16> to vector<4xi16>
// CHECK-NEXT: [[V97:%.+]] = simd.dot_accumulate [[V92]], [[V96]], [[V94]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: scf.yield [[V97]] : vector<2xi32>
// CHECK: simd.store [[V90]], [[V14]][[[V81]], [[V82]], [[V3]], [[V3]]] : vector<2xi32>, memref<4x4x1x2xi32>
// CHECK: [[V98:%.+]] = simd.load [[V13]][[[V3]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V99:%.+]] = simd.load [[V13]][[[V5]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V100:%.+]] = simd.load [[V13]][[[V4]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V101:%.+]] = simd.load [[V13]][[[V7]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V102:%.+]] = arith.addi [[V99]], [[V100]] : vector<2xi32>
// CHECK-NEXT: [[V103:%.+]] = arith.subi [[V99]], [[V100]] : vector<2xi32>
// CHECK-NEXT: [[V104:%.+]] = arith.addi [[V98]], [[V102]] : vector<2xi32>
// CHECK-NEXT: [[V105:%.+]] = arith.subi [[V103]], [[V101]] : vector<2xi32>
// CHECK-NEXT: [[V106:%.+]] = simd.load [[V13]][[[V3]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V107:%.+]] = simd.load [[V13]][[[V5]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V108:%.+]] = simd.load [[V13]][[[V4]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V109:%.+]] = simd.load [[V13]][[[V7]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V110:%.+]] = arith.addi [[V107]], [[V108]] : vector<2xi32>
// CHECK-NEXT: [[V111:%.+]] = arith.subi [[V107]], [[V108]] : vector<2xi32>
// CHECK-NEXT: [[V112:%.+]] = arith.addi [[V106]], [[V110]] : vector<2xi32>
// CHECK-NEXT: [[V113:%.+]] = arith.subi [[V111]], [[V109]] : vector<2xi32>
// CHECK-NEXT: [[V114:%.+]] = simd.load [[V13]][[[V3]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V115:%.+]] = simd.load [[V13]][[[V5]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V116:%.+]] = simd.load [[V13]][[[V4]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V117:%.+]] = simd.load [[V13]][[[V7]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V118:%.+]] = arith.addi [[V115]], [[V116]] : vector<2xi32>
// CHECK-NEXT: [[V119:%.+]] = arith.subi [[V115]], [[V116]] : vector<2xi32>
// CHECK-NEXT: [[V120:%.+]] = arith.addi [[V114]], [[V118]] : vector<2xi32>
// CHECK-NEXT: [[V121:%.+]] = arith.subi [[V119]], [[V117]] : vector<2xi32>
// CHECK-NEXT: [[V122:%.+]] = simd.load [[V13]][[[V3]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V123:%.+]] = simd.load [[V13]][[[V5]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V124:%.+]] = simd.load [[V13]][[[V4]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V125:%.+]] = simd.load [[V13]][[[V7]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V126:%.+]] = arith.addi [[V123]], [[V124]] : vector<2xi32>
// CHECK-NEXT: [[V127:%.+]] = arith.subi [[V123]], [[V124]] : vector<2xi32>
// CHECK-NEXT: [[V128:%.+]] = arith.addi [[V122]], [[V126]] : vector<2xi32>
// CHECK-NEXT: [[V129:%.+]] = arith.subi [[V127]], [[V125]] : vector<2xi32>
// CHECK-NEXT: [[V130:%.+]] = arith.addi [[V112]], [[V120]] : vector<2xi32>
// CHECK-NEXT: [[V131:%.+]] = arith.subi [[V112]], [[V120]] : vector<2xi32>
// CHECK-NEXT: [[V132:%.+]] = arith.addi [[V104]], [[V130]] : vector<2xi32>
// CHECK-NEXT: [[V133:%.+]] = arith.subi [[V131]], [[V128]] : vector<2xi32>
// CHECK-NEXT: [[V134:%.+]] = arith.addi [[V113]], [[V121]] : vector<2xi32>
// CHECK-NEXT: [[V135:%.+]] = arith.subi [[V113]], [[V121]] : vector<2xi32>
// CHECK-NEXT: [[V136:%.+]] = arith.addi [[V105]], [[V134]] : vector<2xi32>
// CHECK-NEXT: [[V137:%.+]] = arith.subi [[V135]], [[V129]] : vector<2xi32>
// CHECK-NEXT: [[V138:%.+]] = arith.shrsi [[V132]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V139:%.+]] = arith.shrsi [[V133]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V140:%.+]] = arith.shrsi [[V136]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V141:%.+]] = arith.shrsi [[V137]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V142:%.+]] = simd.load [[V14]][[[V3]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V143:%.+]] = simd.load [[V14]][[[V5]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V144:%.+]] = simd.load [[V14]][[[V4]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V145:%.+]] = simd.load [[V14]][[[V7]], [[V3]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V146:%.+]] = arith.addi [[V143]], [[V144]] : vector<2xi32>
// CHECK-NEXT: [[V147:%.+]] = arith.subi [[V143]], [[V144]] : vector<2xi32>
// CHECK-NEXT: [[V148:%.+]] = arith.addi [[V142]], [[V146]] : vector<2xi32>
// CHECK-NEXT: [[V149:%.+]] = arith.subi [[V147]], [[V145]] : vector<2xi32>
// CHECK-NEXT: [[V150:%.+]] = simd.load [[V14]][[[V3]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V151:%.+]] = simd.load [[V14]][[[V5]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V152:%.+]] = simd.load [[V14]][[[V4]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V153:%.+]] = simd.load [[V14]][[[V7]], [[V5]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V154:%.+]] = arith.addi [[V151]], [[V152]] : vector<2xi32>
// CHECK-NEXT: [[V155:%.+]] = arith.subi [[V151]], [[V152]] : vector<2xi32>
// CHECK-NEXT: [[V156:%.+]] = arith.addi [[V150]], [[V154]] : vector<2xi32>
// CHECK-NEXT: [[V157:%.+]] = arith.subi [[V155]], [[V153]] : vector<2xi32>
// CHECK-NEXT: [[V158:%.+]] = simd.load [[V14]][[[V3]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V159:%.+]] = simd.load [[V14]][[[V5]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V160:%.+]] = simd.load [[V14]][[[V4]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V161:%.+]] = simd.load [[V14]][[[V7]], [[V4]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V162:%.+]] = arith.addi [[V159]], [[V160]] : vector<2xi32>
// CHECK-NEXT: [[V163:%.+]] = arith.subi [[V159]], [[V160]] : vector<2xi32>
// CHECK-NEXT: [[V164:%.+]] = arith.addi [[V158]], [[V162]] : vector<2xi32>
// CHECK-NEXT: [[V165:%.+]] = arith.subi [[V163]], [[V161]] : vector<2xi32>
// CHECK-NEXT: [[V166:%.+]] = simd.load [[V14]][[[V3]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V167:%.+]] = simd.load [[V14]][[[V5]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V168:%.+]] = simd.load [[V14]][[[V4]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V169:%.+]] = simd.load [[V14]][[[V7]], [[V7]], [[V3]], [[V3]]] : memref<4x4x1x2xi32> to vector<2xi32>
// CHECK-NEXT: [[V170:%.+]] = arith.addi [[V167]], [[V168]] : vector<2xi32>
// CHECK-NEXT: [[V171:%.+]] = arith.subi [[V167]], [[V168]] : vector<2xi32>
// CHECK-NEXT: [[V172:%.+]] = arith.addi [[V166]], [[V170]] : vector<2xi32>
// CHECK-NEXT: [[V173:%.+]] = arith.subi [[V171]], [[V169]] : vector<2xi32>
// CHECK-NEXT: [[V174:%.+]] = arith.addi [[V156]], [[V164]] : vector<2xi32>
// CHECK-NEXT: [[V175:%.+]] = arith.subi [[V156]], [[V164]] : vector<2xi32>
// CHECK-NEXT: [[V176:%.+]] = arith.addi [[V148]], [[V174]] : vector<2xi32>
// CHECK-NEXT: [[V177:%.+]] = arith.subi [[V175]], [[V172]] : vector<2xi32>
// CHECK-NEXT: [[V178:%.+]] = arith.addi [[V157]], [[V165]] : vector<2xi32>
// CHECK-NEXT: [[V179:%.+]] = arith.subi [[V157]], [[V165]] : vector<2xi32>
// CHECK-NEXT: [[V180:%.+]] = arith.addi [[V149]], [[V178]] : vector<2xi32>
// CHECK-NEXT: [[V181:%.+]] = arith.subi [[V179]], [[V173]] : vector<2xi32>
// CHECK-NEXT: [[V182:%.+]] = arith.shrsi [[V176]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V183:%.+]] = arith.shrsi [[V177]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V184:%.+]] = arith.shrsi [[V180]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V185:%.+]] = arith.shrsi [[V181]], [[V11]] : vector<2xi32>
// CHECK-NEXT: [[V186:%.+]] = arith.addi [[V138]], [[V182]] : vector<2xi32>
// CHECK-NEXT: [[V187:%.+]] = arith.addi [[V139]], [[V183]] : vector<2xi32>
// CHECK-NEXT: [[V188:%.+]] = arith.addi [[V140]], [[V184]] : vector<2xi32>
// CHECK-NEXT: [[V189:%.+]] = arith.addi [[V141]], [[V185]] : vector<2xi32>
// CHECK-NEXT: simd.store [[V186]], [[V2]][[[V3]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: simd.store [[V187]], [[V2]][[[V3]], [[V3]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: simd.store [[V188]], [[V2]][[[V3]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: simd.store [[V189]], [[V2]][[[V3]], [[V5]], [[V5]], [[V3]]] : vector<2xi32>, memref<1x2x2x2xi32>
// CHECK-NEXT: func.return
func.func @parts(%x: memref<1x4x4x8xi8>, %w: memref<1x1x4x4x4x4xi16>, %y: memref<1x2x2x2xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x4x4x8xi8>, memref<1x1x4x4x4x4xi16>) outs(%y : memref<1x2x2x2xi32>) attributes {parts = 2 : i64,
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
