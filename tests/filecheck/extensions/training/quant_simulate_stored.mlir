// RUN: qmlir-opt %s -p 'quant-simulate' | filecheck %s

// Stored integers that leave the function have their zero points, and the width of their type.

!x = !quant.uniform<u4:f32, 0.5:3>
!c = !quant.uniform<i8:f32:1, {0.5:1, 0.25:-2}>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<3x2xf32> {nn.name = "x"}) -> (tensor<3x2xi4> {nn.name = "a"}, tensor<3x2xi8> {nn.name = "b"})
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "a"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32> {origin = "b"}
// CHECK-NEXT: [[V3:%.+]] = nn.div [[V0]], [[V1]] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32> {origin = "a"}
// CHECK-NEXT: [[V4:%.+]] = nn.round [[V3]] : tensor<3x2xf32> {origin = "a"}
// CHECK-NEXT: [[V5:%.+]] = calib.straight_through [[V4]] for [[V3]] {origin = "a"} : tensor<3x2xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.clip [[V5]] {minimum = -3.0, maximum = 12.0} : tensor<3x2xf32> {origin = "a"}
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V8:%.+]] = nn.add [[V6]], [[V7]] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.cast [[V8]] : (tensor<3x2xf32>) -> tensor<3x2xi4>
// CHECK-NEXT: [[V10:%.+]] = nn.reshape [[V2]] : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "b"}
// CHECK-NEXT: [[V11:%.+]] = nn.div [[V0]], [[V10]] : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32> {origin = "b"}
// CHECK-NEXT: [[V12:%.+]] = nn.round [[V11]] : tensor<3x2xf32> {origin = "b"}
// CHECK-NEXT: [[V13:%.+]] = calib.straight_through [[V12]] for [[V11]] {origin = "b"} : tensor<3x2xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<[-1.290000e+02, -1.260000e+02]> : tensor<2xf32> {origin = "b"}
// CHECK-NEXT: [[V15:%.+]] = nn.constant dense<[1.260000e+02, 1.290000e+02]> : tensor<2xf32> {origin = "b"}
// CHECK-NEXT: [[V16:%.+]] = nn.reshape [[V14]] : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "b"}
// CHECK-NEXT: [[V17:%.+]] = nn.reshape [[V15]] : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "b"}
// CHECK-NEXT: [[V18:%.+]] = nn.max [[V13]], [[V16]] : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32> {origin = "b"}
// CHECK-NEXT: [[V19:%.+]] = nn.min [[V18]], [[V17]] : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32> {origin = "b"}
// CHECK-NEXT: [[V20:%.+]] = nn.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V21:%.+]] = nn.reshape [[V20]] : (tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V22:%.+]] = nn.add [[V19]], [[V21]] : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: [[V23:%.+]] = nn.cast [[V22]] : (tensor<3x2xf32>) -> tensor<3x2xi8>
// CHECK-NEXT: func.return [[V9]], [[V23]] : tensor<3x2xi4>, tensor<3x2xi8>
func.func @main(%x: tensor<3x2xf32> {nn.name = "x"}) -> (tensor<3x2xi4> {nn.name = "a"}, tensor<3x2xi8> {nn.name = "b"}) {
  %0 = quant.qcast %x {origin = "a"} : tensor<3x2xf32> to tensor<3x2x!x>
  %1 = quant.scast %0 : tensor<3x2x!x> to tensor<3x2xi4>
  %2 = quant.qcast %x {origin = "b"} : tensor<3x2xf32> to tensor<3x2x!c>
  %3 = quant.scast %2 : tensor<3x2x!c> to tensor<3x2xi8>
  func.return %1, %3 : tensor<3x2xi4>, tensor<3x2xi8>
}
