// RUN: qmlir-opt %s --split-input-file -p 'quant-gptq{data="%S/Inputs/alike.npy"}' 2>&1 | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-gptq{data="%S/Inputs/alike.npy" bits=3}' | filecheck %s --check-prefix=NARROW
// NARROW-NOT: quant.unrounded
// Stored, nothing says any more what the weights were.
// RUN: qmlir-opt %s --split-input-file -p 'quant-gptq{data="%S/Inputs/alike.npy"},quant-store-constants' | filecheck %s --check-prefix=STORED
// STORED: nn.constant dense<{{\[\[}}1, 2]]> : tensor<1x2xi4>
// RUN: not qmlir-opt %s --split-input-file -p quant-gptq 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: 'func.func' op quant-gptq requires samples; pass data, a file or a folder of arrays
// RUN: not qmlir-opt %s --split-input-file -p 'quant-gptq{data="%t.gone.npy"}' 2>&1 | filecheck %s --check-prefix=GONE
// GONE: gone.npy

// Both columns are alike: what one weight loses the other one gains.
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.7]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true}
      : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!quant.uniform<i32:f32, 0.125>> {origin = "fc"}
  %3 = quant.dcast %2 : tensor<?x1x!quant.uniform<i32:f32, 0.125>> to tensor<?x1xf32>
  func.return %3 : tensor<?x1xf32>
}

// -----

// The terms of a convolution are what its windows see: the third row is rounded to what it is.
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32:0, {0.5, 0.25, 0.5}>
!s = !quant.uniform<i32:f32:1, {0.125, 0.0625, 0.125}>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x3x1xf32> {
  %0 = nn.reshape %x : (tensor<?x2xf32>) -> tensor<?x1x2xf32>
  %1 = quant.qcast %0 : tensor<?x1x2xf32> to tensor<?x1x2x!x>
  %w = nn.constant dense<[[[0.7, 0.7]], [[0.35, 0.35]], [[1.0, -0.5]]]> : tensor<3x1x2xf32> {nn.trainable}
  %2 = quant.qcast %w : tensor<3x1x2xf32> to tensor<3x1x2x!w>
  %3 = nn.conv %1, %2 : (tensor<?x1x2x!x>, tensor<3x1x2x!w>) -> tensor<?x3x1x!s> {origin = "conv"}
  %4 = quant.dcast %3 : tensor<?x3x1x!s> to tensor<?x3x1xf32>
  func.return %4 : tensor<?x3x1xf32>
}

// -----

// Two steps read one weight: it is settled by what both multiply it by.
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %n = nn.neg %0 : tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.7]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "one"}
  %3 = nn.matmul %n, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "two"}
  %4 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
  %5 = quant.dcast %3 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %4, %5 : tensor<?x1xf32>, tensor<?x1xf32>
}

// CHECK: {{.*}}quant_gptq.mlir:19:3: remark: 'nn.matmul' op (fc) weights are rounded to minimize the error of its accumulator: error reduced by 12.0 dB
// CHECK-NEXT: [[V0:%.+]] = nn.matmul [[V1:%.+]], [[V2:%.+]] {transpose_b = true}
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}quant_gptq.mlir:36:3: remark: 'nn.conv' op (conv) weights are rounded to minimize the error of its accumulator: error reduced by 12.0 dB
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V2]], [[V0]] : (tensor<?x1x2x!x>, tensor<3x1x2x!w>) -> tensor<?x3x1x!s> {origin = "conv"}
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}quant_gptq.mlir:52:3: remark: 'nn.matmul' op (one) weights are rounded to minimize the error of its accumulator: error reduced by 12.0 dB
// CHECK-NEXT: [[V0]] = nn.matmul [[V1]], [[V2]] {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "one"}
// CHECK-NEXT: ^
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.250000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<?x2xf32> to tensor<?x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00]]> : tensor<1x2xf32> {nn.trainable, quant.unrounded = dense<0.7> : tensor<1x2xf32>}
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V3]] {transpose_b = true} : (tensor<?x2x!q0>, tensor<1x2x!q1>) -> tensor<?x1x!q2> {origin = "fc"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] : tensor<?x1x!q2> to tensor<?x1xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<?x1xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32:0, {5.000000e-01, 2.500000e-01, 5.000000e-01}>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:1, {1.250000e-01, 6.250000e-02, 1.250000e-01}>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x3x1xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] : (tensor<?x2xf32>) -> tensor<?x1x2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<?x1x2xf32> to tensor<?x1x2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}[5.000000e-01, 1.000000e+00]], {{\[\[}}2.500000e-01, 5.000000e-01]], {{\[\[}}1.000000e+00, -5.000000e-01]]]> : tensor<3x1x2xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}[0.7, 0.7]], {{\[\[}}0.35, 0.35]], {{\[\[}}1.000000e+00, -5.000000e-01]]]> : tensor<3x1x2xf32>}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<3x1x2xf32> to tensor<3x1x2x!q1>
// CHECK-NEXT: [[V5:%.+]] = nn.conv [[V2]], [[V4]] : (tensor<?x1x2x!q0>, tensor<3x1x2x!q1>) -> tensor<?x3x1x!q2> {origin = "conv"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] : tensor<?x3x1x!q2> to tensor<?x3x1xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<?x3x1xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.250000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2xf32> {nn.name = "x"}) -> (tensor<?x1xf32>, tensor<?x1xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<?x2xf32> to tensor<?x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.neg [[V1]] : tensor<?x2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00]]> : tensor<1x2xf32> {nn.trainable, quant.unrounded = dense<0.7> : tensor<1x2xf32>}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V1]], [[V4]] {transpose_b = true} : (tensor<?x2x!q0>, tensor<1x2x!q1>) -> tensor<?x1x!q2> {origin = "one"}
// CHECK-NEXT: [[V6:%.+]] = nn.matmul [[V2]], [[V4]] {transpose_b = true} : (tensor<?x2x!q0>, tensor<1x2x!q1>) -> tensor<?x1x!q2> {origin = "two"}
// CHECK-NEXT: [[V7:%.+]] = quant.dcast [[V5]] : tensor<?x1x!q2> to tensor<?x1xf32>
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V6]] : tensor<?x1x!q2> to tensor<?x1xf32>
// CHECK-NEXT: func.return [[V7]], [[V8]] : tensor<?x1xf32>, tensor<?x1xf32>
