// RUN: qmlir-opt %s --split-input-file -p 'quant-correct-bias{data="%S/Inputs/alike.npy"}' | filecheck %s

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.75, 0.5]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
  %b = nn.constant dense<0.0> : tensor<1xf32> {nn.trainable}
  %3 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
  %4 = nn.add %2, %3 : (tensor<?x1x!s>, tensor<1x!s>) -> tensor<?x1x!s> {origin = "fc"}
  %5 = quant.dcast %4 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %5 : tensor<?x1xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.250000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<?x2xf32> to tensor<?x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}7.500000e-01, 5.000000e-01]]> : tensor<1x2xf32> {nn.trainable}
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V3]] {transpose_b = true} : (tensor<?x2x!q0>, tensor<1x2x!q1>) -> tensor<?x1x!q2> {origin = "fc"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<[-1.250000e-01]> : tensor<1xf32> {nn.trainable, quant.unrounded = dense<[0.000000e+00]> : tensor<1xf32>}
// CHECK-NEXT: [[V6:%.+]] = quant.qcast [[V5]] : tensor<1xf32> to tensor<1x!q2>
// CHECK-NEXT: [[V7:%.+]] = nn.add [[V4]], [[V6]] : (tensor<?x1x!q2>, tensor<1x!q2>) -> tensor<?x1x!q2> {origin = "fc"}
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] : tensor<?x1x!q2> to tensor<?x1xf32>
// CHECK-NEXT: func.return [[V8]] : tensor<?x1xf32>
