// RUN: qmlir-opt %s -p kernel-pack | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-pack,kernel-bufferize,convert-kernel-to-loops' | filecheck %s --check-prefix=LOOPS

// A weight of -1 is held as 0 and one of 1 as 2, of which one bit says which. Of the terms 0 and 4, which are 1, the
// bits are the lowest two of the first byte. The sum of the row without its zero point is taken off. What is read is x
// less 128: the bias, 5, takes up 123 times the sum of the weights that are held, 4.
func.func @signs(%x: tensor<1x36xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]]> : tensor<1x36xi2>
  %b = arith.constant dense<5> : tensor<1xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x36xi8>, tensor<1x36xi2>) epilogue(%b : tensor<1xi32>) -> tensor<1x1xi32> attributes {
    input_unsigned, input_zero_point = 5 : i32, epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "s8u1_dot", k_unroll = 4>} {
  ^bb0(%acc: i32, %bias: i32):
    %1 = arith.addi %acc, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "s8u1_dot", vectors = 1, lanes = 1>
// CHECK-LABEL: @signs(
// CHECK-SAME: [[V0:%.+]]: tensor<1x36xi8>) -> tensor<1x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[497]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1xi32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant -180 : i32
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V3]] : i32) outs([[V2]] : tensor<1xi32>) -> tensor<1xi32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<1x36xi8>) outs([[V4]] : tensor<1xi32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i32):
// CHECK-NEXT: [[V8:%.+]] = arith.extui [[V6]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V8]] : i32
// CHECK-NEXT: linalg.yield [[V9]] : i32
// CHECK-NEXT: } -> tensor<1xi32>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<1xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V5]] : tensor<1xi32>) outs([[V10]] : tensor<1xi32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = arith.constant -1 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V14]] : i32
// CHECK-NEXT: linalg.yield [[V15]] : i32
// CHECK-NEXT: } -> tensor<1xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}3, 0, 0, 0], [0, 0, 0, 0]]]]> : tensor<1x1x2x4xi8>
// CHECK-NEXT: [[V17:%.+]] = tensor.empty() : tensor<1x36xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x36xi8>) outs([[V17]] : tensor<1x36xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK-NEXT: } -> tensor<1x36xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.packed_matmul ins([[V18]], [[V16]] : tensor<1x36xi8>, tensor<1x1x2x4xi8>) epilogue([[V1]], [[V11]] : tensor<1xi32>, tensor<1xi32>) -> tensor<1x1xi32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V22:%.+]]: i32, [[V23:%.+]]: i32, [[V24:%.+]]: i32):
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V22]], [[V24]] : i32
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V25]], [[V23]] : i32
// CHECK-NEXT: kernel.yield [[V26]] : i32
// CHECK: func.return [[V21]] : tensor<1x1xi32>

// LOOPS: "memref.global"() <{sym_name = "constant", type = memref<1xi32>, initial_value = dense<[497]> : tensor<1xi32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// LOOPS-NEXT: "memref.global"() <{sym_name = "constant_2", type = memref<1x1x2x4xi8>, initial_value = dense<{{\[\[}}{{\[\[}}3, 0, 0, 0], [0, 0, 0, 0]]]]> : tensor<1x1x2x4xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// LOOPS-LABEL: @signs(
// LOOPS-SAME: [[V0:%.+]]: memref<1x36xi8>, [[V1:%.+]]: memref<1x1xi32> {nn.result})
// LOOPS-NEXT: [[V2:%.+]] = memref.get_global @constant : memref<1xi32>
// LOOPS-NEXT: [[V3:%.+]] = arith.constant -180 : i32
// LOOPS-NEXT: [[V4:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1xi32>
// LOOPS-NEXT: [[V5:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: memref.store [[V3]], [[V4]][[[V5]]] : memref<1xi32>
// LOOPS-NEXT: [[V6:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: [[V7:%.+]] = arith.constant 36 : index
// LOOPS-NEXT: [[V8:%.+]] = arith.constant 1 : index
// LOOPS-NEXT: [[V9:%.+]] = memref.load [[V4]][[[V6]]] : memref<1xi32>
// LOOPS-NEXT: [[V10:%.+]] = scf.for [[V11:%.+]] = [[V6]] to [[V7]] step [[V8]] iter_args([[V12:%.+]] = [[V9]]) -> (i32) {
// LOOPS-NEXT: [[V13:%.+]] = memref.load [[V0]][[[V6]], [[V11]]] : memref<1x36xi8>
// LOOPS-NEXT: [[V14:%.+]] = arith.extui [[V13]] : i8 to i32
// LOOPS-NEXT: [[V15:%.+]] = arith.addi [[V12]], [[V14]] : i32
// LOOPS-NEXT: scf.yield [[V15]] : i32
// LOOPS: memref.store [[V10]], [[V4]][[[V6]]] : memref<1xi32>
// LOOPS-NEXT: [[V16:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1xi32>
// LOOPS-NEXT: [[V17:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: [[V18:%.+]] = arith.constant -1 : i32
// LOOPS-NEXT: [[V19:%.+]] = memref.load [[V4]][[[V17]]] : memref<1xi32>
// LOOPS-NEXT: [[V20:%.+]] = arith.muli [[V19]], [[V18]] : i32
// LOOPS-NEXT: memref.store [[V20]], [[V16]][[[V17]]] : memref<1xi32>
// LOOPS-NEXT: [[V21:%.+]] = memref.get_global @constant_2 : memref<1x1x2x4xi8>
// LOOPS-NEXT: [[V22:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x36xi8>
// LOOPS-NEXT: [[V23:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: [[V24:%.+]] = arith.constant 36 : index
// LOOPS-NEXT: [[V25:%.+]] = arith.constant 1 : index
// LOOPS-NEXT: scf.for [[V26:%.+]] = [[V23]] to [[V24]] step [[V25]] {
// LOOPS-NEXT: [[V27:%.+]] = memref.load [[V0]][[[V23]], [[V26]]] : memref<1x36xi8>
// LOOPS-NEXT: memref.store [[V27]], [[V22]][[[V23]], [[V26]]] : memref<1x36xi8>
// LOOPS: [[V28:%.+]] = arith.constant 0 : i32
// LOOPS-NEXT: [[V29:%.+]] = vector.broadcast [[V28]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V30:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: [[V31:%.+]] = arith.constant 2 : index
// LOOPS-NEXT: [[V32:%.+]] = arith.constant 1 : index
// LOOPS-NEXT: [[V33:%.+]] = arith.constant 32 : index
// LOOPS-NEXT: [[V34:%.+]] = arith.constant 1 : i8
// LOOPS-NEXT: [[V35:%.+]] = vector.broadcast [[V34]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V36:%.+]] = arith.constant -128 : i8
// LOOPS-NEXT: [[V37:%.+]] = vector.broadcast [[V36]] : i8 to vector<1x4xi8>
// LOOPS-NEXT: [[V38:%.+]] = arith.constant 2 : i8
// LOOPS-NEXT: [[V39:%.+]] = vector.broadcast [[V38]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V40:%.+]] = arith.constant 4 : index
// LOOPS-NEXT: [[V41:%.+]] = arith.constant 4 : i8
// LOOPS-NEXT: [[V42:%.+]] = vector.broadcast [[V41]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V43:%.+]] = arith.constant 8 : index
// LOOPS-NEXT: [[V44:%.+]] = arith.constant 8 : i8
// LOOPS-NEXT: [[V45:%.+]] = vector.broadcast [[V44]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V46:%.+]] = arith.constant 12 : index
// LOOPS-NEXT: [[V47:%.+]] = arith.constant 16 : i8
// LOOPS-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V49:%.+]] = arith.constant 16 : index
// LOOPS-NEXT: [[V50:%.+]] = arith.constant 32 : i8
// LOOPS-NEXT: [[V51:%.+]] = vector.broadcast [[V50]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V52:%.+]] = arith.constant 20 : index
// LOOPS-NEXT: [[V53:%.+]] = arith.constant 64 : i8
// LOOPS-NEXT: [[V54:%.+]] = vector.broadcast [[V53]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V55:%.+]] = arith.constant 24 : index
// LOOPS-NEXT: [[V56:%.+]] = vector.broadcast [[V36]] : i8 to vector<1x1x4xi8>
// LOOPS-NEXT: [[V57:%.+]] = arith.constant 28 : index
// LOOPS-NEXT: [[V58:%.+]] = arith.constant 1 : i32
// LOOPS-NEXT: [[V59:%.+]] = vector.broadcast [[V58]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V60:%.+]] = arith.constant 2 : i32
// LOOPS-NEXT: [[V61:%.+]] = vector.broadcast [[V60]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V62:%.+]] = arith.constant 3 : i32
// LOOPS-NEXT: [[V63:%.+]] = vector.broadcast [[V62]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V64:%.+]] = arith.constant 4 : i32
// LOOPS-NEXT: [[V65:%.+]] = vector.broadcast [[V64]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V66:%.+]] = arith.constant 5 : i32
// LOOPS-NEXT: [[V67:%.+]] = vector.broadcast [[V66]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V68:%.+]] = arith.constant 6 : i32
// LOOPS-NEXT: [[V69:%.+]] = vector.broadcast [[V68]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V70:%.+]] = arith.constant 7 : i32
// LOOPS-NEXT: [[V71:%.+]] = vector.broadcast [[V70]] : i32 to vector<1x1x1xi32>
// LOOPS-NEXT: [[V72:%.+]] = memref.collapse_shape [[V22]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x36xi8> into memref<36xi8>
// LOOPS-NEXT: [[V73:%.+]], [[V74:%.+]], [[V75:%.+]], [[V76:%.+]], [[V77:%.+]], [[V78:%.+]], [[V79:%.+]], [[V80:%.+]] = scf.for [[V81:%.+]] = [[V30]] to [[V31]] step [[V32]] iter_args([[V82:%.+]] = [[V29]], [[V83:%.+]] = [[V29]], [[V84:%.+]] = [[V29]], [[V85:%.+]] = [[V29]], [[V86:%.+]] = [[V29]], [[V87:%.+]] = [[V29]], [[V88:%.+]] = [[V29]], [[V89:%.+]] = [[V29]]) -> (vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>) {
// LOOPS-NEXT: [[V90:%.+]] = simd.load [[V21]][[[V30]], [[V30]], [[V81]], [[V30]]] {strides = array<i64: 4, 0>} : memref<1x1x2x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V91:%.+]] = arith.muli [[V81]], [[V33]] : index
// LOOPS-NEXT: [[V92:%.+]] = arith.andi [[V90]], [[V35]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V93:%.+]] = simd.load_group_splat [[V72]][[[V91]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V94:%.+]] = arith.xori [[V93]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V95:%.+]] = vector.broadcast [[V94]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V96:%.+]] = simd.dot_accumulate [[V82]], [[V92]], [[V95]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V97:%.+]] = arith.andi [[V90]], [[V39]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V98:%.+]] = arith.addi [[V91]], [[V40]] : index
// LOOPS-NEXT: [[V99:%.+]] = simd.load_group_splat [[V72]][[[V98]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V100:%.+]] = arith.xori [[V99]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V101:%.+]] = vector.broadcast [[V100]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V102:%.+]] = simd.dot_accumulate [[V83]], [[V97]], [[V101]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V103:%.+]] = arith.andi [[V90]], [[V42]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V104:%.+]] = arith.addi [[V91]], [[V43]] : index
// LOOPS-NEXT: [[V105:%.+]] = simd.load_group_splat [[V72]][[[V104]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V106:%.+]] = arith.xori [[V105]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V107:%.+]] = vector.broadcast [[V106]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V108:%.+]] = simd.dot_accumulate [[V84]], [[V103]], [[V107]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V109:%.+]] = arith.andi [[V90]], [[V45]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V110:%.+]] = arith.addi [[V91]], [[V46]] : index
// LOOPS-NEXT: [[V111:%.+]] = simd.load_group_splat [[V72]][[[V110]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V112:%.+]] = arith.xori [[V111]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V113:%.+]] = vector.broadcast [[V112]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V114:%.+]] = simd.dot_accumulate [[V85]], [[V109]], [[V113]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V115:%.+]] = arith.andi [[V90]], [[V48]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V116:%.+]] = arith.addi [[V91]], [[V49]] : index
// LOOPS-NEXT: [[V117:%.+]] = simd.load_group_splat [[V72]][[[V116]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V118:%.+]] = arith.xori [[V117]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V119:%.+]] = vector.broadcast [[V118]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V120:%.+]] = simd.dot_accumulate [[V86]], [[V115]], [[V119]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V121:%.+]] = arith.andi [[V90]], [[V51]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V122:%.+]] = arith.addi [[V91]], [[V52]] : index
// LOOPS-NEXT: [[V123:%.+]] = simd.load_group_splat [[V72]][[[V122]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V124:%.+]] = arith.xori [[V123]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V125:%.+]] = vector.broadcast [[V124]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V126:%.+]] = simd.dot_accumulate [[V87]], [[V121]], [[V125]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V127:%.+]] = arith.andi [[V90]], [[V54]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V128:%.+]] = arith.addi [[V91]], [[V55]] : index
// LOOPS-NEXT: [[V129:%.+]] = simd.load_group_splat [[V72]][[[V128]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V130:%.+]] = arith.xori [[V129]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V131:%.+]] = vector.broadcast [[V130]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V132:%.+]] = simd.dot_accumulate [[V88]], [[V127]], [[V131]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: [[V133:%.+]] = arith.andi [[V90]], [[V56]] : vector<1x1x4xi8>
// LOOPS-NEXT: [[V134:%.+]] = arith.addi [[V91]], [[V57]] : index
// LOOPS-NEXT: [[V135:%.+]] = simd.load_group_splat [[V72]][[[V134]]] {strides = array<i64: 36>} : memref<36xi8> to vector<1x4xi8>
// LOOPS-NEXT: [[V136:%.+]] = arith.xori [[V135]], [[V37]] : vector<1x4xi8>
// LOOPS-NEXT: [[V137:%.+]] = vector.broadcast [[V136]] : vector<1x4xi8> to vector<1x1x4xi8>
// LOOPS-NEXT: [[V138:%.+]] = simd.dot_accumulate [[V89]], [[V133]], [[V137]] {signs = "us"} : vector<1x1x1xi32>, vector<1x1x4xi8>, vector<1x1x4xi8> -> vector<1x1x1xi32>
// LOOPS-NEXT: scf.yield [[V96]], [[V102]], [[V108]], [[V114]], [[V120]], [[V126]], [[V132]], [[V138]] : vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>, vector<1x1x1xi32>
// LOOPS: [[V139:%.+]] = arith.shrsi [[V74]], [[V59]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V140:%.+]] = arith.addi [[V73]], [[V139]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V141:%.+]] = arith.shrsi [[V75]], [[V61]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V142:%.+]] = arith.addi [[V140]], [[V141]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V143:%.+]] = arith.shrsi [[V76]], [[V63]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V144:%.+]] = arith.addi [[V142]], [[V143]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V145:%.+]] = arith.shrsi [[V77]], [[V65]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V146:%.+]] = arith.addi [[V144]], [[V145]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V147:%.+]] = arith.shrsi [[V78]], [[V67]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V148:%.+]] = arith.addi [[V146]], [[V147]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V149:%.+]] = arith.shrsi [[V79]], [[V69]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V150:%.+]] = arith.addi [[V148]], [[V149]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V151:%.+]] = arith.shrsi [[V80]], [[V71]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V152:%.+]] = arith.addi [[V150]], [[V151]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V153:%.+]] = arith.shli [[V152]], [[V59]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V154:%.+]] = simd.load [[V2]][[[V30]]] {strides = array<i64: 1, 0>} : memref<1xi32> to vector<1x1x1xi32>
// LOOPS-NEXT: [[V155:%.+]] = memref.load [[V16]][[[V30]]] : memref<1xi32>
// LOOPS-NEXT: [[V156:%.+]] = vector.broadcast [[V155]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V157:%.+]] = simd.stack [[V156]] : vector<1xi32> to vector<1x1x1xi32>
// LOOPS-NEXT: [[V158:%.+]] = arith.addi [[V153]], [[V157]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V159:%.+]] = arith.addi [[V158]], [[V154]] : vector<1x1x1xi32>
// LOOPS-NEXT: [[V160:%.+]] = vector.extract [[V159]][0] : vector<1x1xi32> from vector<1x1x1xi32>
// LOOPS-NEXT: simd.store [[V160]], [[V1]][[[V30]], [[V30]]] {strides = array<i64: 1>} : vector<1x1xi32>, memref<1x1xi32>
// LOOPS-NEXT: func.return
