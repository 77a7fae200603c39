// RUN: qmlir-opt %s -p quant-simulate,dce | filecheck %s

// With strides of 2 a sum has 1, 2 or 4 of the 9 products of each channel: 300 * 4 * 127 * 127 is above 2^24.
!x = !quant.uniform<i8<-127:127>:f32, 0.5>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!y = !quant.uniform<i8:f32, 2.0>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x300x4x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<300x1x3x3xf32> {nn.name = "w"}) -> (tensor<1x1x9x9xf32> {nn.name = "y"})
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V0]], [[V2]] : (tensor<1x300x4x4xf32>, tensor<f32>) -> tensor<1x300x4x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V5]] : tensor<1x300x4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = calib.straight_through [[V6]] for [[V5]] : tensor<1x300x4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -127.0, maximum = 127.0} : tensor<1x300x4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.div [[V1]], [[V3]] : (tensor<300x1x3x3xf32>, tensor<f32>) -> tensor<300x1x3x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.round [[V9]] : tensor<300x1x3x3xf32>
// CHECK-NEXT: [[V11:%.+]] = calib.straight_through [[V10]] for [[V9]] : tensor<300x1x3x3xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.clip [[V11]] {minimum = -127.0, maximum = 127.0} : tensor<300x1x3x3xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.cast [[V8]] : (tensor<1x300x4x4xf32>) -> tensor<1x300x4x4xf64>
// CHECK-NEXT: [[V14:%.+]] = nn.cast [[V12]] : (tensor<300x1x3x3xf32>) -> tensor<300x1x3x3xf64>
// CHECK-NEXT: [[V15:%.+]] = nn.conv_transpose [[V13]], [[V14]] {strides = [2, 2]} : (tensor<1x300x4x4xf64>, tensor<300x1x3x3xf64>) -> tensor<1x1x9x9xf64>
// CHECK-NEXT: [[V16:%.+]] = nn.mul [[V2]], [[V3]] : tensor<f32>
// CHECK-NEXT: [[V17:%.+]] = nn.div [[V16]], [[V4]] : tensor<f32>
// CHECK-NEXT: [[V18:%.+]] = nn.cast [[V15]] : (tensor<1x1x9x9xf64>) -> tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.mul [[V18]], [[V17]] : (tensor<1x1x9x9xf32>, tensor<f32>) -> tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.round [[V19]] : tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V21:%.+]] = calib.straight_through [[V20]] for [[V19]] : tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V22:%.+]] = nn.clip [[V21]] {minimum = -128.0, maximum = 127.0} : tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V23:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V24:%.+]] = nn.add [[V22]], [[V23]] : (tensor<1x1x9x9xf32>, tensor<f32>) -> tensor<1x1x9x9xf32>
// CHECK-NEXT: [[V25:%.+]] = nn.mul [[V4]], [[V24]] : (tensor<f32>, tensor<1x1x9x9xf32>) -> tensor<1x1x9x9xf32>
// CHECK-NEXT: func.return [[V25]] : tensor<1x1x9x9xf32>
func.func @main(%x: tensor<1x300x4x4xf32> {nn.name = "x"}, %w: tensor<300x1x3x3xf32> {nn.name = "w"}) -> (tensor<1x1x9x9xf32> {nn.name = "y"}) {
  %0 = quant.qcast %x : tensor<1x300x4x4xf32> to tensor<1x300x4x4x!x>
  %1 = quant.qcast %w : tensor<300x1x3x3xf32> to tensor<300x1x3x3x!w>
  %2 = nn.conv_transpose %0, %1 {strides = [2, 2]} : (tensor<1x300x4x4x!x>, tensor<300x1x3x3x!w>) -> tensor<1x1x9x9x!y>
  %3 = quant.dcast %2 : tensor<1x1x9x9x!y> to tensor<1x1x9x9xf32>
  func.return %3 : tensor<1x1x9x9xf32>
}
