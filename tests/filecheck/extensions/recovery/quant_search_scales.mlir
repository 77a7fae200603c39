// RUN: qmlir-opt %s --split-input-file -p 'quant-search-scales{data="%S/Inputs/alike.npy"}' | filecheck %s
// RUN: qmlir-opt %s -p 'quant-search-scales{data="%S/Inputs/alike.npy" compensating}' | filecheck %s --check-prefix GPTQ
// RUN: qmlir-opt %s -p 'quant-search-scales{data="%S/Inputs/alike.npy" bits=3}' | filecheck %s --check-prefix FEWER

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4<-7:7>:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[2.5, 0.5]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
  %3 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %3 : tensor<?x1xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i4<-7:7>:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.250000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<?x2xf32> to tensor<?x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}2.500000e+00, 5.000000e-01]]> : tensor<1x2xf32> {nn.trainable}
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V3]] {transpose_b = true} : (tensor<?x2x!q0>, tensor<1x2x!q1>) -> tensor<?x1x!q2> {origin = "fc"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] : tensor<?x1x!q2> to tensor<?x1xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<?x1xf32>

// Both columns are alike: codes of GPTQ give the sum 3 with the first scale, too, with 2 and 1 in place of the nearest
// codes 2 and 0.
// GPTQ: !quant.uniform<i4<-7:7>:f32, 1.000000e+00>

// FEWER: !quant.uniform<i4<-7:7>:f32, 1.000000e+00>
