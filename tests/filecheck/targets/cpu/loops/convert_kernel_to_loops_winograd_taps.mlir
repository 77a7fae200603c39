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
// CHECK-NEXT: [[V10:%.+]] = vector.broadcast [[V9]] : i16 to vector<6x4xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1 : i16
// CHECK-NEXT: [[V12:%.+]] = vector.broadcast [[V11]] : i16 to vector<6x4xi16>
// CHECK-NEXT: [[V13:%.+]] = arith.constant 36 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : i32 to vector<2xi32>
// CHECK-NEXT: [[V16:%.+]] = vector.broadcast [[V9]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V17:%.+]] = vector.broadcast [[V11]] : i16 to vector<4xi16>
// CHECK-NEXT: [[V18:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V19:%.+]] = arith.constant 12 : index
// CHECK-NEXT: [[V20:%.+]] = arith.constant 18 : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 24 : index
// CHECK-NEXT: [[V22:%.+]] = arith.constant 30 : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V24:%.+]] = vector.broadcast [[V23]] : i32 to vector<6x2xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V26:%.+]] = vector.broadcast [[V25]] : i32 to vector<6x2xi32>
// CHECK-NEXT: [[V27:%.+]] = vector.broadcast [[V23]] : i32 to vector<4x2xi32>
// CHECK-NEXT: [[V28:%.+]] = vector.broadcast [[V25]] : i32 to vector<4x2xi32>
// CHECK-NEXT: [[V29:%.+]] = arith.constant 954437177 : i32
// CHECK-NEXT: [[V30:%.+]] = vector.broadcast [[V29]] : i32 to vector<4x4x2xi32>
// CHECK-NEXT: [[V31:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V32:%.+]] = vector.broadcast [[V31]] : i32 to vector<4x4x2xi32>
// CHECK-NEXT: [[V33:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64, 2 : i64, 3 : i64, 4 : i64, 5 : i64]] : memref<1x2x1x3x3x4xi8> into memref<72xi8>
// CHECK-NEXT: "scf.parallel"([[V3]], [[V4]], [[V5]]) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT: ^bb0([[V34:%.+]]: index):
// CHECK-NEXT: [[V35:%.+]] = memref.alloca() : memref<6x6x1x8xi16>
// CHECK-NEXT: [[V36:%.+]] = memref.alloca() : memref<6x6x1x2xi32>
// CHECK-NEXT: [[V37:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V38:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V39:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V40:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V41:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V42:%.+]] = simd.load_partial [[V0]][[[V3]], [[V3]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V43:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V44:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V45:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V46:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V47:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V48:%.+]] = simd.load_partial [[V0]][[[V3]], [[V5]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V49:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V50:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V51:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V52:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V53:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V54:%.+]] = simd.load_partial [[V0]][[[V3]], [[V4]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V55:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V56:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V57:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V58:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V59:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V60:%.+]] = simd.load_partial [[V0]][[[V3]], [[V6]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V61:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V62:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V63:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V64:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V65:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V66:%.+]] = simd.load_partial [[V0]][[[V3]], [[V7]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V67:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V3]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V68:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V5]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V69:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V4]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V70:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V6]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V71:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V7]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V72:%.+]] = simd.load_partial [[V0]][[[V3]], [[V8]], [[V8]], [[V3]]], [[V4]] : memref<1x6x6x2xi8> to vector<4xi8>
// CHECK-NEXT: [[V73:%.+]] = simd.stack [[V37]], [[V38]], [[V39]], [[V40]], [[V41]], [[V42]], [[V43]], [[V44]], [[V45]], [[V46]], [[V47]], [[V48]], [[V49]], [[V50]], [[V51]], [[V52]], [[V53]], [[V54]], [[V55]], [[V56]], [[V57]], [[V58]], [[V59]], [[V60]], [[V61]], [[V62]], [[V63]], [[V64]], [[V65]], [[V66]], [[V67]], [[V68]], [[V69]], [[V70]], [[V71]], [[V72]] : vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8> to vector<6x6x4xi8>
// CHECK-NEXT: [[V74:%.+]] = simd.convert [[V73]] {kind = "extsi"} : vector<6x6x4xi8> to vector<6x6x4xi16>
// CHECK-NEXT: [[V75:%.+]] = vector.extract [[V74]][0] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V76:%.+]] = vector.extract [[V74]][1] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V77:%.+]] = vector.extract [[V74]][2] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V78:%.+]] = vector.extract [[V74]][3] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V79:%.+]] = vector.extract [[V74]][4] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V80:%.+]] = vector.extract [[V74]][5] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V81:%.+]] = arith.subi [[V75]], [[V77]] : vector<6x4xi16>
// CHECK-NEXT: [[V82:%.+]] = arith.subi [[V79]], [[V77]] : vector<6x4xi16>
// CHECK-NEXT: [[V83:%.+]] = arith.shli [[V81]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V84:%.+]] = arith.addi [[V83]], [[V82]] : vector<6x4xi16>
// CHECK-NEXT: [[V85:%.+]] = arith.shli [[V77]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V86:%.+]] = arith.subi [[V79]], [[V85]] : vector<6x4xi16>
// CHECK-NEXT: [[V87:%.+]] = arith.shli [[V76]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V88:%.+]] = arith.subi [[V78]], [[V87]] : vector<6x4xi16>
// CHECK-NEXT: [[V89:%.+]] = arith.addi [[V86]], [[V88]] : vector<6x4xi16>
// CHECK-NEXT: [[V90:%.+]] = arith.subi [[V86]], [[V88]] : vector<6x4xi16>
// CHECK-NEXT: [[V91:%.+]] = arith.subi [[V78]], [[V76]] : vector<6x4xi16>
// CHECK-NEXT: [[V92:%.+]] = arith.shli [[V91]], [[V12]] : vector<6x4xi16>
// CHECK-NEXT: [[V93:%.+]] = arith.addi [[V82]], [[V92]] : vector<6x4xi16>
// CHECK-NEXT: [[V94:%.+]] = arith.subi [[V82]], [[V92]] : vector<6x4xi16>
// CHECK-NEXT: [[V95:%.+]] = arith.subi [[V80]], [[V78]] : vector<6x4xi16>
// CHECK-NEXT: [[V96:%.+]] = arith.shli [[V91]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V97:%.+]] = arith.subi [[V95]], [[V96]] : vector<6x4xi16>
// CHECK-NEXT: [[V98:%.+]] = simd.stack [[V84]], [[V89]], [[V90]], [[V93]], [[V94]], [[V97]] : vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: [[V99:%.+]] = simd.transpose [[V98]] : vector<6x6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: [[V100:%.+]] = vector.extract [[V99]][0] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V101:%.+]] = vector.extract [[V99]][1] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V102:%.+]] = vector.extract [[V99]][2] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V103:%.+]] = vector.extract [[V99]][3] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V104:%.+]] = vector.extract [[V99]][4] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V105:%.+]] = vector.extract [[V99]][5] : vector<6x4xi16> from vector<6x6x4xi16>
// CHECK-NEXT: [[V106:%.+]] = arith.subi [[V100]], [[V102]] : vector<6x4xi16>
// CHECK-NEXT: [[V107:%.+]] = arith.subi [[V104]], [[V102]] : vector<6x4xi16>
// CHECK-NEXT: [[V108:%.+]] = arith.shli [[V106]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V109:%.+]] = arith.addi [[V108]], [[V107]] : vector<6x4xi16>
// CHECK-NEXT: [[V110:%.+]] = arith.shli [[V102]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V111:%.+]] = arith.subi [[V104]], [[V110]] : vector<6x4xi16>
// CHECK-NEXT: [[V112:%.+]] = arith.shli [[V101]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V113:%.+]] = arith.subi [[V103]], [[V112]] : vector<6x4xi16>
// CHECK-NEXT: [[V114:%.+]] = arith.addi [[V111]], [[V113]] : vector<6x4xi16>
// CHECK-NEXT: [[V115:%.+]] = arith.subi [[V111]], [[V113]] : vector<6x4xi16>
// CHECK-NEXT: [[V116:%.+]] = arith.subi [[V103]], [[V101]] : vector<6x4xi16>
// CHECK-NEXT: [[V117:%.+]] = arith.shli [[V116]], [[V12]] : vector<6x4xi16>
// CHECK-NEXT: [[V118:%.+]] = arith.addi [[V107]], [[V117]] : vector<6x4xi16>
// CHECK-NEXT: [[V119:%.+]] = arith.subi [[V107]], [[V117]] : vector<6x4xi16>
// CHECK-NEXT: [[V120:%.+]] = arith.subi [[V105]], [[V103]] : vector<6x4xi16>
// CHECK-NEXT: [[V121:%.+]] = arith.shli [[V116]], [[V10]] : vector<6x4xi16>
// CHECK-NEXT: [[V122:%.+]] = arith.subi [[V120]], [[V121]] : vector<6x4xi16>
// CHECK-NEXT: [[V123:%.+]] = simd.stack [[V109]], [[V114]], [[V115]], [[V118]], [[V119]], [[V122]] : vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16>, vector<6x4xi16> to vector<6x6x4xi16>
// CHECK-NEXT: simd.store [[V123]], [[V35]][[[V3]], [[V3]], [[V3]], [[V3]]] {strides = array<i64: 8, 48>} : vector<6x6x4xi16>, memref<6x6x1x8xi16>
// CHECK-NEXT: [[V124:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V125:%.+]] = arith.muli [[V124]], [[V13]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V125]]] : memref<72xi8>
// CHECK-NEXT: [[V126:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V127:%.+]] = simd.convert [[V126]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V128:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V129:%.+]] = simd.convert [[V128]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V130:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V131:%.+]] = simd.convert [[V130]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V132:%.+]] = arith.addi [[V127]], [[V131]] : vector<4xi16>
// CHECK-NEXT: [[V133:%.+]] = arith.addi [[V132]], [[V129]] : vector<4xi16>
// CHECK-NEXT: [[V134:%.+]] = arith.subi [[V132]], [[V129]] : vector<4xi16>
// CHECK-NEXT: [[V135:%.+]] = arith.shli [[V131]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V136:%.+]] = arith.addi [[V135]], [[V127]] : vector<4xi16>
// CHECK-NEXT: [[V137:%.+]] = arith.shli [[V129]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V138:%.+]] = arith.addi [[V136]], [[V137]] : vector<4xi16>
// CHECK-NEXT: [[V139:%.+]] = arith.subi [[V136]], [[V137]] : vector<4xi16>
// CHECK-NEXT: [[V140:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V141:%.+]] = simd.dot_accumulate [[V15]], [[V140]], [[V127]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V142:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V143:%.+]] = simd.dot_accumulate [[V15]], [[V142]], [[V133]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V144:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V145:%.+]] = simd.dot_accumulate [[V15]], [[V144]], [[V134]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V146:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V147:%.+]] = simd.dot_accumulate [[V15]], [[V146]], [[V138]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V148:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V149:%.+]] = simd.dot_accumulate [[V15]], [[V148]], [[V139]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V150:%.+]] = simd.load_group_splat [[V35]][[[V3]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V151:%.+]] = simd.dot_accumulate [[V15]], [[V150]], [[V131]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V141]], [[V36]][[[V3]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V143]], [[V36]][[[V3]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V145]], [[V36]][[[V3]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V147]], [[V36]][[[V3]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V149]], [[V36]][[[V3]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V151]], [[V36]][[[V3]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V152:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V153:%.+]] = arith.muli [[V152]], [[V13]] : index
// CHECK-NEXT: [[V154:%.+]] = arith.addi [[V153]], [[V18]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V154]]] : memref<72xi8>
// CHECK-NEXT: [[V155:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V156:%.+]] = simd.convert [[V155]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V157:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V158:%.+]] = simd.convert [[V157]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V159:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V160:%.+]] = simd.convert [[V159]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V161:%.+]] = arith.addi [[V156]], [[V158]] : vector<4xi16>
// CHECK-NEXT: [[V162:%.+]] = arith.addi [[V161]], [[V160]] : vector<4xi16>
// CHECK-NEXT: [[V163:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V164:%.+]] = simd.convert [[V163]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V165:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V166:%.+]] = simd.convert [[V165]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V167:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V168:%.+]] = simd.convert [[V167]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V169:%.+]] = arith.addi [[V164]], [[V166]] : vector<4xi16>
// CHECK-NEXT: [[V170:%.+]] = arith.addi [[V169]], [[V168]] : vector<4xi16>
// CHECK-NEXT: [[V171:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V172:%.+]] = simd.convert [[V171]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V173:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V174:%.+]] = simd.convert [[V173]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V175:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V176:%.+]] = simd.convert [[V175]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V177:%.+]] = arith.addi [[V172]], [[V174]] : vector<4xi16>
// CHECK-NEXT: [[V178:%.+]] = arith.addi [[V177]], [[V176]] : vector<4xi16>
// CHECK-NEXT: [[V179:%.+]] = arith.addi [[V162]], [[V178]] : vector<4xi16>
// CHECK-NEXT: [[V180:%.+]] = arith.addi [[V179]], [[V170]] : vector<4xi16>
// CHECK-NEXT: [[V181:%.+]] = arith.subi [[V179]], [[V170]] : vector<4xi16>
// CHECK-NEXT: [[V182:%.+]] = arith.shli [[V178]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V183:%.+]] = arith.addi [[V182]], [[V162]] : vector<4xi16>
// CHECK-NEXT: [[V184:%.+]] = arith.shli [[V170]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V185:%.+]] = arith.addi [[V183]], [[V184]] : vector<4xi16>
// CHECK-NEXT: [[V186:%.+]] = arith.subi [[V183]], [[V184]] : vector<4xi16>
// CHECK-NEXT: [[V187:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V188:%.+]] = simd.dot_accumulate [[V15]], [[V187]], [[V162]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V189:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V190:%.+]] = simd.dot_accumulate [[V15]], [[V189]], [[V180]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V191:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V192:%.+]] = simd.dot_accumulate [[V15]], [[V191]], [[V181]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V193:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V194:%.+]] = simd.dot_accumulate [[V15]], [[V193]], [[V185]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V195:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V196:%.+]] = simd.dot_accumulate [[V15]], [[V195]], [[V186]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V197:%.+]] = simd.load_group_splat [[V35]][[[V5]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V198:%.+]] = simd.dot_accumulate [[V15]], [[V197]], [[V178]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V188]], [[V36]][[[V5]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V190]], [[V36]][[[V5]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V192]], [[V36]][[[V5]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V194]], [[V36]][[[V5]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V196]], [[V36]][[[V5]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V198]], [[V36]][[[V5]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V199:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V200:%.+]] = arith.muli [[V199]], [[V13]] : index
// CHECK-NEXT: [[V201:%.+]] = arith.addi [[V200]], [[V19]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V201]]] : memref<72xi8>
// CHECK-NEXT: [[V202:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V203:%.+]] = simd.convert [[V202]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V204:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V205:%.+]] = simd.convert [[V204]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V206:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V207:%.+]] = simd.convert [[V206]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V208:%.+]] = arith.subi [[V203]], [[V205]] : vector<4xi16>
// CHECK-NEXT: [[V209:%.+]] = arith.addi [[V208]], [[V207]] : vector<4xi16>
// CHECK-NEXT: [[V210:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V211:%.+]] = simd.convert [[V210]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V212:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V213:%.+]] = simd.convert [[V212]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V214:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V215:%.+]] = simd.convert [[V214]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V216:%.+]] = arith.subi [[V211]], [[V213]] : vector<4xi16>
// CHECK-NEXT: [[V217:%.+]] = arith.addi [[V216]], [[V215]] : vector<4xi16>
// CHECK-NEXT: [[V218:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V219:%.+]] = simd.convert [[V218]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V220:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V221:%.+]] = simd.convert [[V220]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V222:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V223:%.+]] = simd.convert [[V222]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V224:%.+]] = arith.subi [[V219]], [[V221]] : vector<4xi16>
// CHECK-NEXT: [[V225:%.+]] = arith.addi [[V224]], [[V223]] : vector<4xi16>
// CHECK-NEXT: [[V226:%.+]] = arith.addi [[V209]], [[V225]] : vector<4xi16>
// CHECK-NEXT: [[V227:%.+]] = arith.addi [[V226]], [[V217]] : vector<4xi16>
// CHECK-NEXT: [[V228:%.+]] = arith.subi [[V226]], [[V217]] : vector<4xi16>
// CHECK-NEXT: [[V229:%.+]] = arith.shli [[V225]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V230:%.+]] = arith.addi [[V229]], [[V209]] : vector<4xi16>
// CHECK-NEXT: [[V231:%.+]] = arith.shli [[V217]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V232:%.+]] = arith.addi [[V230]], [[V231]] : vector<4xi16>
// CHECK-NEXT: [[V233:%.+]] = arith.subi [[V230]], [[V231]] : vector<4xi16>
// CHECK-NEXT: [[V234:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V235:%.+]] = simd.dot_accumulate [[V15]], [[V234]], [[V209]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V236:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V237:%.+]] = simd.dot_accumulate [[V15]], [[V236]], [[V227]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V238:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V239:%.+]] = simd.dot_accumulate [[V15]], [[V238]], [[V228]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V240:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V241:%.+]] = simd.dot_accumulate [[V15]], [[V240]], [[V232]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V242:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V243:%.+]] = simd.dot_accumulate [[V15]], [[V242]], [[V233]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V244:%.+]] = simd.load_group_splat [[V35]][[[V4]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V245:%.+]] = simd.dot_accumulate [[V15]], [[V244]], [[V225]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V235]], [[V36]][[[V4]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V237]], [[V36]][[[V4]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V239]], [[V36]][[[V4]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V241]], [[V36]][[[V4]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V243]], [[V36]][[[V4]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V245]], [[V36]][[[V4]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V246:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V247:%.+]] = arith.muli [[V246]], [[V13]] : index
// CHECK-NEXT: [[V248:%.+]] = arith.addi [[V247]], [[V20]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V248]]] : memref<72xi8>
// CHECK-NEXT: [[V249:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V250:%.+]] = simd.convert [[V249]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V251:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V252:%.+]] = simd.convert [[V251]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V253:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V254:%.+]] = simd.convert [[V253]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V255:%.+]] = arith.shli [[V254]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V256:%.+]] = arith.addi [[V255]], [[V252]] : vector<4xi16>
// CHECK-NEXT: [[V257:%.+]] = arith.shli [[V256]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V258:%.+]] = arith.addi [[V257]], [[V250]] : vector<4xi16>
// CHECK-NEXT: [[V259:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V260:%.+]] = simd.convert [[V259]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V261:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V262:%.+]] = simd.convert [[V261]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V263:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V264:%.+]] = simd.convert [[V263]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V265:%.+]] = arith.shli [[V264]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V266:%.+]] = arith.addi [[V265]], [[V262]] : vector<4xi16>
// CHECK-NEXT: [[V267:%.+]] = arith.shli [[V266]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V268:%.+]] = arith.addi [[V267]], [[V260]] : vector<4xi16>
// CHECK-NEXT: [[V269:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V270:%.+]] = simd.convert [[V269]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V271:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V272:%.+]] = simd.convert [[V271]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V273:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V274:%.+]] = simd.convert [[V273]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V275:%.+]] = arith.shli [[V274]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V276:%.+]] = arith.addi [[V275]], [[V272]] : vector<4xi16>
// CHECK-NEXT: [[V277:%.+]] = arith.shli [[V276]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V278:%.+]] = arith.addi [[V277]], [[V270]] : vector<4xi16>
// CHECK-NEXT: [[V279:%.+]] = arith.addi [[V258]], [[V278]] : vector<4xi16>
// CHECK-NEXT: [[V280:%.+]] = arith.addi [[V279]], [[V268]] : vector<4xi16>
// CHECK-NEXT: [[V281:%.+]] = arith.subi [[V279]], [[V268]] : vector<4xi16>
// CHECK-NEXT: [[V282:%.+]] = arith.shli [[V278]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V283:%.+]] = arith.addi [[V282]], [[V258]] : vector<4xi16>
// CHECK-NEXT: [[V284:%.+]] = arith.shli [[V268]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V285:%.+]] = arith.addi [[V283]], [[V284]] : vector<4xi16>
// CHECK-NEXT: [[V286:%.+]] = arith.subi [[V283]], [[V284]] : vector<4xi16>
// CHECK-NEXT: [[V287:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V288:%.+]] = simd.dot_accumulate [[V15]], [[V287]], [[V258]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V289:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V290:%.+]] = simd.dot_accumulate [[V15]], [[V289]], [[V280]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V291:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V292:%.+]] = simd.dot_accumulate [[V15]], [[V291]], [[V281]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V293:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V294:%.+]] = simd.dot_accumulate [[V15]], [[V293]], [[V285]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V295:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V296:%.+]] = simd.dot_accumulate [[V15]], [[V295]], [[V286]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V297:%.+]] = simd.load_group_splat [[V35]][[[V6]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V298:%.+]] = simd.dot_accumulate [[V15]], [[V297]], [[V278]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V288]], [[V36]][[[V6]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V290]], [[V36]][[[V6]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V292]], [[V36]][[[V6]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V294]], [[V36]][[[V6]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V296]], [[V36]][[[V6]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V298]], [[V36]][[[V6]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V299:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V300:%.+]] = arith.muli [[V299]], [[V13]] : index
// CHECK-NEXT: [[V301:%.+]] = arith.addi [[V300]], [[V21]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V301]]] : memref<72xi8>
// CHECK-NEXT: [[V302:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V303:%.+]] = simd.convert [[V302]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V304:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V305:%.+]] = simd.convert [[V304]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V306:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V307:%.+]] = simd.convert [[V306]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V308:%.+]] = arith.shli [[V307]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V309:%.+]] = arith.subi [[V308]], [[V305]] : vector<4xi16>
// CHECK-NEXT: [[V310:%.+]] = arith.shli [[V309]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V311:%.+]] = arith.addi [[V310]], [[V303]] : vector<4xi16>
// CHECK-NEXT: [[V312:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V313:%.+]] = simd.convert [[V312]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V314:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V315:%.+]] = simd.convert [[V314]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V316:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V317:%.+]] = simd.convert [[V316]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V318:%.+]] = arith.shli [[V317]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V319:%.+]] = arith.subi [[V318]], [[V315]] : vector<4xi16>
// CHECK-NEXT: [[V320:%.+]] = arith.shli [[V319]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V321:%.+]] = arith.addi [[V320]], [[V313]] : vector<4xi16>
// CHECK-NEXT: [[V322:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V3]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V323:%.+]] = simd.convert [[V322]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V324:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V5]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V325:%.+]] = simd.convert [[V324]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V326:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V327:%.+]] = simd.convert [[V326]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V328:%.+]] = arith.shli [[V327]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V329:%.+]] = arith.subi [[V328]], [[V325]] : vector<4xi16>
// CHECK-NEXT: [[V330:%.+]] = arith.shli [[V329]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V331:%.+]] = arith.addi [[V330]], [[V323]] : vector<4xi16>
// CHECK-NEXT: [[V332:%.+]] = arith.addi [[V311]], [[V331]] : vector<4xi16>
// CHECK-NEXT: [[V333:%.+]] = arith.addi [[V332]], [[V321]] : vector<4xi16>
// CHECK-NEXT: [[V334:%.+]] = arith.subi [[V332]], [[V321]] : vector<4xi16>
// CHECK-NEXT: [[V335:%.+]] = arith.shli [[V331]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V336:%.+]] = arith.addi [[V335]], [[V311]] : vector<4xi16>
// CHECK-NEXT: [[V337:%.+]] = arith.shli [[V321]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V338:%.+]] = arith.addi [[V336]], [[V337]] : vector<4xi16>
// CHECK-NEXT: [[V339:%.+]] = arith.subi [[V336]], [[V337]] : vector<4xi16>
// CHECK-NEXT: [[V340:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V341:%.+]] = simd.dot_accumulate [[V15]], [[V340]], [[V311]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V342:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V343:%.+]] = simd.dot_accumulate [[V15]], [[V342]], [[V333]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V344:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V345:%.+]] = simd.dot_accumulate [[V15]], [[V344]], [[V334]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V346:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V347:%.+]] = simd.dot_accumulate [[V15]], [[V346]], [[V338]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V348:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V349:%.+]] = simd.dot_accumulate [[V15]], [[V348]], [[V339]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V350:%.+]] = simd.load_group_splat [[V35]][[[V7]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V351:%.+]] = simd.dot_accumulate [[V15]], [[V350]], [[V331]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V341]], [[V36]][[[V7]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V343]], [[V36]][[[V7]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V345]], [[V36]][[[V7]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V347]], [[V36]][[[V7]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V349]], [[V36]][[[V7]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V351]], [[V36]][[[V7]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V352:%.+]] = arith.addi [[V34]], [[V5]] : index
// CHECK-NEXT: [[V353:%.+]] = arith.muli [[V352]], [[V13]] : index
// CHECK-NEXT: [[V354:%.+]] = arith.addi [[V353]], [[V22]] : index
// CHECK-NEXT: simd.prefetch [[V33]][[[V354]]] : memref<72xi8>
// CHECK-NEXT: [[V355:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V3]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V356:%.+]] = simd.convert [[V355]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V357:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V5]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V358:%.+]] = simd.convert [[V357]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V359:%.+]] = simd.load [[V1]][[[V3]], [[V34]], [[V3]], [[V4]], [[V4]], [[V3]]] : memref<1x2x1x3x3x4xi8> to vector<4xi8>
// CHECK-NEXT: [[V360:%.+]] = simd.convert [[V359]] {kind = "extsi"} : vector<4xi8> to vector<4xi16>
// CHECK-NEXT: [[V361:%.+]] = arith.addi [[V356]], [[V360]] : vector<4xi16>
// CHECK-NEXT: [[V362:%.+]] = arith.addi [[V361]], [[V358]] : vector<4xi16>
// CHECK-NEXT: [[V363:%.+]] = arith.subi [[V361]], [[V358]] : vector<4xi16>
// CHECK-NEXT: [[V364:%.+]] = arith.shli [[V360]], [[V16]] : vector<4xi16>
// CHECK-NEXT: [[V365:%.+]] = arith.addi [[V364]], [[V356]] : vector<4xi16>
// CHECK-NEXT: [[V366:%.+]] = arith.shli [[V358]], [[V17]] : vector<4xi16>
// CHECK-NEXT: [[V367:%.+]] = arith.addi [[V365]], [[V366]] : vector<4xi16>
// CHECK-NEXT: [[V368:%.+]] = arith.subi [[V365]], [[V366]] : vector<4xi16>
// CHECK-NEXT: [[V369:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V3]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V370:%.+]] = simd.dot_accumulate [[V15]], [[V369]], [[V356]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V371:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V5]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V372:%.+]] = simd.dot_accumulate [[V15]], [[V371]], [[V362]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V373:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V4]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V374:%.+]] = simd.dot_accumulate [[V15]], [[V373]], [[V363]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V375:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V6]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V376:%.+]] = simd.dot_accumulate [[V15]], [[V375]], [[V367]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V377:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V7]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V378:%.+]] = simd.dot_accumulate [[V15]], [[V377]], [[V368]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: [[V379:%.+]] = simd.load_group_splat [[V35]][[[V8]], [[V8]], [[V3]], [[V3]]] : memref<6x6x1x8xi16> to vector<4xi16>
// CHECK-NEXT: [[V380:%.+]] = simd.dot_accumulate [[V15]], [[V379]], [[V360]] : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
// CHECK-NEXT: simd.store [[V370]], [[V36]][[[V8]], [[V3]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V372]], [[V36]][[[V8]], [[V5]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V374]], [[V36]][[[V8]], [[V4]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V376]], [[V36]][[[V8]], [[V6]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V378]], [[V36]][[[V8]], [[V7]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: simd.store [[V380]], [[V36]][[[V8]], [[V8]], [[V3]], [[V3]]] : vector<2xi32>, memref<6x6x1x2xi32>
// CHECK-NEXT: [[V381:%.+]] = arith.muli [[V34]], [[V4]] : index
// CHECK-NEXT: [[V382:%.+]] = simd.load [[V36]][[[V3]], [[V3]], [[V3]], [[V3]]] {strides = array<i64: 12, 2>} : memref<6x6x1x2xi32> to vector<6x6x2xi32>
// CHECK-NEXT: [[V383:%.+]] = vector.extract [[V382]][0] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V384:%.+]] = vector.extract [[V382]][1] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V385:%.+]] = vector.extract [[V382]][2] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V386:%.+]] = vector.extract [[V382]][3] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V387:%.+]] = vector.extract [[V382]][4] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V388:%.+]] = vector.extract [[V382]][5] : vector<6x2xi32> from vector<6x6x2xi32>
// CHECK-NEXT: [[V389:%.+]] = arith.addi [[V384]], [[V385]] : vector<6x2xi32>
// CHECK-NEXT: [[V390:%.+]] = arith.subi [[V384]], [[V385]] : vector<6x2xi32>
// CHECK-NEXT: [[V391:%.+]] = arith.addi [[V386]], [[V387]] : vector<6x2xi32>
// CHECK-NEXT: [[V392:%.+]] = arith.subi [[V386]], [[V387]] : vector<6x2xi32>
// CHECK-NEXT: [[V393:%.+]] = arith.subi [[V383]], [[V389]] : vector<6x2xi32>
// CHECK-NEXT: [[V394:%.+]] = arith.shli [[V393]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V395:%.+]] = arith.addi [[V394]], [[V383]] : vector<6x2xi32>
// CHECK-NEXT: [[V396:%.+]] = arith.shli [[V395]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V397:%.+]] = arith.addi [[V396]], [[V391]] : vector<6x2xi32>
// CHECK-NEXT: [[V398:%.+]] = arith.shli [[V390]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V399:%.+]] = arith.subi [[V392]], [[V398]] : vector<6x2xi32>
// CHECK-NEXT: [[V400:%.+]] = arith.shli [[V399]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V401:%.+]] = arith.subi [[V391]], [[V389]] : vector<6x2xi32>
// CHECK-NEXT: [[V402:%.+]] = arith.shli [[V401]], [[V26]] : vector<6x2xi32>
// CHECK-NEXT: [[V403:%.+]] = arith.addi [[V388]], [[V392]] : vector<6x2xi32>
// CHECK-NEXT: [[V404:%.+]] = arith.shli [[V388]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V405:%.+]] = arith.addi [[V404]], [[V403]] : vector<6x2xi32>
// CHECK-NEXT: [[V406:%.+]] = arith.shli [[V405]], [[V24]] : vector<6x2xi32>
// CHECK-NEXT: [[V407:%.+]] = arith.subi [[V406]], [[V390]] : vector<6x2xi32>
// CHECK-NEXT: [[V408:%.+]] = arith.shli [[V407]], [[V26]] : vector<6x2xi32>
// CHECK-NEXT: [[V409:%.+]] = simd.stack [[V397]], [[V400]], [[V402]], [[V408]] : vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32>, vector<6x2xi32> to vector<4x6x2xi32>
// CHECK-NEXT: [[V410:%.+]] = simd.transpose [[V409]] : vector<4x6x2xi32> to vector<6x4x2xi32>
// CHECK-NEXT: [[V411:%.+]] = vector.extract [[V410]][0] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V412:%.+]] = vector.extract [[V410]][1] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V413:%.+]] = vector.extract [[V410]][2] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V414:%.+]] = vector.extract [[V410]][3] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V415:%.+]] = vector.extract [[V410]][4] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V416:%.+]] = vector.extract [[V410]][5] : vector<4x2xi32> from vector<6x4x2xi32>
// CHECK-NEXT: [[V417:%.+]] = arith.addi [[V412]], [[V413]] : vector<4x2xi32>
// CHECK-NEXT: [[V418:%.+]] = arith.subi [[V412]], [[V413]] : vector<4x2xi32>
// CHECK-NEXT: [[V419:%.+]] = arith.addi [[V414]], [[V415]] : vector<4x2xi32>
// CHECK-NEXT: [[V420:%.+]] = arith.subi [[V414]], [[V415]] : vector<4x2xi32>
// CHECK-NEXT: [[V421:%.+]] = arith.subi [[V411]], [[V417]] : vector<4x2xi32>
// CHECK-NEXT: [[V422:%.+]] = arith.shli [[V421]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V423:%.+]] = arith.addi [[V422]], [[V411]] : vector<4x2xi32>
// CHECK-NEXT: [[V424:%.+]] = arith.shli [[V423]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V425:%.+]] = arith.addi [[V424]], [[V419]] : vector<4x2xi32>
// CHECK-NEXT: [[V426:%.+]] = arith.shli [[V418]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V427:%.+]] = arith.subi [[V420]], [[V426]] : vector<4x2xi32>
// CHECK-NEXT: [[V428:%.+]] = arith.shli [[V427]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V429:%.+]] = arith.subi [[V419]], [[V417]] : vector<4x2xi32>
// CHECK-NEXT: [[V430:%.+]] = arith.shli [[V429]], [[V28]] : vector<4x2xi32>
// CHECK-NEXT: [[V431:%.+]] = arith.addi [[V416]], [[V420]] : vector<4x2xi32>
// CHECK-NEXT: [[V432:%.+]] = arith.shli [[V416]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V433:%.+]] = arith.addi [[V432]], [[V431]] : vector<4x2xi32>
// CHECK-NEXT: [[V434:%.+]] = arith.shli [[V433]], [[V27]] : vector<4x2xi32>
// CHECK-NEXT: [[V435:%.+]] = arith.subi [[V434]], [[V418]] : vector<4x2xi32>
// CHECK-NEXT: [[V436:%.+]] = arith.shli [[V435]], [[V28]] : vector<4x2xi32>
// CHECK-NEXT: [[V437:%.+]] = simd.stack [[V425]], [[V428]], [[V430]], [[V436]] : vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32>, vector<4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V438:%.+]] = arith.muli [[V437]], [[V30]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V439:%.+]] = arith.shrsi [[V438]], [[V32]] : vector<4x4x2xi32>
// CHECK-NEXT: [[V440:%.+]] = simd.transpose [[V439]] : vector<4x4x2xi32> to vector<4x4x2xi32>
// CHECK-NEXT: [[V441:%.+]] = vector.extract [[V440]][0] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V442:%.+]] = vector.extract [[V440]][1] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V443:%.+]] = vector.extract [[V440]][2] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V444:%.+]] = vector.extract [[V440]][3] : vector<4x2xi32> from vector<4x4x2xi32>
// CHECK-NEXT: [[V445:%.+]] = vector.extract [[V441]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V446:%.+]] = vector.extract [[V441]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V447:%.+]] = vector.extract [[V441]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V448:%.+]] = vector.extract [[V441]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V449:%.+]] = simd.stack [[V445]], [[V446]], [[V447]], [[V448]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V450:%.+]] = vector.extract [[V449]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V450]], [[V2]][[[V3]], [[V3]], [[V3]], [[V381]]] {strides = array<i64: 4>} : vector<4x2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: [[V451:%.+]] = vector.extract [[V442]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V452:%.+]] = vector.extract [[V442]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V453:%.+]] = vector.extract [[V442]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V454:%.+]] = vector.extract [[V442]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V455:%.+]] = simd.stack [[V451]], [[V452]], [[V453]], [[V454]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V456:%.+]] = vector.extract [[V455]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V456]], [[V2]][[[V3]], [[V5]], [[V3]], [[V381]]] {strides = array<i64: 4>} : vector<4x2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: [[V457:%.+]] = vector.extract [[V443]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V458:%.+]] = vector.extract [[V443]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V459:%.+]] = vector.extract [[V443]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V460:%.+]] = vector.extract [[V443]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V461:%.+]] = simd.stack [[V457]], [[V458]], [[V459]], [[V460]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V462:%.+]] = vector.extract [[V461]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V462]], [[V2]][[[V3]], [[V4]], [[V3]], [[V381]]] {strides = array<i64: 4>} : vector<4x2xi32>, memref<1x4x4x4xi32>
// CHECK-NEXT: [[V463:%.+]] = vector.extract [[V444]][0] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V464:%.+]] = vector.extract [[V444]][1] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V465:%.+]] = vector.extract [[V444]][2] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V466:%.+]] = vector.extract [[V444]][3] : vector<2xi32> from vector<4x2xi32>
// CHECK-NEXT: [[V467:%.+]] = simd.stack [[V463]], [[V464]], [[V465]], [[V466]] : vector<2xi32>, vector<2xi32>, vector<2xi32>, vector<2xi32> to vector<1x4x2xi32>
// CHECK-NEXT: [[V468:%.+]] = vector.extract [[V467]][0] : vector<4x2xi32> from vector<1x4x2xi32>
// CHECK-NEXT: simd.store [[V468]], [[V2]][[[V3]], [[V6]], [[V3]], [[V381]]] {strides = array<i64: 4>} : vector<4x2xi32>, memref<1x4x4x4xi32>
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
