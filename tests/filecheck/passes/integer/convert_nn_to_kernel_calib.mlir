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
