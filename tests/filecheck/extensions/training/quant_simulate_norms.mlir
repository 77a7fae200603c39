// RUN: qmlir-opt %s --split-input-file -p 'quant-simulate{scales=lsq}' | filecheck %s

// A norm on integers takes them, and the scale that it has in a run; its own scale and bias come after it, in f32.
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.25>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<4xf32> {nn.name = "g"}, [[V2:%.+]]: tensor<4xf32> {nn.name = "b"}, [[V3:%.+]]: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, [[V4:%.+]]: tensor<f32> {nn.name = "nn.layer_norm.scale", nn.trainable = dense<2.500000e-01> : tensor<f32>}) -> (tensor<2x4xf32> {nn.name = "y"})
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V0]], [[V3]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> {origin = "in"}
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V5]] : tensor<2x4xf32> {origin = "in"}
// CHECK-NEXT: [[V7:%.+]] = calib.straight_through [[V6]] for [[V5]] {origin = "in"} : tensor<2x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -125.0, maximum = 130.0} : tensor<2x4xf32> {origin = "in"}
// CHECK-NEXT: [[V9:%.+]] = calib.row_norm [[V8]] by [[V3]] {axis = 1 : i64, bits = 8 : i64} : tensor<2x4xf32>, tensor<f32>
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V9]], [[V1]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.add [[V10]], [[V2]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V11]], [[V4]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.round [[V12]] : tensor<2x4xf32>
// CHECK-NEXT: [[V14:%.+]] = calib.straight_through [[V13]] for [[V12]] : tensor<2x4xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.clip [[V14]] {minimum = -128.0, maximum = 127.0} : tensor<2x4xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V17:%.+]] = nn.add [[V15]], [[V16]] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.mul [[V4]], [[V17]] : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[V18]] : tensor<2x4xf32>
// CHECK: // -----
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g"}, %b: tensor<4xf32> {nn.name = "b"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  %0 = quant.qcast %x {origin = "in"} : tensor<2x4xf32> to tensor<2x4x!x>
  %1 = nn.layer_norm %0, %g, %b : (tensor<2x4x!x>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x!y>
  %2 = quant.dcast %1 : tensor<2x4x!y> to tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}

// -----

// Groups of channels are an axis of their own.
!x = !quant.uniform<i16:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.25>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4x3xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<4xf32> {nn.name = "g"}, [[V2:%.+]]: tensor<4xf32> {nn.name = "b"}, [[V3:%.+]]: tensor<f32> {nn.name = "in.scale", nn.trainable = dense<5.000000e-01> : tensor<f32>}, [[V4:%.+]]: tensor<f32> {nn.name = "nn.group_norm.scale", nn.trainable = dense<2.500000e-01> : tensor<f32>}) -> (tensor<2x4x3xf32> {nn.name = "y"})
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V0]], [[V3]] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32> {origin = "in"}
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V5]] : tensor<2x4x3xf32> {origin = "in"}
// CHECK-NEXT: [[V7:%.+]] = calib.straight_through [[V6]] for [[V5]] {origin = "in"} : tensor<2x4x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -32768.0, maximum = 32767.0} : tensor<2x4x3xf32> {origin = "in"}
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V1]] : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.reshape [[V2]] : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.reshape [[V8]] : (tensor<2x4x3xf32>) -> tensor<2x2x2x3xf32>
// CHECK-NEXT: [[V12:%.+]] = calib.row_norm [[V11]] by [[V3]] {axis = 2 : i64, bits = 16 : i64, epsilon = 5.000000e-01 : f32} : tensor<2x2x2x3xf32>, tensor<f32>
// CHECK-NEXT: [[V13:%.+]] = nn.reshape [[V12]] : (tensor<2x2x2x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V13]], [[V9]] : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V14]], [[V10]] : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.div [[V15]], [[V4]] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.round [[V16]] : tensor<2x4x3xf32>
// CHECK-NEXT: [[V18:%.+]] = calib.straight_through [[V17]] for [[V16]] : tensor<2x4x3xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.clip [[V18]] {minimum = -128.0, maximum = 127.0} : tensor<2x4x3xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V21:%.+]] = nn.add [[V19]], [[V20]] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V22:%.+]] = nn.mul [[V4]], [[V21]] : (tensor<f32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: func.return [[V22]] : tensor<2x4x3xf32>
func.func @main(%x: tensor<2x4x3xf32> {nn.name = "x"}, %g: tensor<4xf32> {nn.name = "g"}, %b: tensor<4xf32> {nn.name = "b"}) -> (tensor<2x4x3xf32> {nn.name = "y"}) {
  %0 = quant.qcast %x {origin = "in"} : tensor<2x4x3xf32> to tensor<2x4x3x!x>
  %1 = nn.group_norm %0, %g, %b {groups = 2 : i64, epsilon = 0.5 : f32} : (tensor<2x4x3x!x>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x!y>
  %2 = quant.dcast %1 : tensor<2x4x3x!y> to tensor<2x4x3xf32>
  func.return %2 : tensor<2x4x3xf32>
}
