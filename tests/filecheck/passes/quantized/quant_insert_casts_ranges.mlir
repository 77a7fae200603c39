// RUN: qmlir-opt %s --inline-weights -p quant-insert-casts 2>&1 | filecheck %s

!x = !quant.calibrated<f32<-1.0:1.0>>
!tiny = !quant.calibrated<f32<-1.0e-8:1.0e-8>>
!zero = !quant.calibrated<f32<0.0:1.0e-45>>

// A range of zeros alone has scale 1.
func.func @degenerate(%z: tensor<2x!zero>) -> tensor<2x!x> {
  %0 = nn.abs %z : (tensor<2x!zero>) -> tensor<2x!x> {origin = "abs1"}
  func.return %0 : tensor<2x!x>
}

// A bias that does not fit the scale of its channel raises it, and a remark says so.
func.func @bias_guard(%x: tensor<1x1x!tiny>) -> tensor<1x2x!x> {
  %w = nn.constant dense<[[0.001], [1000.0]]> : tensor<2x1xf32>
  %b = nn.constant dense<[100.0, 0.0]> : tensor<2xf32>
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x1x!tiny>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2x!x> {origin = "fc1"}
  func.return %0 : tensor<1x2x!x>
}

// CHECK: {{.*}}quant_insert_casts_ranges.mlir:17:3: remark: 'nn.fully_connected' op (fc1) weight scale raised by up to {{.*}} times, so that the bias fits 32 bits
// CHECK-NEXT: [[V0:%.+]] = nn.fully_connected [[V1:%.+]], [[V2:%.+]], [[V3:%.+]] : (tensor<1x1x!tiny>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2x!x> {origin = "fc1"}
// CHECK-NEXT: ^
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 7.84313725077368e-11>
// CHECK-NEXT: !q3 = !quant.uniform<i8<-127:127>:f32, 2374.872802734375>
// CHECK-NEXT: !q4 = !quant.uniform<i32:f32, 1.8626452913395042e-07>
// CHECK-LABEL: @degenerate(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.abs [[V2]] : tensor<2xf32> {origin = "abs1"}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] {origin = "abs1"} : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "abs1"} : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<2xf32>
// CHECK-LABEL: @bias_guard(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1xf32> to tensor<1x1x!q2>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<1x1x!q2> to tensor<1x1xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}0.001], [1.000000e+03]]> : tensor<2x1xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<0> : tensor<2x1xi8> -> tensor<2x1x!q3>
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] : tensor<2x1x!q3> to tensor<2x1xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[1.000000e+02, 0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<[536870880, 0]> : tensor<2xi32> -> tensor<2x!q4>
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] : tensor<2x!q4> to tensor<2xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.fully_connected [[V2]], [[V5]], [[V8]] : (tensor<1x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1"}
// CHECK-NEXT: [[V10:%.+]] = quant.qcast [[V9]] {origin = "fc1"} : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V11:%.+]] = quant.dcast [[V10]] {origin = "fc1"} : tensor<1x2x!q1> to tensor<1x2xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<1x2xf32>
