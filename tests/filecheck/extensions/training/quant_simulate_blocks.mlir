// RUN: qmlir-opt %s --split-input-file -p 'quant-simulate{scales=lsq}' | filecheck %s

// Blocks of 2 of the 4 products of each sum, for each channel: each block has an exact sum, which the scale of its
// block takes to f32; they are added in order, the bias last.
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i4:f32:{0:1, 1:2}, {{0.5, 0.25}, {1.0, 2.0}, {4.0, 8.0}}>
!b = !quant.uniform<i32:f32, 0.125>
!y = !quant.uniform<i8:f32, 2.0>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "in"}, [[V1:%.+]]: tensor<3x4xf32> {nn.name = "fc.weight", nn.trainable = dense<1.000000e+00> : tensor<3x4xf32>}, [[V2:%.+]]: tensor<3xf32> {nn.name = "fc.bias", nn.trainable = dense<5.000000e-01> : tensor<3xf32>}, [[V3:%.+]]: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, [[V4:%.+]]: tensor<3x2xf32> {nn.name = "fc.weight.scale", nn.trainable = dense<{{\[\[}}5.000000e-01, 2.500000e-01], [1.000000e+00, 2.000000e+00], [4.000000e+00, 8.000000e+00]]> : tensor<3x2xf32>}, [[V5:%.+]]: tensor<f32> {nn.name = "fc.bias.scale", nn.trainable = dense<1.250000e-01> : tensor<f32>}, [[V6:%.+]]: tensor<f32> {nn.name = "fc.scale", nn.trainable = dense<2.000000e+00> : tensor<f32>}) -> (tensor<2x3xf32> {nn.name = "out"})
// CHECK-NEXT: [[V7:%.+]] = nn.div [[V0]], [[V3]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.round [[V7]] : tensor<2x4xf32>
// CHECK-NEXT: [[V9:%.+]] = calib.straight_through [[V8]] for [[V7]] : tensor<2x4xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.clip [[V9]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.reshape [[V4]] : (tensor<3x2xf32>) -> tensor<3x1x2x1xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V12:%.+]] = nn.expand [[V11]] {shape = [3, 1, 2, 2]} : (tensor<3x1x2x1xf32>) -> tensor<3x1x2x2xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V13:%.+]] = nn.reshape [[V12]] : (tensor<3x1x2x2xf32>) -> tensor<3x4xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V14:%.+]] = nn.div [[V1]], [[V13]] : tensor<3x4xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V15:%.+]] = nn.round [[V14]] : tensor<3x4xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V16:%.+]] = calib.straight_through [[V15]] for [[V14]] {origin = "fc.weight"} : tensor<3x4xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.constant dense<-8.000000e+00> : tensor<f32> {origin = "fc.weight"}
// CHECK-NEXT: [[V18:%.+]] = nn.constant dense<7.000000e+00> : tensor<f32> {origin = "fc.weight"}
// CHECK-NEXT: [[V19:%.+]] = nn.max [[V16]], [[V17]] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V20:%.+]] = nn.min [[V19]], [[V18]] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V21:%.+]] = nn.div [[V2]], [[V5]] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32> {origin = "fc.bias"}
// CHECK-NEXT: [[V22:%.+]] = nn.round [[V21]] : tensor<3xf32> {origin = "fc.bias"}
// CHECK-NEXT: [[V23:%.+]] = calib.straight_through [[V22]] for [[V21]] {origin = "fc.bias"} : tensor<3xf32>
// CHECK-NEXT: [[V24:%.+]] = nn.cast [[V23]] : (tensor<3xf32>) -> tensor<3xf64> {origin = "fc.bias"}
// CHECK-NEXT: [[V25:%.+]] = nn.clip [[V24]] {minimum = -2147483648.0 : f64, maximum = 2147483647.0 : f64} : tensor<3xf64> {origin = "fc.bias"}
// CHECK-NEXT: [[V26:%.+]] = nn.reshape [[V4]] : (tensor<3x2xf32>) -> tensor<3x1x2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V27:%.+]] = nn.expand [[V26]] {shape = [3, 1, 2, 2]} : (tensor<3x1x2x1xf32>) -> tensor<3x1x2x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V28:%.+]] = nn.reshape [[V27]] : (tensor<3x1x2x2xf32>) -> tensor<3x4xf32> {origin = "fc"}
// CHECK-NEXT: [[V29:%.+]] = nn.slice [[V10]] {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<2x4xf32>) -> tensor<2x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V30:%.+]] = nn.slice [[V20]] {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<3x4xf32>) -> tensor<3x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V31:%.+]] = nn.fully_connected [[V29]], [[V30]] : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V32:%.+]] = nn.slice [[V28]] {starts = [0], ends = [1], axes = [1], steps = [1]} : (tensor<3x4xf32>) -> tensor<3x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V33:%.+]] = nn.reshape [[V32]] : (tensor<3x1xf32>) -> tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V34:%.+]] = nn.reshape [[V33]] : (tensor<3xf32>) -> tensor<1x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V35:%.+]] = nn.mul [[V3]], [[V34]] : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V36:%.+]] = nn.mul [[V35]], [[V31]] : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V37:%.+]] = nn.slice [[V10]] {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<2x4xf32>) -> tensor<2x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V38:%.+]] = nn.slice [[V20]] {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<3x4xf32>) -> tensor<3x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V39:%.+]] = nn.fully_connected [[V37]], [[V38]] : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V40:%.+]] = nn.slice [[V28]] {starts = [2], ends = [3], axes = [1], steps = [1]} : (tensor<3x4xf32>) -> tensor<3x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V41:%.+]] = nn.reshape [[V40]] : (tensor<3x1xf32>) -> tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V42:%.+]] = nn.reshape [[V41]] : (tensor<3xf32>) -> tensor<1x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V43:%.+]] = nn.mul [[V3]], [[V42]] : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V44:%.+]] = nn.mul [[V43]], [[V39]] : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V45:%.+]] = nn.add [[V36]], [[V44]] : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V46:%.+]] = nn.cast [[V25]] : (tensor<3xf64>) -> tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V47:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "fc"}
// CHECK-NEXT: [[V48:%.+]] = nn.add [[V46]], [[V47]] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V49:%.+]] = nn.mul [[V5]], [[V48]] : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V50:%.+]] = nn.reshape [[V49]] : tensor<3xf32> {origin = "fc"}
// CHECK-NEXT: [[V51:%.+]] = nn.reshape [[V50]] : (tensor<3xf32>) -> tensor<1x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V52:%.+]] = nn.add [[V45]], [[V51]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V53:%.+]] = nn.div [[V52]], [[V6]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V54:%.+]] = nn.round [[V53]] : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V55:%.+]] = calib.straight_through [[V54]] for [[V53]] {origin = "fc"} : tensor<2x3xf32>
// CHECK-NEXT: [[V56:%.+]] = nn.clip [[V55]] {minimum = -128.0, maximum = 127.0} : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V57:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V58:%.+]] = nn.add [[V56]], [[V57]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V59:%.+]] = nn.mul [[V6]], [[V58]] : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V59]] : tensor<2x3xf32>
// CHECK: // -----
func.func @main(%x: tensor<2x4xf32> {nn.name = "in"}) -> (tensor<2x3xf32> {nn.name = "out"}) {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!x>
  %w = nn.constant dense<1.0> : tensor<3x4xf32> {origin = "fc.weight", nn.trainable}
  %1 = quant.qcast %w {origin = "fc.weight"} : tensor<3x4xf32> to tensor<3x4x!w>
  %b = nn.constant dense<0.5> : tensor<3xf32> {origin = "fc.bias", nn.trainable}
  %2 = quant.qcast %b {origin = "fc.bias"} : tensor<3xf32> to tensor<3x!b>
  %3 = nn.fully_connected %0, %1, %2 : (tensor<2x4x!x>, tensor<3x4x!w>, tensor<3x!b>) -> tensor<2x3x!y> {origin = "fc"}
  %4 = quant.dcast %3 : tensor<2x3x!y> to tensor<2x3xf32>
  func.return %4 : tensor<2x3xf32>
}

// -----

// One scale for all channels of a block of rows.
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32:{0:2}, {{0.5}, {0.25}}>
!y = !quant.uniform<i8:f32, 2.0>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "in"}, [[V1:%.+]]: tensor<4x3xf32> {nn.name = "w"}, [[V2:%.+]]: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, [[V3:%.+]]: tensor<2x1xf32> {nn.name = "w.scale", nn.trainable = dense<{{\[\[}}5.000000e-01], [2.500000e-01]]> : tensor<2x1xf32>}, [[V4:%.+]]: tensor<f32> {nn.name = "fc.scale", nn.trainable = dense<2.000000e+00> : tensor<f32>}) -> (tensor<2x3xf32> {nn.name = "out"})
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V0]], [[V2]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V5]] : tensor<2x4xf32>
// CHECK-NEXT: [[V7:%.+]] = calib.straight_through [[V6]] for [[V5]] : tensor<2x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V3]] : (tensor<2x1xf32>) -> tensor<2x1x1x1xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.expand [[V9]] {shape = [2, 2, 1, 1]} : (tensor<2x1x1x1xf32>) -> tensor<2x2x1x1xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.reshape [[V10]] : (tensor<2x2x1x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V1]], [[V11]] : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.round [[V12]] : tensor<4x3xf32>
// CHECK-NEXT: [[V14:%.+]] = calib.straight_through [[V13]] for [[V12]] : tensor<4x3xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.constant dense<-1.280000e+02> : tensor<f32>
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<1.270000e+02> : tensor<f32>
// CHECK-NEXT: [[V17:%.+]] = nn.max [[V14]], [[V15]] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.min [[V17]], [[V16]] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.reshape [[V3]] : (tensor<2x1xf32>) -> tensor<2x1x1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V20:%.+]] = nn.expand [[V19]] {shape = [2, 2, 1, 1]} : (tensor<2x1x1x1xf32>) -> tensor<2x2x1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V21:%.+]] = nn.reshape [[V20]] : (tensor<2x2x1x1xf32>) -> tensor<4x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V22:%.+]] = nn.slice [[V8]] {starts = [0], ends = [2], axes = [1], steps = [1]} : (tensor<2x4xf32>) -> tensor<2x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V23:%.+]] = nn.slice [[V18]] {starts = [0], ends = [2], axes = [0], steps = [1]} : (tensor<4x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V24:%.+]] = nn.matmul [[V22]], [[V23]] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V25:%.+]] = nn.slice [[V21]] {starts = [0], ends = [1], axes = [0], steps = [1]} : (tensor<4x1xf32>) -> tensor<1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V26:%.+]] = nn.mul [[V2]], [[V25]] : (tensor<f32>, tensor<1x1xf32>) -> tensor<1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V27:%.+]] = nn.mul [[V26]], [[V24]] : (tensor<1x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V28:%.+]] = nn.slice [[V8]] {starts = [2], ends = [4], axes = [1], steps = [1]} : (tensor<2x4xf32>) -> tensor<2x2xf32> {origin = "fc"}
// CHECK-NEXT: [[V29:%.+]] = nn.slice [[V18]] {starts = [2], ends = [4], axes = [0], steps = [1]} : (tensor<4x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V30:%.+]] = nn.matmul [[V28]], [[V29]] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V31:%.+]] = nn.slice [[V21]] {starts = [2], ends = [3], axes = [0], steps = [1]} : (tensor<4x1xf32>) -> tensor<1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V32:%.+]] = nn.mul [[V2]], [[V31]] : (tensor<f32>, tensor<1x1xf32>) -> tensor<1x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V33:%.+]] = nn.mul [[V32]], [[V30]] : (tensor<1x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V34:%.+]] = nn.add [[V27]], [[V33]] : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V35:%.+]] = nn.div [[V34]], [[V4]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V36:%.+]] = nn.round [[V35]] : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V37:%.+]] = calib.straight_through [[V36]] for [[V35]] {origin = "fc"} : tensor<2x3xf32>
// CHECK-NEXT: [[V38:%.+]] = nn.clip [[V37]] {minimum = -128.0, maximum = 127.0} : tensor<2x3xf32> {origin = "fc"}
// CHECK-NEXT: [[V39:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V40:%.+]] = nn.add [[V38]], [[V39]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V41:%.+]] = nn.mul [[V4]], [[V40]] : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V41]] : tensor<2x3xf32>
func.func @main(%x: tensor<2x4xf32> {nn.name = "in"}, %w: tensor<4x3xf32> {nn.name = "w"}) -> (tensor<2x3xf32> {nn.name = "out"}) {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!x>
  %1 = quant.qcast %w : tensor<4x3xf32> to tensor<4x3x!w>
  %2 = nn.matmul %0, %1 : (tensor<2x4x!x>, tensor<4x3x!w>) -> tensor<2x3x!y> {origin = "fc"}
  %3 = quant.dcast %2 : tensor<2x3x!y> to tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}
