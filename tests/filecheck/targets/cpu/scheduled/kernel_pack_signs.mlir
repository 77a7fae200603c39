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
// LOOPS-NEXT: [[V29:%.+]] = vector.broadcast [[V28]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V30:%.+]] = arith.constant 0 : index
// LOOPS-NEXT: [[V31:%.+]] = arith.constant 2 : index
// LOOPS-NEXT: [[V32:%.+]] = arith.constant 1 : index
// LOOPS-NEXT: [[V33:%.+]] = arith.constant 32 : index
// LOOPS-NEXT: [[V34:%.+]] = arith.constant 1 : i8
// LOOPS-NEXT: [[V35:%.+]] = vector.broadcast [[V34]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V36:%.+]] = arith.constant -128 : i8
// LOOPS-NEXT: [[V37:%.+]] = vector.broadcast [[V36]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V38:%.+]] = arith.constant 2 : i8
// LOOPS-NEXT: [[V39:%.+]] = vector.broadcast [[V38]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V40:%.+]] = arith.constant 4 : index
// LOOPS-NEXT: [[V41:%.+]] = arith.constant 4 : i8
// LOOPS-NEXT: [[V42:%.+]] = vector.broadcast [[V41]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V43:%.+]] = arith.constant 8 : index
// LOOPS-NEXT: [[V44:%.+]] = arith.constant 8 : i8
// LOOPS-NEXT: [[V45:%.+]] = vector.broadcast [[V44]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V46:%.+]] = arith.constant 12 : index
// LOOPS-NEXT: [[V47:%.+]] = arith.constant 16 : i8
// LOOPS-NEXT: [[V48:%.+]] = vector.broadcast [[V47]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V49:%.+]] = arith.constant 16 : index
// LOOPS-NEXT: [[V50:%.+]] = arith.constant 32 : i8
// LOOPS-NEXT: [[V51:%.+]] = vector.broadcast [[V50]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V52:%.+]] = arith.constant 20 : index
// LOOPS-NEXT: [[V53:%.+]] = arith.constant 64 : i8
// LOOPS-NEXT: [[V54:%.+]] = vector.broadcast [[V53]] : i8 to vector<4xi8>
// LOOPS-NEXT: [[V55:%.+]] = arith.constant 24 : index
// LOOPS-NEXT: [[V56:%.+]] = arith.constant 28 : index
// LOOPS-NEXT: [[V57:%.+]] = arith.constant 1 : i32
// LOOPS-NEXT: [[V58:%.+]] = vector.broadcast [[V57]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V59:%.+]] = arith.constant 2 : i32
// LOOPS-NEXT: [[V60:%.+]] = vector.broadcast [[V59]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V61:%.+]] = arith.constant 3 : i32
// LOOPS-NEXT: [[V62:%.+]] = vector.broadcast [[V61]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V63:%.+]] = arith.constant 4 : i32
// LOOPS-NEXT: [[V64:%.+]] = vector.broadcast [[V63]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V65:%.+]] = arith.constant 5 : i32
// LOOPS-NEXT: [[V66:%.+]] = vector.broadcast [[V65]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V67:%.+]] = arith.constant 6 : i32
// LOOPS-NEXT: [[V68:%.+]] = vector.broadcast [[V67]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V69:%.+]] = arith.constant 7 : i32
// LOOPS-NEXT: [[V70:%.+]] = vector.broadcast [[V69]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V71:%.+]] = memref.collapse_shape [[V22]] {{\[\[}}0 : i64, 1 : i64]] : memref<1x36xi8> into memref<36xi8>
// LOOPS-NEXT: [[V72:%.+]], [[V73:%.+]], [[V74:%.+]], [[V75:%.+]], [[V76:%.+]], [[V77:%.+]], [[V78:%.+]], [[V79:%.+]] = scf.for [[V80:%.+]] = [[V30]] to [[V31]] step [[V32]] iter_args([[V81:%.+]] = [[V29]], [[V82:%.+]] = [[V29]], [[V83:%.+]] = [[V29]], [[V84:%.+]] = [[V29]], [[V85:%.+]] = [[V29]], [[V86:%.+]] = [[V29]], [[V87:%.+]] = [[V29]], [[V88:%.+]] = [[V29]]) -> (vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>) {
// LOOPS-NEXT: [[V89:%.+]] = simd.load [[V21]][[[V30]], [[V30]], [[V80]], [[V30]]] : memref<1x1x2x4xi8> to vector<4xi8>
// LOOPS-NEXT: [[V90:%.+]] = arith.muli [[V80]], [[V33]] : index
// LOOPS-NEXT: [[V91:%.+]] = arith.andi [[V89]], [[V35]] : vector<4xi8>
// LOOPS-NEXT: [[V92:%.+]] = simd.load_group_splat [[V71]][[[V90]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V93:%.+]] = arith.xori [[V92]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V94:%.+]] = simd.dot_accumulate [[V81]], [[V91]], [[V93]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V95:%.+]] = arith.andi [[V89]], [[V39]] : vector<4xi8>
// LOOPS-NEXT: [[V96:%.+]] = arith.addi [[V90]], [[V40]] : index
// LOOPS-NEXT: [[V97:%.+]] = simd.load_group_splat [[V71]][[[V96]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V98:%.+]] = arith.xori [[V97]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V99:%.+]] = simd.dot_accumulate [[V82]], [[V95]], [[V98]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V100:%.+]] = arith.andi [[V89]], [[V42]] : vector<4xi8>
// LOOPS-NEXT: [[V101:%.+]] = arith.addi [[V90]], [[V43]] : index
// LOOPS-NEXT: [[V102:%.+]] = simd.load_group_splat [[V71]][[[V101]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V103:%.+]] = arith.xori [[V102]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V104:%.+]] = simd.dot_accumulate [[V83]], [[V100]], [[V103]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V105:%.+]] = arith.andi [[V89]], [[V45]] : vector<4xi8>
// LOOPS-NEXT: [[V106:%.+]] = arith.addi [[V90]], [[V46]] : index
// LOOPS-NEXT: [[V107:%.+]] = simd.load_group_splat [[V71]][[[V106]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V108:%.+]] = arith.xori [[V107]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V109:%.+]] = simd.dot_accumulate [[V84]], [[V105]], [[V108]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V110:%.+]] = arith.andi [[V89]], [[V48]] : vector<4xi8>
// LOOPS-NEXT: [[V111:%.+]] = arith.addi [[V90]], [[V49]] : index
// LOOPS-NEXT: [[V112:%.+]] = simd.load_group_splat [[V71]][[[V111]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V113:%.+]] = arith.xori [[V112]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V114:%.+]] = simd.dot_accumulate [[V85]], [[V110]], [[V113]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V115:%.+]] = arith.andi [[V89]], [[V51]] : vector<4xi8>
// LOOPS-NEXT: [[V116:%.+]] = arith.addi [[V90]], [[V52]] : index
// LOOPS-NEXT: [[V117:%.+]] = simd.load_group_splat [[V71]][[[V116]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V118:%.+]] = arith.xori [[V117]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V119:%.+]] = simd.dot_accumulate [[V86]], [[V115]], [[V118]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V120:%.+]] = arith.andi [[V89]], [[V54]] : vector<4xi8>
// LOOPS-NEXT: [[V121:%.+]] = arith.addi [[V90]], [[V55]] : index
// LOOPS-NEXT: [[V122:%.+]] = simd.load_group_splat [[V71]][[[V121]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V123:%.+]] = arith.xori [[V122]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V124:%.+]] = simd.dot_accumulate [[V87]], [[V120]], [[V123]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: [[V125:%.+]] = arith.andi [[V89]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V126:%.+]] = arith.addi [[V90]], [[V56]] : index
// LOOPS-NEXT: [[V127:%.+]] = simd.load_group_splat [[V71]][[[V126]]] : memref<36xi8> to vector<4xi8>
// LOOPS-NEXT: [[V128:%.+]] = arith.xori [[V127]], [[V37]] : vector<4xi8>
// LOOPS-NEXT: [[V129:%.+]] = simd.dot_accumulate [[V88]], [[V125]], [[V128]] {signs = "us"} : vector<1xi32>, vector<4xi8>, vector<4xi8> -> vector<1xi32>
// LOOPS-NEXT: scf.yield [[V94]], [[V99]], [[V104]], [[V109]], [[V114]], [[V119]], [[V124]], [[V129]] : vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>, vector<1xi32>
// LOOPS: [[V130:%.+]] = arith.shrsi [[V73]], [[V58]] : vector<1xi32>
// LOOPS-NEXT: [[V131:%.+]] = arith.addi [[V72]], [[V130]] : vector<1xi32>
// LOOPS-NEXT: [[V132:%.+]] = arith.shrsi [[V74]], [[V60]] : vector<1xi32>
// LOOPS-NEXT: [[V133:%.+]] = arith.addi [[V131]], [[V132]] : vector<1xi32>
// LOOPS-NEXT: [[V134:%.+]] = arith.shrsi [[V75]], [[V62]] : vector<1xi32>
// LOOPS-NEXT: [[V135:%.+]] = arith.addi [[V133]], [[V134]] : vector<1xi32>
// LOOPS-NEXT: [[V136:%.+]] = arith.shrsi [[V76]], [[V64]] : vector<1xi32>
// LOOPS-NEXT: [[V137:%.+]] = arith.addi [[V135]], [[V136]] : vector<1xi32>
// LOOPS-NEXT: [[V138:%.+]] = arith.shrsi [[V77]], [[V66]] : vector<1xi32>
// LOOPS-NEXT: [[V139:%.+]] = arith.addi [[V137]], [[V138]] : vector<1xi32>
// LOOPS-NEXT: [[V140:%.+]] = arith.shrsi [[V78]], [[V68]] : vector<1xi32>
// LOOPS-NEXT: [[V141:%.+]] = arith.addi [[V139]], [[V140]] : vector<1xi32>
// LOOPS-NEXT: [[V142:%.+]] = arith.shrsi [[V79]], [[V70]] : vector<1xi32>
// LOOPS-NEXT: [[V143:%.+]] = arith.addi [[V141]], [[V142]] : vector<1xi32>
// LOOPS-NEXT: [[V144:%.+]] = arith.shli [[V143]], [[V58]] : vector<1xi32>
// LOOPS-NEXT: [[V145:%.+]] = simd.load [[V2]][[[V30]]] : memref<1xi32> to vector<1xi32>
// LOOPS-NEXT: [[V146:%.+]] = memref.load [[V16]][[[V30]]] : memref<1xi32>
// LOOPS-NEXT: [[V147:%.+]] = vector.broadcast [[V146]] : i32 to vector<1xi32>
// LOOPS-NEXT: [[V148:%.+]] = arith.addi [[V144]], [[V147]] : vector<1xi32>
// LOOPS-NEXT: [[V149:%.+]] = arith.addi [[V148]], [[V145]] : vector<1xi32>
// LOOPS-NEXT: simd.store [[V149]], [[V1]][[[V30]], [[V30]]] : vector<1xi32>, memref<1x1xi32>
// LOOPS-NEXT: func.return
