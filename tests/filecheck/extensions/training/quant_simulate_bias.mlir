// RUN: qmlir-opt %s -p 'quant-simulate' | filecheck %s

// One bias is added to the sums of two steps: both adds are of integers, and none of real values.

!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32, 0.25>
!s = !quant.uniform<i32:f32, 0.125>
!y = !quant.uniform<i16:f32, 0.001>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>, [[V1:%.+]]: tensor<1x2xf32>, [[V2:%.+]]: tensor<2x3xf32>, [[V3:%.+]]: tensor<3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>)
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<0.001> : tensor<f32>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<0.001> : tensor<f32>
// CHECK-NEXT: [[V8:%.+]] = nn.div [[V0]], [[V4]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.round [[V8]] : tensor<1x2xf32>
// CHECK-NEXT: [[V10:%.+]] = calib.straight_through [[V9]] for [[V8]] : tensor<1x2xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.clip [[V10]] {minimum = -128.0, maximum = 127.0} : tensor<1x2xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V1]], [[V4]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.round [[V12]] : tensor<1x2xf32>
// CHECK-NEXT: [[V14:%.+]] = calib.straight_through [[V13]] for [[V12]] : tensor<1x2xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.clip [[V14]] {minimum = -128.0, maximum = 127.0} : tensor<1x2xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.div [[V2]], [[V5]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.round [[V16]] : tensor<2x3xf32>
// CHECK-NEXT: [[V18:%.+]] = calib.straight_through [[V17]] for [[V16]] : tensor<2x3xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.clip [[V18]] {minimum = -128.0, maximum = 127.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.matmul [[V11]], [[V19]] : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V21:%.+]] = nn.mul [[V4]], [[V5]] : tensor<f32>
// CHECK-NEXT: [[V22:%.+]] = nn.div [[V3]], [[V21]] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: [[V23:%.+]] = nn.round [[V22]] : tensor<3xf32>
// CHECK-NEXT: [[V24:%.+]] = calib.straight_through [[V23]] for [[V22]] : tensor<3xf32>
// CHECK-NEXT: [[V25:%.+]] = nn.cast [[V24]] : (tensor<3xf32>) -> tensor<3xf64>
// CHECK-NEXT: [[V26:%.+]] = nn.clip [[V25]] {minimum = -2147483648.0 : f64, maximum = 2147483647.0 : f64} : tensor<3xf64>
// CHECK-NEXT: [[V27:%.+]] = nn.cast [[V20]] : (tensor<1x3xf32>) -> tensor<1x3xf64>
// CHECK-NEXT: [[V28:%.+]] = nn.add [[V27]], [[V26]] : (tensor<1x3xf64>, tensor<3xf64>) -> tensor<1x3xf64>
// CHECK-NEXT: [[V29:%.+]] = nn.div [[V21]], [[V6]] : tensor<f32>
// CHECK-NEXT: [[V30:%.+]] = nn.cast [[V28]] : (tensor<1x3xf64>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V31:%.+]] = nn.mul [[V30]], [[V29]] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V32:%.+]] = nn.round [[V31]] : tensor<1x3xf32>
// CHECK-NEXT: [[V33:%.+]] = calib.straight_through [[V32]] for [[V31]] : tensor<1x3xf32>
// CHECK-NEXT: [[V34:%.+]] = nn.clip [[V33]] {minimum = -32768.0, maximum = 32767.0} : tensor<1x3xf32>
// CHECK-NEXT: [[V35:%.+]] = nn.matmul [[V15]], [[V19]] : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V36:%.+]] = nn.mul [[V4]], [[V5]] : tensor<f32>
// CHECK-NEXT: [[V37:%.+]] = nn.cast [[V35]] : (tensor<1x3xf32>) -> tensor<1x3xf64>
// CHECK-NEXT: [[V38:%.+]] = nn.add [[V37]], [[V26]] : (tensor<1x3xf64>, tensor<3xf64>) -> tensor<1x3xf64>
// CHECK-NEXT: [[V39:%.+]] = nn.div [[V36]], [[V7]] : tensor<f32>
// CHECK-NEXT: [[V40:%.+]] = nn.cast [[V38]] : (tensor<1x3xf64>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V41:%.+]] = nn.mul [[V40]], [[V39]] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V42:%.+]] = nn.round [[V41]] : tensor<1x3xf32>
// CHECK-NEXT: [[V43:%.+]] = calib.straight_through [[V42]] for [[V41]] : tensor<1x3xf32>
// CHECK-NEXT: [[V44:%.+]] = nn.clip [[V43]] {minimum = -32768.0, maximum = 32767.0} : tensor<1x3xf32>
// CHECK-NEXT: [[V45:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V46:%.+]] = nn.add [[V34]], [[V45]] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V47:%.+]] = nn.mul [[V6]], [[V46]] : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V48:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V49:%.+]] = nn.add [[V44]], [[V48]] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V50:%.+]] = nn.mul [[V7]], [[V49]] : (tensor<f32>, tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: func.return [[V47]], [[V50]] : tensor<1x3xf32>, tensor<1x3xf32>
func.func @main(%a: tensor<1x2xf32>, %b: tensor<1x2xf32>, %w: tensor<2x3xf32>, %c: tensor<3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %0 = quant.qcast %a : tensor<1x2xf32> to tensor<1x2x!x>
  %1 = quant.qcast %b : tensor<1x2xf32> to tensor<1x2x!x>
  %2 = quant.qcast %w : tensor<2x3xf32> to tensor<2x3x!w>
  %3 = quant.qcast %c : tensor<3xf32> to tensor<3x!s>
  %4 = nn.matmul %0, %2 : (tensor<1x2x!x>, tensor<2x3x!w>) -> tensor<1x3x!s>
  %5 = nn.add %4, %3 : (tensor<1x3x!s>, tensor<3x!s>) -> tensor<1x3x!y>
  %6 = nn.matmul %1, %2 : (tensor<1x2x!x>, tensor<2x3x!w>) -> tensor<1x3x!s>
  %7 = nn.add %6, %3 : (tensor<1x3x!s>, tensor<3x!s>) -> tensor<1x3x!y>
  %8 = quant.dcast %5 : tensor<1x3x!y> to tensor<1x3xf32>
  %9 = quant.dcast %7 : tensor<1x3x!y> to tensor<1x3xf32>
  func.return %8, %9 : tensor<1x3xf32>, tensor<1x3xf32>
}
