// RUN: qmlir-opt %s -p math-expand | filecheck %s
// RUN: qmlir-opt %s -p math-expand,math-expand | filecheck %s

// A function of f32 is the steps that define it.
// CHECK-LABEL: @rsqrt(
// CHECK-SAME: [[V0:%.+]]: f32) -> f32
// CHECK-NEXT: [[V1:%.+]] = math.sqrt [[V0]] : f32
// CHECK-NEXT: [[V2:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V3:%.+]] = arith.divf [[V2]], [[V1]] : f32
// CHECK-NEXT: func.return [[V3]] : f32
func.func @rsqrt(%x: f32) -> f32 {
  %0 = math.rsqrt %x : f32
  func.return %0 : f32
}

// CHECK-LABEL: @exp(
// CHECK-SAME: [[V0:%.+]]: f32) -> f32
// CHECK-NEXT: [[V1:%.+]] = arith.constant -1.040000e+02 : f32
// CHECK-NEXT: [[V2:%.+]] = arith.cmpf olt, [[V0]], [[V1]] : f32
// CHECK-NEXT: [[V3:%.+]] = arith.select [[V2]], [[V1]], [[V0]] : f32
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1.040000e+02 : f32
// CHECK-NEXT: [[V5:%.+]] = arith.cmpf ogt, [[V3]], [[V4]] : f32
// CHECK-NEXT: [[V6:%.+]] = arith.select [[V5]], [[V4]], [[V3]] : f32
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1.442695 : f32
// CHECK-NEXT: [[V8:%.+]] = arith.mulf [[V6]], [[V7]] : f32
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1.2582912e+07 : f32
// CHECK-NEXT: [[V10:%.+]] = arith.addf [[V8]], [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.subf [[V10]], [[V9]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.constant 0.6933594 : f32
// CHECK-NEXT: [[V13:%.+]] = arith.mulf [[V11]], [[V12]] : f32
// CHECK-NEXT: [[V14:%.+]] = arith.subf [[V6]], [[V13]] : f32
// CHECK-NEXT: [[V15:%.+]] = arith.constant -0.00021219444 : f32
// CHECK-NEXT: [[V16:%.+]] = arith.mulf [[V11]], [[V15]] : f32
// CHECK-NEXT: [[V17:%.+]] = arith.subf [[V14]], [[V16]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.bitcast [[V10]] : f32 to i32
// CHECK-NEXT: [[V19:%.+]] = arith.constant 1262485504 : i32
// CHECK-NEXT: [[V20:%.+]] = arith.subi [[V18]], [[V19]] : i32
// CHECK-NEXT: [[V21:%.+]] = arith.mulf [[V17]], [[V17]] : f32
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.00019944255 : f32
// CHECK-NEXT: [[V23:%.+]] = arith.mulf [[V17]], [[V22]] : f32
// CHECK-NEXT: [[V24:%.+]] = arith.constant 0.0013932686 : f32
// CHECK-NEXT: [[V25:%.+]] = arith.addf [[V23]], [[V24]] : f32
// CHECK-NEXT: [[V26:%.+]] = arith.mulf [[V25]], [[V17]] : f32
// CHECK-NEXT: [[V27:%.+]] = arith.constant 0.008333208 : f32
// CHECK-NEXT: [[V28:%.+]] = arith.addf [[V26]], [[V27]] : f32
// CHECK-NEXT: [[V29:%.+]] = arith.mulf [[V28]], [[V17]] : f32
// CHECK-NEXT: [[V30:%.+]] = arith.constant 0.04166649 : f32
// CHECK-NEXT: [[V31:%.+]] = arith.addf [[V29]], [[V30]] : f32
// CHECK-NEXT: [[V32:%.+]] = arith.mulf [[V31]], [[V17]] : f32
// CHECK-NEXT: [[V33:%.+]] = arith.constant 0.16666667 : f32
// CHECK-NEXT: [[V34:%.+]] = arith.addf [[V32]], [[V33]] : f32
// CHECK-NEXT: [[V35:%.+]] = arith.mulf [[V34]], [[V17]] : f32
// CHECK-NEXT: [[V36:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V21]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.subf [[V38]], [[V16]] : f32
// CHECK-NEXT: [[V40:%.+]] = arith.addf [[V39]], [[V14]] : f32
// CHECK-NEXT: [[V41:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V42:%.+]] = arith.shrsi [[V20]], [[V41]] : i32
// CHECK-NEXT: [[V43:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V44:%.+]] = arith.addf [[V40]], [[V43]] : f32
// CHECK-NEXT: [[V45:%.+]] = arith.constant 23 : i32
// CHECK-NEXT: [[V46:%.+]] = arith.shli [[V42]], [[V45]] : i32
// CHECK-NEXT: [[V47:%.+]] = arith.constant 1065353216 : i32
// CHECK-NEXT: [[V48:%.+]] = arith.addi [[V46]], [[V47]] : i32
// CHECK-NEXT: [[V49:%.+]] = arith.bitcast [[V48]] : i32 to f32
// CHECK-NEXT: [[V50:%.+]] = arith.mulf [[V44]], [[V49]] : f32
// CHECK-NEXT: [[V51:%.+]] = arith.subi [[V20]], [[V42]] : i32
// CHECK-NEXT: [[V52:%.+]] = arith.shli [[V51]], [[V45]] : i32
// CHECK-NEXT: [[V53:%.+]] = arith.addi [[V52]], [[V47]] : i32
// CHECK-NEXT: [[V54:%.+]] = arith.bitcast [[V53]] : i32 to f32
// CHECK-NEXT: [[V55:%.+]] = arith.mulf [[V50]], [[V54]] : f32
// CHECK-NEXT: func.return [[V55]] : f32
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  func.return %0 : f32
}

// f16 goes through f32.
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: f16) -> f16
// CHECK-NEXT: [[V1:%.+]] = arith.extf [[V0]] : f16 to f32
// CHECK-NEXT: [[V2:%.+]] = math.sqrt [[V1]] : f32
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V4:%.+]] = arith.divf [[V3]], [[V2]] : f32
// CHECK-NEXT: [[V5:%.+]] = arith.truncf [[V4]] : f32 to f16
// CHECK-NEXT: func.return [[V5]] : f16
func.func @short(%x: f16) -> f16 {
  %0 = math.rsqrt %x : f16
  func.return %0 : f16
}

// In the body of a structured operation.
// CHECK-LABEL: @body(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<4xf32>) outs([[V1]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = math.sqrt [[V3]] : f32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V7:%.+]] = arith.divf [[V6]], [[V5]] : f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<4xf32>
func.func @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  } ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.rsqrt %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// On all lanes of a vector.
// CHECK-LABEL: @lanes(
// CHECK-SAME: [[V0:%.+]]: vector<8xf32>, [[V1:%.+]]: vector<8xbf16>) -> (vector<8xf32>, vector<8xbf16>)
// CHECK-NEXT: [[V2:%.+]] = arith.mulf [[V0]], [[V0]] : vector<8xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant -0.006295665 : f32
// CHECK-NEXT: [[V4:%.+]] = vector.broadcast [[V3]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.mulf [[V2]], [[V4]] : vector<8xf32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0.021088311 : f32
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V6]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V8:%.+]] = arith.addf [[V5]], [[V7]] : vector<8xf32>
// CHECK-NEXT: [[V9:%.+]] = arith.mulf [[V8]], [[V2]] : vector<8xf32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant -0.05385685 : f32
// CHECK-NEXT: [[V11:%.+]] = vector.broadcast [[V10]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V12:%.+]] = arith.addf [[V9]], [[V11]] : vector<8xf32>
// CHECK-NEXT: [[V13:%.+]] = arith.mulf [[V12]], [[V2]] : vector<8xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0.13332637 : f32
// CHECK-NEXT: [[V15:%.+]] = vector.broadcast [[V14]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V16:%.+]] = arith.addf [[V13]], [[V15]] : vector<8xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.mulf [[V16]], [[V2]] : vector<8xf32>
// CHECK-NEXT: [[V18:%.+]] = arith.constant -0.3333332 : f32
// CHECK-NEXT: [[V19:%.+]] = vector.broadcast [[V18]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V20:%.+]] = arith.addf [[V17]], [[V19]] : vector<8xf32>
// CHECK-NEXT: [[V21:%.+]] = arith.mulf [[V20]], [[V2]] : vector<8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.mulf [[V21]], [[V0]] : vector<8xf32>
// CHECK-NEXT: [[V23:%.+]] = arith.addf [[V22]], [[V0]] : vector<8xf32>
// CHECK-NEXT: [[V24:%.+]] = math.absf [[V0]] : vector<8xf32>
// CHECK-NEXT: [[V25:%.+]] = arith.addf [[V24]], [[V24]] : vector<8xf32>
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V27:%.+]] = vector.broadcast [[V26]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V28:%.+]] = simd.compare [[V25]], [[V27]] {predicate = "olt"} : vector<8xf32> -> vector<8xi1>
// CHECK-NEXT: [[V29:%.+]] = simd.select [[V28]], [[V27]], [[V25]] : vector<8xi1>, vector<8xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant 4.000000e+01 : f32
// CHECK-NEXT: [[V31:%.+]] = vector.broadcast [[V30]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V32:%.+]] = simd.compare [[V29]], [[V31]] {predicate = "ogt"} : vector<8xf32> -> vector<8xi1>
// CHECK-NEXT: [[V33:%.+]] = simd.select [[V32]], [[V31]], [[V29]] : vector<8xi1>, vector<8xf32>
// CHECK-NEXT: [[V34:%.+]] = arith.constant 1.442695 : f32
// CHECK-NEXT: [[V35:%.+]] = vector.broadcast [[V34]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V36:%.+]] = arith.mulf [[V33]], [[V35]] : vector<8xf32>
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.2582912e+07 : f32
// CHECK-NEXT: [[V38:%.+]] = vector.broadcast [[V37]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V39:%.+]] = arith.addf [[V36]], [[V38]] : vector<8xf32>
// CHECK-NEXT: [[V40:%.+]] = arith.subf [[V39]], [[V38]] : vector<8xf32>
// CHECK-NEXT: [[V41:%.+]] = arith.constant 0.6933594 : f32
// CHECK-NEXT: [[V42:%.+]] = vector.broadcast [[V41]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V43:%.+]] = arith.mulf [[V40]], [[V42]] : vector<8xf32>
// CHECK-NEXT: [[V44:%.+]] = arith.subf [[V33]], [[V43]] : vector<8xf32>
// CHECK-NEXT: [[V45:%.+]] = arith.constant -0.00021219444 : f32
// CHECK-NEXT: [[V46:%.+]] = vector.broadcast [[V45]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V47:%.+]] = arith.mulf [[V40]], [[V46]] : vector<8xf32>
// CHECK-NEXT: [[V48:%.+]] = arith.subf [[V44]], [[V47]] : vector<8xf32>
// CHECK-NEXT: [[V49:%.+]] = simd.convert [[V39]] {kind = "bitcast"} : vector<8xf32> to vector<8xi32>
// CHECK-NEXT: [[V50:%.+]] = arith.constant 1262485504 : i32
// CHECK-NEXT: [[V51:%.+]] = vector.broadcast [[V50]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V52:%.+]] = arith.subi [[V49]], [[V51]] : vector<8xi32>
// CHECK-NEXT: [[V53:%.+]] = arith.mulf [[V48]], [[V48]] : vector<8xf32>
// CHECK-NEXT: [[V54:%.+]] = arith.constant 0.00019944255 : f32
// CHECK-NEXT: [[V55:%.+]] = vector.broadcast [[V54]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V56:%.+]] = arith.mulf [[V48]], [[V55]] : vector<8xf32>
// CHECK-NEXT: [[V57:%.+]] = arith.constant 0.0013932686 : f32
// CHECK-NEXT: [[V58:%.+]] = vector.broadcast [[V57]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V59:%.+]] = arith.addf [[V56]], [[V58]] : vector<8xf32>
// CHECK-NEXT: [[V60:%.+]] = arith.mulf [[V59]], [[V48]] : vector<8xf32>
// CHECK-NEXT: [[V61:%.+]] = arith.constant 0.008333208 : f32
// CHECK-NEXT: [[V62:%.+]] = vector.broadcast [[V61]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V63:%.+]] = arith.addf [[V60]], [[V62]] : vector<8xf32>
// CHECK-NEXT: [[V64:%.+]] = arith.mulf [[V63]], [[V48]] : vector<8xf32>
// CHECK-NEXT: [[V65:%.+]] = arith.constant 0.04166649 : f32
// CHECK-NEXT: [[V66:%.+]] = vector.broadcast [[V65]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V67:%.+]] = arith.addf [[V64]], [[V66]] : vector<8xf32>
// CHECK-NEXT: [[V68:%.+]] = arith.mulf [[V67]], [[V48]] : vector<8xf32>
// CHECK-NEXT: [[V69:%.+]] = arith.constant 0.16666667 : f32
// CHECK-NEXT: [[V70:%.+]] = vector.broadcast [[V69]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V71:%.+]] = arith.addf [[V68]], [[V70]] : vector<8xf32>
// CHECK-NEXT: [[V72:%.+]] = arith.mulf [[V71]], [[V48]] : vector<8xf32>
// CHECK-NEXT: [[V73:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V74:%.+]] = vector.broadcast [[V73]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V75:%.+]] = arith.addf [[V72]], [[V74]] : vector<8xf32>
// CHECK-NEXT: [[V76:%.+]] = arith.mulf [[V53]], [[V75]] : vector<8xf32>
// CHECK-NEXT: [[V77:%.+]] = arith.subf [[V76]], [[V47]] : vector<8xf32>
// CHECK-NEXT: [[V78:%.+]] = arith.addf [[V77]], [[V44]] : vector<8xf32>
// CHECK-NEXT: [[V79:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V80:%.+]] = vector.broadcast [[V79]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V81:%.+]] = arith.addf [[V78]], [[V80]] : vector<8xf32>
// CHECK-NEXT: [[V82:%.+]] = arith.constant 23 : i32
// CHECK-NEXT: [[V83:%.+]] = vector.broadcast [[V82]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V84:%.+]] = arith.shli [[V52]], [[V83]] : vector<8xi32>
// CHECK-NEXT: [[V85:%.+]] = arith.constant 1065353216 : i32
// CHECK-NEXT: [[V86:%.+]] = vector.broadcast [[V85]] : i32 to vector<8xi32>
// CHECK-NEXT: [[V87:%.+]] = arith.addi [[V84]], [[V86]] : vector<8xi32>
// CHECK-NEXT: [[V88:%.+]] = simd.convert [[V87]] {kind = "bitcast"} : vector<8xi32> to vector<8xf32>
// CHECK-NEXT: [[V89:%.+]] = arith.mulf [[V81]], [[V88]] : vector<8xf32>
// CHECK-NEXT: [[V90:%.+]] = arith.addf [[V89]], [[V80]] : vector<8xf32>
// CHECK-NEXT: [[V91:%.+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: [[V92:%.+]] = vector.broadcast [[V91]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V93:%.+]] = arith.divf [[V92]], [[V90]] : vector<8xf32>
// CHECK-NEXT: [[V94:%.+]] = arith.subf [[V80]], [[V93]] : vector<8xf32>
// CHECK-NEXT: [[V95:%.+]] = arith.constant 0.55 : f32
// CHECK-NEXT: [[V96:%.+]] = vector.broadcast [[V95]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V97:%.+]] = simd.compare [[V24]], [[V96]] {predicate = "ogt"} : vector<8xf32> -> vector<8xi1>
// CHECK-NEXT: [[V98:%.+]] = simd.select [[V97]], [[V94]], [[V23]] : vector<8xi1>, vector<8xf32>
// CHECK-NEXT: [[V99:%.+]] = math.copysign [[V98]], [[V0]] : vector<8xf32>
// CHECK-NEXT: [[V100:%.+]] = simd.convert [[V1]] {kind = "extf"} : vector<8xbf16> to vector<8xf32>
// CHECK-NEXT: [[V101:%.+]] = math.sqrt [[V100]] : vector<8xf32>
// CHECK-NEXT: [[V102:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V103:%.+]] = vector.broadcast [[V102]] : f32 to vector<8xf32>
// CHECK-NEXT: [[V104:%.+]] = arith.divf [[V103]], [[V101]] : vector<8xf32>
// CHECK-NEXT: [[V105:%.+]] = simd.convert [[V104]] {kind = "truncf"} : vector<8xf32> to vector<8xbf16>
// CHECK-NEXT: func.return [[V99]], [[V105]] : vector<8xf32>, vector<8xbf16>
func.func @lanes(%x: vector<8xf32>, %y: vector<8xbf16>) -> (vector<8xf32>, vector<8xbf16>) {
  %0 = math.tanh %x : vector<8xf32>
  %1 = math.rsqrt %y : vector<8xbf16>
  func.return %0, %1 : vector<8xf32>, vector<8xbf16>
}

// The C library has those of f64; tensors have no lanes; what is one step stays.
// CHECK-LABEL: @kept(
// CHECK-SAME: [[V0:%.+]]: f64, [[V1:%.+]]: tensor<4xf32>, [[V2:%.+]]: f32) -> (f64, tensor<4xf32>, f32)
// CHECK-NEXT: [[V3:%.+]] = math.exp [[V0]] : f64
// CHECK-NEXT: [[V4:%.+]] = math.exp [[V1]] : tensor<4xf32>
// CHECK-NEXT: [[V5:%.+]] = math.sqrt [[V2]] : f32
// CHECK-NEXT: func.return [[V3]], [[V4]], [[V5]] : f64, tensor<4xf32>, f32
func.func @kept(%x: f64, %y: tensor<4xf32>, %z: f32) -> (f64, tensor<4xf32>, f32) {
  %0 = math.exp %x : f64
  %1 = math.exp %y : tensor<4xf32>
  %2 = math.sqrt %z : f32
  func.return %0, %1, %2 : f64, tensor<4xf32>, f32
}
