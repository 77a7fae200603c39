// RUN: qmlir-opt %s -p 'convert-nn-to-kernel' | filecheck %s

// Fake quantization is one loop; scales and zero points are made of the parameters in it.

// CHECK-LABEL: @threshold(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x3xf32>, tensor<3xf32>) outs([[V2]] : tensor<2x3xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.extf [[V5]] : f32 to f64
// CHECK-NEXT: [[V8:%.+]] = math.ceil [[V7]] : f64
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3.000000e+00 : f64
// CHECK-NEXT: [[V10:%.+]] = arith.subf [[V8]], [[V9]] : f64
// CHECK-NEXT: [[V11:%.+]] = arith.constant 2.000000e+00 : f64
// CHECK-NEXT: [[V12:%.+]] = math.powf [[V11]], [[V10]] : f64
// CHECK-NEXT: [[V13:%.+]] = arith.truncf [[V12]] : f64 to f32
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V15:%.+]] = arith.extf [[V14]] : f32 to f64
// CHECK-NEXT: [[V16:%.+]] = arith.divf [[V4]], [[V13]] : f32
// CHECK-NEXT: [[V17:%.+]] = math.roundeven [[V16]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.extf [[V17]] : f32 to f64
// CHECK-NEXT: [[V19:%.+]] = arith.addf [[V18]], [[V15]] : f64
// CHECK-NEXT: [[V20:%.+]] = arith.constant -8.000000e+00 : f64
// CHECK-NEXT: [[V21:%.+]] = arith.maximumf [[V19]], [[V20]] : f64
// CHECK-NEXT: [[V22:%.+]] = arith.constant 7.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = arith.minimumf [[V21]], [[V22]] : f64
// CHECK-NEXT: [[V24:%.+]] = arith.subf [[V23]], [[V15]] : f64
// CHECK-NEXT: [[V25:%.+]] = arith.extf [[V13]] : f32 to f64
// CHECK-NEXT: [[V26:%.+]] = arith.mulf [[V24]], [[V25]] : f64
// CHECK-NEXT: [[V27:%.+]] = arith.truncf [[V26]] : f64 to f32
// CHECK-NEXT: [[V28:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : f32
// CHECK-NEXT: linalg.yield [[V29]] : f32
// CHECK-NEXT: } -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2x3xf32>
func.func @threshold(%x: tensor<2x3xf32>, %t: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = calib.fake_quant %x, %t {axis = 1 : i64, bits = 4 : i64, method = "tqt"} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @offset(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>, [[V1:%.+]]: tensor<f32>, [[V2:%.+]]: tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]], [[V2]] : tensor<4xf32>, tensor<f32>, tensor<f32>) outs([[V3]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f32, [[V6:%.+]]: f32, [[V7:%.+]]: f32, [[V8:%.+]]: f32):
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V10:%.+]] = arith.subf [[V5]], [[V7]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.extf [[V9]] : f32 to f64
// CHECK-NEXT: [[V12:%.+]] = arith.divf [[V10]], [[V6]] : f32
// CHECK-NEXT: [[V13:%.+]] = math.roundeven [[V12]] : f32
// CHECK-NEXT: [[V14:%.+]] = arith.extf [[V13]] : f32 to f64
// CHECK-NEXT: [[V15:%.+]] = arith.addf [[V14]], [[V11]] : f64
// CHECK-NEXT: [[V16:%.+]] = arith.constant -1.280000e+02 : f64
// CHECK-NEXT: [[V17:%.+]] = arith.maximumf [[V15]], [[V16]] : f64
// CHECK-NEXT: [[V18:%.+]] = arith.constant 1.270000e+02 : f64
// CHECK-NEXT: [[V19:%.+]] = arith.minimumf [[V17]], [[V18]] : f64
// CHECK-NEXT: [[V20:%.+]] = arith.subf [[V19]], [[V11]] : f64
// CHECK-NEXT: [[V21:%.+]] = arith.extf [[V6]] : f32 to f64
// CHECK-NEXT: [[V22:%.+]] = arith.mulf [[V20]], [[V21]] : f64
// CHECK-NEXT: [[V23:%.+]] = arith.truncf [[V22]] : f64 to f32
// CHECK-NEXT: [[V24:%.+]] = arith.addf [[V23]], [[V7]] : f32
// CHECK-NEXT: linalg.yield [[V24]] : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<4xf32>
func.func @offset(%x: tensor<4xf32>, %s: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
  %0 = calib.fake_quant %x, %s, %b {method = "lsq_plus"} : tensor<4xf32>, tensor<f32>, tensor<f32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: @range(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf64>, [[V1:%.+]]: tensor<f64>, [[V2:%.+]]: tensor<f64>) -> tensor<4xf64>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]], [[V2]] : tensor<4xf64>, tensor<f64>, tensor<f64>) outs([[V3]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f64, [[V6:%.+]]: f64, [[V7:%.+]]: f64, [[V8:%.+]]: f64):
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V10:%.+]] = arith.minimumf [[V6]], [[V9]] : f64
// CHECK-NEXT: [[V11:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V12:%.+]] = arith.maximumf [[V7]], [[V11]] : f64
// CHECK-NEXT: [[V13:%.+]] = arith.subf [[V12]], [[V10]] : f64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 2.550000e+02 : f64
// CHECK-NEXT: [[V15:%.+]] = arith.divf [[V13]], [[V14]] : f64
// CHECK-NEXT: [[V16:%.+]] = arith.divf [[V10]], [[V15]] : f64
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V18:%.+]] = arith.subf [[V17]], [[V16]] : f64
// CHECK-NEXT: [[V19:%.+]] = math.roundeven [[V18]] : f64
// CHECK-NEXT: [[V20:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V21:%.+]] = arith.maximumf [[V19]], [[V20]] : f64
// CHECK-NEXT: [[V22:%.+]] = arith.constant 2.550000e+02 : f64
// CHECK-NEXT: [[V23:%.+]] = arith.minimumf [[V21]], [[V22]] : f64
// CHECK-NEXT: [[V24:%.+]] = arith.divf [[V5]], [[V15]] : f64
// CHECK-NEXT: [[V25:%.+]] = math.roundeven [[V24]] : f64
// CHECK-NEXT: [[V26:%.+]] = arith.addf [[V25]], [[V23]] : f64
// CHECK-NEXT: [[V27:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V28:%.+]] = arith.maximumf [[V26]], [[V27]] : f64
// CHECK-NEXT: [[V29:%.+]] = arith.constant 2.550000e+02 : f64
// CHECK-NEXT: [[V30:%.+]] = arith.minimumf [[V28]], [[V29]] : f64
// CHECK-NEXT: [[V31:%.+]] = arith.subf [[V30]], [[V23]] : f64
// CHECK-NEXT: [[V32:%.+]] = arith.mulf [[V31]], [[V15]] : f64
// CHECK-NEXT: [[V33:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V34:%.+]] = arith.addf [[V32]], [[V33]] : f64
// CHECK-NEXT: linalg.yield [[V34]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: func.return [[V4]] : tensor<4xf64>
func.func @range(%x: tensor<4xf64>, %a: tensor<f64>, %b: tensor<f64>) -> tensor<4xf64> {
  %0 = calib.fake_quant %x, %a, %b {method = "range", signed = false} : tensor<4xf64>, tensor<f64>, tensor<f64> -> tensor<4xf64>
  func.return %0 : tensor<4xf64>
}

// A norm of integers makes the numbers of its root of the scale, and takes one root for each row.

// CHECK-LABEL: @normalizes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>, [[V1:%.+]]: tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x4xf32>, tensor<f32>) outs([[V2]] : tensor<2x4xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.extf [[V5]] : f32 to f64
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0.00015999999595806003 : f64
// CHECK-NEXT: [[V9:%.+]] = arith.mulf [[V7]], [[V7]] : f64
// CHECK-NEXT: [[V10:%.+]] = arith.divf [[V8]], [[V9]] : f64
// CHECK-NEXT: [[V11:%.+]] = arith.constant 2.601020e+05 : f64
// CHECK-NEXT: [[V12:%.+]] = arith.addf [[V10]], [[V11]] : f64
// CHECK-NEXT: [[V13:%.+]] = arith.bitcast [[V12]] : f64 to i64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 52 : i64
// CHECK-NEXT: [[V15:%.+]] = arith.shrsi [[V13]], [[V14]] : i64
// CHECK-NEXT: [[V16:%.+]] = arith.constant 1023 : i64
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V15]], [[V16]] : i64
// CHECK-NEXT: [[V18:%.+]] = arith.constant 61 : i64
// CHECK-NEXT: [[V19:%.+]] = arith.cmpi sgt, [[V17]], [[V18]] : i64
// CHECK-NEXT: [[V20:%.+]] = arith.constant 61 : i64
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V20]], [[V17]] : i64
// CHECK-NEXT: [[V22:%.+]] = arith.constant -2 : i64
// CHECK-NEXT: [[V23:%.+]] = arith.andi [[V21]], [[V22]] : i64
// CHECK-NEXT: [[V24:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V25:%.+]] = arith.select [[V19]], [[V24]], [[V23]] : i64
// CHECK-NEXT: [[V26:%.+]] = arith.constant 1023 : i64
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V25]], [[V26]] : i64
// CHECK-NEXT: [[V28:%.+]] = arith.constant 52 : i64
// CHECK-NEXT: [[V29:%.+]] = arith.shli [[V27]], [[V28]] : i64
// CHECK-NEXT: [[V30:%.+]] = arith.bitcast [[V29]] : i64 to f64
// CHECK-NEXT: [[V31:%.+]] = arith.mulf [[V10]], [[V30]] : f64
// CHECK-NEXT: [[V32:%.+]] = math.roundeven [[V31]] : f64
// CHECK-NEXT: [[V33:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V34:%.+]] = arith.select [[V19]], [[V33]], [[V32]] : f64
// CHECK-NEXT: [[V35:%.+]] = arith.constant 1 : i64
// CHECK-NEXT: [[V36:%.+]] = arith.shrsi [[V25]], [[V35]] : i64
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1023 : i64
// CHECK-NEXT: [[V38:%.+]] = arith.addi [[V36]], [[V37]] : i64
// CHECK-NEXT: [[V39:%.+]] = arith.constant 52 : i64
// CHECK-NEXT: [[V40:%.+]] = arith.shli [[V38]], [[V39]] : i64
// CHECK-NEXT: [[V41:%.+]] = arith.bitcast [[V40]] : i64 to f64
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V41]] : f64 to f32
// CHECK-NEXT: [[V43:%.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: [[V44:%.+]] = arith.select [[V19]], [[V43]], [[V42]] : f32
// CHECK-NEXT: [[V45:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V46:%.+]] = arith.cmpf ogt, [[V34]], [[V45]] : f64
// CHECK-NEXT: [[V47:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V48:%.+]] = arith.select [[V46]], [[V34]], [[V47]] : f64
// CHECK-NEXT: [[V49:%.+]] = arith.fptosi [[V48]] : f64 to i64
// CHECK-NEXT: [[V50:%.+]] = arith.fptosi [[V4]] : f32 to i32
// CHECK-NEXT: [[V51:%.+]] = arith.muli [[V50]], [[V50]] : i32
// CHECK-NEXT: [[V52:%.+]] = kernel.row_sum [[V51]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V53:%.+]] = arith.extsi [[V52]] : i32 to i64
// CHECK-NEXT: [[V54:%.+]] = arith.constant 4 : i64
// CHECK-NEXT: [[V55:%.+]] = arith.muli [[V54]], [[V53]] : i64
// CHECK-NEXT: [[V56:%.+]] = arith.constant 4 : i32
// CHECK-NEXT: [[V57:%.+]] = arith.muli [[V56]], [[V50]] : i32
// CHECK-NEXT: [[V58:%.+]] = kernel.row_sum [[V50]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V59:%.+]] = arith.extsi [[V58]] : i32 to i64
// CHECK-NEXT: [[V60:%.+]] = arith.extsi [[V58]] : i32 to i64
// CHECK-NEXT: [[V61:%.+]] = arith.muli [[V59]], [[V60]] : i64
// CHECK-NEXT: [[V62:%.+]] = arith.subi [[V55]], [[V61]] : i64
// CHECK-NEXT: [[V63:%.+]] = arith.subi [[V57]], [[V58]] : i32
// CHECK-NEXT: [[V64:%.+]] = arith.shli [[V62]], [[V25]] : i64
// CHECK-NEXT: [[V65:%.+]] = arith.addi [[V64]], [[V49]] : i64
// CHECK-NEXT: [[V66:%.+]] = kernel.reciprocal_root [[V65]]
// CHECK-NEXT: [[V67:%.+]] = arith.mulf [[V66]], [[V44]] : f32
// CHECK-NEXT: [[V68:%.+]] = arith.sitofp [[V63]] : i32 to f32
// CHECK-NEXT: [[V69:%.+]] = arith.mulf [[V68]], [[V67]] : f32
// CHECK-NEXT: linalg.yield [[V69]] : f32
// CHECK-NEXT: } -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2x4xf32>
func.func @normalizes(%x: tensor<2x4xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 8 : i64} : tensor<2x4xf32>, tensor<f32>
  func.return %0 : tensor<2x4xf32>
}
