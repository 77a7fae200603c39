// RUN: qmlir-opt %s --split-input-file -p quant-simulate | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-simulate{scales=lsq}' | filecheck %s --check-prefix=LSQ
// RUN: qmlir-opt %s --split-input-file -p 'quant-simulate{scales=tqt only="in.*"}' | filecheck %s --check-prefix=TQT

// A layer: the integers of the data without their zero point, those of the weights, and of the bias in steps of the
// sums; then the product with f32(s / s_y), and the limits of the result without its zero point.
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!b = !quant.uniform<i32:f32, 0.125>
!y = !quant.uniform<u8:f32, 2.0:4>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "in"}, [[V1:%.+]]: tensor<1x3xf32> {nn.name = "fc.weight", nn.trainable = dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00]]> : tensor<1x3xf32>}, [[V2:%.+]]: tensor<1xf32> {nn.name = "fc.bias", nn.trainable = dense<[5.000000e-01]> : tensor<1xf32>}) -> (tensor<2x1xf32> {nn.name = "out"})
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<2.500000e-01> : tensor<f32> {origin = "fc.weight"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32> {origin = "fc"}
// CHECK-NEXT: [[V6:%.+]] = nn.div [[V0]], [[V3]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.round [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = calib.straight_through [[V7]] for [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.clip [[V8]] {minimum = -125.0, maximum = 130.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.div [[V1]], [[V4]] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V11:%.+]] = nn.round [[V10]] : tensor<1x3xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V12:%.+]] = calib.straight_through [[V11]] for [[V10]] {origin = "fc.weight"} : tensor<1x3xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.clip [[V12]] {minimum = -127.0, maximum = 127.0} : tensor<1x3xf32> {origin = "fc.weight"}
// CHECK-NEXT: [[V14:%.+]] = nn.fully_connected [[V9]], [[V13]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V15:%.+]] = nn.mul [[V3]], [[V4]] : tensor<f32> {origin = "fc"}
// CHECK-NEXT: [[V16:%.+]] = nn.cast [[V14]] : (tensor<2x1xf32>) -> tensor<2x1xf64> {origin = "fc"}
// CHECK-NEXT: [[V17:%.+]] = nn.div [[V2]], [[V15]] : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32> {origin = "fc"}
// CHECK-NEXT: [[V18:%.+]] = nn.round [[V17]] : tensor<1xf32> {origin = "fc"}
// CHECK-NEXT: [[V19:%.+]] = calib.straight_through [[V18]] for [[V17]] {origin = "fc"} : tensor<1xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.cast [[V19]] : (tensor<1xf32>) -> tensor<1xf64> {origin = "fc"}
// CHECK-NEXT: [[V21:%.+]] = nn.clip [[V20]] {minimum = -2147483648.0 : f64, maximum = 2147483647.0 : f64} : tensor<1xf64> {origin = "fc"}
// CHECK-NEXT: [[V22:%.+]] = nn.reshape [[V21]] : (tensor<1xf64>) -> tensor<1x1xf64> {origin = "fc"}
// CHECK-NEXT: [[V23:%.+]] = nn.add [[V16]], [[V22]] : (tensor<2x1xf64>, tensor<1x1xf64>) -> tensor<2x1xf64> {origin = "fc"}
// CHECK-NEXT: [[V24:%.+]] = nn.div [[V15]], [[V5]] : tensor<f32> {origin = "fc"}
// CHECK-NEXT: [[V25:%.+]] = nn.cast [[V23]] : (tensor<2x1xf64>) -> tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V26:%.+]] = nn.mul [[V25]], [[V24]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V27:%.+]] = nn.round [[V26]] : tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V28:%.+]] = calib.straight_through [[V27]] for [[V26]] {origin = "fc"} : tensor<2x1xf32>
// CHECK-NEXT: [[V29:%.+]] = nn.clip [[V28]] {minimum = -4.0, maximum = 251.0} : tensor<2x1xf32> {origin = "fc"}
// CHECK-NEXT: [[V30:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V31:%.+]] = nn.add [[V29]], [[V30]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V32:%.+]] = nn.mul [[V5]], [[V31]] : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: func.return [[V32]] : tensor<2x1xf32>
// CHECK: // -----
func.func @main(%x: tensor<2x3xf32> {nn.name = "in"}) -> (tensor<2x1xf32> {nn.name = "out"}) {
  %0 = quant.qcast %x : tensor<2x3xf32> to tensor<2x3x!x>
  %w = nn.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32> {origin = "fc.weight", nn.trainable}
  %1 = quant.qcast %w {origin = "fc.weight"} : tensor<1x3xf32> to tensor<1x3x!w>
  %b = nn.constant dense<0.5> : tensor<1xf32> {origin = "fc.bias", nn.trainable}
  %2 = quant.qcast %b {origin = "fc.bias"} : tensor<1xf32> to tensor<1x!b>
  %3 = nn.fully_connected %0, %1, %2 : (tensor<2x3x!x>, tensor<1x3x!w>, tensor<1x!b>) -> tensor<2x1x!y> {origin = "fc"}
  %4 = quant.dcast %3 : tensor<2x1x!y> to tensor<2x1xf32>
  func.return %4 : tensor<2x1xf32>
}

// LSQ: func.func @main(%x: tensor<2x3xf32> {nn.name = "in"}, %fc.weight: tensor<1x3xf32> {nn.name = "fc.weight", nn.trainable = dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00{{\]\]}}> : tensor<1x3xf32>}, %fc.bias: tensor<1xf32> {nn.name = "fc.bias", nn.trainable = dense<[5.000000e-01]> : tensor<1xf32>}, %in.scale: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, %fc.weight.scale: tensor<f32> {nn.name = "fc.weight.scale", nn.trainable = dense<2.500000e-01> : tensor<f32>}, %fc.scale: tensor<f32> {nn.name = "fc.scale", nn.trainable = dense<2.000000e+00> : tensor<f32>}) -> (tensor<2x1xf32> {nn.name = "out"}) {

// TQT: func.func @main(%x: tensor<2x3xf32> {nn.name = "in"}, %in.log2_threshold: tensor<f32> {nn.name = "in.log2_threshold", nn.trainable = dense<6.000000e+00> : tensor<f32>}) -> (tensor<2x1xf32> {nn.name = "out"}) {
// TQT: [[V0:%.+]] = nn.ceil %in.log2_threshold : tensor<f32>
// TQT: [[V3:%.+]] = nn.pow %2, %1 : tensor<f32>

// -----

// Different scales are added in floats, a mean is taken of exact sums, what is moved keeps its integers.
!a = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i8:f32, 0.75>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "in"}) -> (tensor<4x1xf32> {nn.name = "out"})
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<7.500000e-01> : tensor<f32> {origin = "s"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "sum"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<7.500000e-01> : tensor<f32> {origin = "mean"}
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V0]], [[V1]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V5]] : tensor<2x4xf32>
// CHECK-NEXT: [[V7:%.+]] = calib.straight_through [[V6]] for [[V5]] : tensor<2x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "s"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V8]], [[V9]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V11:%.+]] = nn.mul [[V1]], [[V10]] : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V12:%.+]] = nn.sigmoid [[V11]] : tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V13:%.+]] = nn.div [[V12]], [[V2]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V14:%.+]] = nn.round [[V13]] : tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V15:%.+]] = calib.straight_through [[V14]] for [[V13]] {origin = "s"} : tensor<2x4xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.clip [[V15]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32> {origin = "s"}
// CHECK-NEXT: [[V17:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "sum"}
// CHECK-NEXT: [[V18:%.+]] = nn.add [[V8]], [[V17]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V19:%.+]] = nn.mul [[V1]], [[V18]] : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V20:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "sum"}
// CHECK-NEXT: [[V21:%.+]] = nn.add [[V16]], [[V20]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V22:%.+]] = nn.mul [[V2]], [[V21]] : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V23:%.+]] = nn.add [[V19]], [[V22]] : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V24:%.+]] = nn.div [[V23]], [[V3]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V25:%.+]] = nn.round [[V24]] : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V26:%.+]] = calib.straight_through [[V25]] for [[V24]] {origin = "sum"} : tensor<2x4xf32>
// CHECK-NEXT: [[V27:%.+]] = nn.clip [[V26]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V28:%.+]] = nn.add [[V8]], [[V16]] : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V29:%.+]] = nn.div [[V1]], [[V3]] : tensor<f32> {origin = "sum"}
// CHECK-NEXT: [[V30:%.+]] = nn.mul [[V28]], [[V29]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V31:%.+]] = nn.round [[V30]] : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V32:%.+]] = calib.straight_through [[V31]] for [[V30]] {origin = "sum"} : tensor<2x4xf32>
// CHECK-NEXT: [[V33:%.+]] = nn.clip [[V32]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V34:%.+]] = nn.equal [[V1]], [[V2]] : (tensor<f32>, tensor<f32>) -> tensor<i1> {origin = "sum"}
// CHECK-NEXT: [[V35:%.+]] = nn.where [[V34]], [[V33]], [[V27]] : (tensor<i1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> {origin = "sum"}
// CHECK-NEXT: [[V36:%.+]] = nn.transpose [[V35]] {permutation = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32> {origin = "t"}
// CHECK-NEXT: [[V37:%.+]] = nn.cast [[V36]] : (tensor<4x2xf32>) -> tensor<4x2xf64> {origin = "mean"}
// CHECK-NEXT: [[V38:%.+]] = nn.reduce_mean [[V37]] {axes = [1]} : (tensor<4x2xf64>) -> tensor<4x1xf64> {origin = "mean"}
// CHECK-NEXT: [[V39:%.+]] = nn.constant dense<2.000000e+00> : tensor<f64> {origin = "mean"}
// CHECK-NEXT: [[V40:%.+]] = nn.mul [[V38]], [[V39]] : (tensor<4x1xf64>, tensor<f64>) -> tensor<4x1xf64> {origin = "mean"}
// CHECK-NEXT: [[V41:%.+]] = nn.round [[V40]] : tensor<4x1xf64> {origin = "mean"}
// CHECK-NEXT: [[V42:%.+]] = calib.straight_through [[V41]] for [[V40]] {origin = "mean"} : tensor<4x1xf64>
// CHECK-NEXT: [[V43:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32> {origin = "mean"}
// CHECK-NEXT: [[V44:%.+]] = nn.mul [[V4]], [[V43]] : tensor<f32> {origin = "mean"}
// CHECK-NEXT: [[V45:%.+]] = nn.div [[V3]], [[V44]] : tensor<f32> {origin = "mean"}
// CHECK-NEXT: [[V46:%.+]] = nn.cast [[V42]] : (tensor<4x1xf64>) -> tensor<4x1xf32> {origin = "mean"}
// CHECK-NEXT: [[V47:%.+]] = nn.mul [[V46]], [[V45]] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32> {origin = "mean"}
// CHECK-NEXT: [[V48:%.+]] = nn.round [[V47]] : tensor<4x1xf32> {origin = "mean"}
// CHECK-NEXT: [[V49:%.+]] = calib.straight_through [[V48]] for [[V47]] {origin = "mean"} : tensor<4x1xf32>
// CHECK-NEXT: [[V50:%.+]] = nn.clip [[V49]] {minimum = -128.0, maximum = 127.0} : tensor<4x1xf32> {origin = "mean"}
// CHECK-NEXT: [[V51:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V52:%.+]] = nn.add [[V50]], [[V51]] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V53:%.+]] = nn.mul [[V4]], [[V52]] : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: func.return [[V53]] : tensor<4x1xf32>
func.func @main(%x: tensor<2x4xf32> {nn.name = "in"}) -> (tensor<4x1xf32> {nn.name = "out"}) {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!a>
  %1 = nn.sigmoid %0 : (tensor<2x4x!a>) -> tensor<2x4x!c> {origin = "s"}
  %2 = nn.add %0, %1 : (tensor<2x4x!a>, tensor<2x4x!c>) -> tensor<2x4x!a> {origin = "sum"}
  %3 = nn.transpose %2 {permutation = [1, 0]} : (tensor<2x4x!a>) -> tensor<4x2x!a> {origin = "t"}
  %4 = nn.reduce_mean %3 {axes = [1]} : (tensor<4x2x!a>) -> tensor<4x1x!c> {origin = "mean"}
  %5 = quant.dcast %4 : tensor<4x1x!c> to tensor<4x1xf32>
  func.return %5 : tensor<4x1xf32>
}

// LSQ: func.func @main(%x: tensor<2x4xf32> {nn.name = "in"}, %in.scale: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, %s.scale: tensor<f32> {nn.name = "s.scale", nn.trainable = dense<7.500000e-01> : tensor<f32>}, %sum.scale: tensor<f32> {nn.name = "sum.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, %mean.scale: tensor<f32> {nn.name = "mean.scale", nn.trainable = dense<7.500000e-01> : tensor<f32>}) -> (tensor<4x1xf32> {nn.name = "out"}) {

// TQT: func.func @main(%x: tensor<2x4xf32> {nn.name = "in"}, %in.log2_threshold: tensor<f32> {nn.name = "in.log2_threshold", nn.trainable = dense<6.000000e+00> : tensor<f32>}) -> (tensor<4x1xf32> {nn.name = "out"}) {
// TQT: [[V0:%.+]] = nn.ceil %in.log2_threshold : tensor<f32>
// TQT: [[V3:%.+]] = nn.pow %2, %1 : tensor<f32>
