// RUN: qmlir-opt %s -p quant-simulate | filecheck %s

// A result that has the scale of its sums has their integers: nothing is rounded.
!x = !quant.uniform<i8:f32, 0.5:-3>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"})
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "in"}
// CHECK-NEXT: [[V2:%.+]] = nn.div [[V0]], [[V1]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "in"}
// CHECK-NEXT: [[V3:%.+]] = nn.round [[V2]] : tensor<2xf32> {origin = "in"}
// CHECK-NEXT: [[V4:%.+]] = calib.straight_through [[V3]] for [[V2]] {origin = "in"} : tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.clip [[V4]] {minimum = -125.0, maximum = 130.0} : tensor<2xf32> {origin = "in"}
// CHECK-NEXT: [[V6:%.+]] = nn.relu [[V5]] : tensor<2xf32> {origin = "relu"}
// CHECK-NEXT: [[V7:%.+]] = nn.clip [[V6]] {minimum = -125.0, maximum = 130.0} : tensor<2xf32> {origin = "relu"}
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V7]], [[V8]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V1]], [[V9]] : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<2xf32>
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
  %0 = quant.qcast %x {origin = "in"} : tensor<2xf32> to tensor<2x!x>
  %1 = nn.relu %0 : tensor<2x!x> {origin = "relu"}
  %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
