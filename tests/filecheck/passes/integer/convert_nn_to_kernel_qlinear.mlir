// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s

// The arithmetic of ONNX Runtime's QLinear operators: sums by fused steps on stored integers, the zero point of a
// product added before it is rounded.
!x = !quant.uniform<i8:f32, 0.5:1>
!y = !quant.uniform<i8:f32, 0.25:-3>
func.func @main(%x: tensor<4x!x>, %y: tensor<4x!y>) -> (tensor<4x!x>, tensor<4x!y>) {
  %0 = nn.add %x, %y {requantize = #kernel.requantize<qlinear>} : (tensor<4x!x>, tensor<4x!y>) -> tensor<4x!x>
  %1 = nn.mul %x, %y {requantize = #kernel.requantize<qlinear>} : (tensor<4x!x>, tensor<4x!y>) -> tensor<4x!y>
  func.return %0, %1 : tensor<4x!x>, tensor<4x!y>
}

// CHECK: #k0 = #kernel.requantize<qlinear>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8>, [[V1:%.+]]: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>)
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V4]] : i8 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V9:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1.500000e+00 : f32
// CHECK-NEXT: [[V11:%.+]] = math.fma [[V8]], [[V9]], [[V10]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[V13:%.+]] = math.fma [[V7]], [[V12]], [[V11]] : f32
// CHECK-NEXT: [[V14:%.+]] = math.roundeven [[V13]] : f32
// CHECK-NEXT: [[V15:%.+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: [[V16:%.+]] = arith.maximumf [[V14]], [[V15]] : f32
// CHECK-NEXT: [[V17:%.+]] = arith.constant 1.270000e+02 : f32
// CHECK-NEXT: [[V18:%.+]] = arith.minimumf [[V16]], [[V17]] : f32
// CHECK-NEXT: [[V19:%.+]] = arith.fptosi [[V18]] : f32 to i32
// CHECK-NEXT: [[V20:%.+]] = arith.trunci [[V19]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V21]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8, [[V25:%.+]]: i8):
// CHECK-NEXT: [[V26:%.+]] = arith.extsi [[V23]] : i8 to i32
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V26]], [[V27]] : i32
// CHECK-NEXT: [[V29:%.+]] = arith.extsi [[V24]] : i8 to i32
// CHECK-NEXT: [[V30:%.+]] = arith.constant -3 : i32
// CHECK-NEXT: [[V31:%.+]] = arith.subi [[V29]], [[V30]] : i32
// CHECK-NEXT: [[V32:%.+]] = arith.muli [[V28]], [[V31]] : i32
// CHECK-NEXT: [[V33:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V34:%.+]] = kernel.requantize [[V32]], [[V33]] {mode = #k0, zero_point = -3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: linalg.yield [[V34]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]], [[V22]] : tensor<4xi8>, tensor<4xi8>
