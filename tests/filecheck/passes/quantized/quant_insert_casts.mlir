// RUN: qmlir-opt %s --inline-weights -p quant-insert-casts | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-insert-casts,quant-insert-casts' -o %t.twice && qmlir-opt %s --inline-weights -p quant-insert-casts | diff %t.twice -
// RUN: qmlir-opt %s --inline-weights -p 'quant-insert-casts{granularity=channel weights=i4 weight_scheme=asymmetric}' | filecheck %s --check-prefix=CHANNEL
// RUN: qmlir-opt %s --inline-weights -p 'quant-insert-casts{granularity=block:2 weights=i2<-1:1> activations=u8 scheme=symmetric}' | filecheck %s --check-prefix=BLOCK
// RUN: qmlir-opt %s --inline-weights -p 'quant-insert-casts{recipe="%S/Inputs/recipe.toml"}' | filecheck %s --check-prefix=RECIPE

!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-2.0:6.0>>

// Computed values are seen rounded by all; a value from elsewhere only by those that compute on quantized values.
func.func @users(%x: tensor<2x!x>) -> (tensor<2x!y>, tensor<2x!x>) {
  %0 = nn.abs %x : (tensor<2x!x>) -> tensor<2x!y> {origin = "abs1"}
  %1 = nn.pow %0, %x : (tensor<2x!y>, tensor<2x!x>) -> tensor<2x!y> {origin = "pow1"}
  func.return %1, %x : tensor<2x!y>, tensor<2x!x>
}

// One weight of two layers, tied, and once in float.
func.func @tied(%x: tensor<2x4x!x>) -> (tensor<2x4x!y>, tensor<4x4x!y>) {
  %w = nn.constant dense<[[1.0, 0.5, 0.0, 0.0], [-1.0, 0.25, 0.0, 0.125], [0.0, 2.0, 0.0, 1.0], [0.5, 0.0, 4.0, 0.0]]> : tensor<4x4xf32> {origin = "w"}
  %0 = nn.matmul %x, %w : (tensor<2x4x!x>, tensor<4x4xf32>) -> tensor<2x4x!y> {origin = "fc1", role = "matmul"}
  %1 = nn.matmul %0, %w {transpose_b = true} : (tensor<2x4x!y>, tensor<4x4xf32>) -> tensor<2x4x!y> {origin = "fc2", role = "matmul"}
  %2 = nn.add %1, %1 : (tensor<2x4x!y>, tensor<2x4x!y>) -> tensor<2x4x!y> {origin = "fc2", role = "bias_add"}
  %3 = nn.relu %2 : tensor<2x4x!y> {origin = "head"}
  %4 = nn.pow %w, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4x!y> {origin = "pow2"}
  func.return %3, %4 : tensor<2x4x!y>, tensor<4x4x!y>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 0.0313725508749485:-64>
// CHECK-NEXT: !q2 = !quant.uniform<i8<-127:127>:f32, 0.031496062874794006>
// CHECK-NEXT: !q3 = !quant.uniform<i32:f32, 0.0009881118312478065>
// CHECK-LABEL: @users(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.abs [[V2]] : tensor<2xf32> {origin = "abs1"}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] {origin = "abs1"} : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "abs1"} : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.pow [[V5]], [[V0]] : tensor<2xf32> {origin = "pow1"}
// CHECK-NEXT: func.return [[V6]], [[V0]] : tensor<2xf32>, tensor<2xf32>
// CHECK-LABEL: @tied(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x4x!q0> to tensor<2x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [-1.000000e+00, 2.500000e-01, 0.000000e+00, 1.250000e-01], [0.000000e+00, 2.000000e+00, 0.000000e+00, 1.000000e+00], [5.000000e-01, 0.000000e+00, 4.000000e+00, 0.000000e+00]]> : tensor<4x4xf32> {origin = "w"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}32, 16, 0, 0], [-32, 8, 0, 4], [0, 64, 0, 32], [16, 0, 127, 0]]> : tensor<4x4xi8> -> tensor<4x4x!q2> {origin = "w"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "w"} : tensor<4x4x!q2> to tensor<4x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.matmul [[V2]], [[V5]] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc1", role = "matmul"}
// CHECK-NEXT: [[V7:%.+]] = quant.qcast [[V6]] {origin = "fc1", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] {origin = "fc1", role = "matmul"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.matmul [[V8]], [[V5]] {transpose_b = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc2", role = "matmul"}
// CHECK-NEXT: [[V10:%.+]] = quant.qcast [[V9]] {origin = "fc2", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q3>
// CHECK-NEXT: [[V11:%.+]] = quant.dcast [[V10]] {origin = "fc2", role = "matmul"} : tensor<2x4x!q3> to tensor<2x4xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.add [[V11]], [[V11]] : tensor<2x4xf32> {origin = "fc2", role = "bias_add"}
// CHECK-NEXT: [[V13:%.+]] = quant.qcast [[V12]] {origin = "fc2", role = "bias_add"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHECK-NEXT: [[V14:%.+]] = quant.dcast [[V13]] {origin = "fc2", role = "bias_add"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.relu [[V14]] : tensor<2x4xf32> {origin = "head"}
// CHECK-NEXT: [[V16:%.+]] = quant.qcast [[V15]] {origin = "head"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHECK-NEXT: [[V17:%.+]] = quant.dcast [[V16]] {origin = "head"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.pow [[V3]], [[V3]] : tensor<4x4xf32> {origin = "pow2"}
// CHECK-NEXT: func.return [[V17]], [[V18]] : tensor<2x4xf32>, tensor<4x4xf32>

// CHANNEL: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHANNEL-NEXT: !q1 = !quant.uniform<i8:f32, 0.0313725508749485:-64>
// CHANNEL-NEXT: !q2 = !quant.uniform<i4:f32:0, {0.06666667014360428:-8, 0.0833333358168602:4, 0.13333334028720856:-8, 0.2666666805744171:-8}>
// CHANNEL-NEXT: !q3 = !quant.uniform<i4:f32:1, {0.13333334028720856, 0.13333334028720856:-8, 0.2666666805744171:-8, 0.06666667014360428:-8}>
// CHANNEL-NEXT: !q4 = !quant.uniform<i32:f32:1, {0.002091503469273448, 0.002614379394799471, 0.004183006938546896, 0.008366013877093792}>
// CHANNEL-LABEL: @users(
// CHANNEL-SAME: [[V0:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHANNEL-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHANNEL-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// CHANNEL-NEXT: [[V3:%.+]] = nn.abs [[V2]] : tensor<2xf32> {origin = "abs1"}
// CHANNEL-NEXT: [[V4:%.+]] = quant.qcast [[V3]] {origin = "abs1"} : tensor<2xf32> to tensor<2x!q1>
// CHANNEL-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "abs1"} : tensor<2x!q1> to tensor<2xf32>
// CHANNEL-NEXT: [[V6:%.+]] = nn.pow [[V5]], [[V0]] : tensor<2xf32> {origin = "pow1"}
// CHANNEL-NEXT: func.return [[V6]], [[V0]] : tensor<2xf32>, tensor<2xf32>
// CHANNEL-LABEL: @tied(
// CHANNEL-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
// CHANNEL-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// CHANNEL-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x4x!q0> to tensor<2x4xf32>
// CHANNEL-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [-1.000000e+00, 2.500000e-01, 0.000000e+00, 1.250000e-01], [0.000000e+00, 2.000000e+00, 0.000000e+00, 1.000000e+00], [5.000000e-01, 0.000000e+00, 4.000000e+00, 0.000000e+00]]> : tensor<4x4xf32> {origin = "w"}
// CHANNEL-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}7, -1, -8, -8], [-8, 7, 4, 6], [-8, 7, -8, -1], [-6, -8, 7, -8]]> : tensor<4x4xi4> -> tensor<4x4x!q2> {origin = "w"}
// CHANNEL-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "w"} : tensor<4x4x!q2> to tensor<4x4xf32>
// CHANNEL-NEXT: [[V6:%.+]] = nn.constant dense<{{\[\[}}7, -4, -8, -8], [-7, -6, -8, -6], [0, 7, -8, 7], [4, -8, 7, -8]]> : tensor<4x4xi4> -> tensor<4x4x!q3> {origin = "w"}
// CHANNEL-NEXT: [[V7:%.+]] = quant.dcast [[V6]] {origin = "w"} : tensor<4x4x!q3> to tensor<4x4xf32>
// CHANNEL-NEXT: [[V8:%.+]] = nn.matmul [[V2]], [[V7]] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc1", role = "matmul"}
// CHANNEL-NEXT: [[V9:%.+]] = quant.qcast [[V8]] {origin = "fc1", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHANNEL-NEXT: [[V10:%.+]] = quant.dcast [[V9]] {origin = "fc1", role = "matmul"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHANNEL-NEXT: [[V11:%.+]] = nn.matmul [[V10]], [[V5]] {transpose_b = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc2", role = "matmul"}
// CHANNEL-NEXT: [[V12:%.+]] = quant.qcast [[V11]] {origin = "fc2", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q4>
// CHANNEL-NEXT: [[V13:%.+]] = quant.dcast [[V12]] {origin = "fc2", role = "matmul"} : tensor<2x4x!q4> to tensor<2x4xf32>
// CHANNEL-NEXT: [[V14:%.+]] = nn.add [[V13]], [[V13]] : tensor<2x4xf32> {origin = "fc2", role = "bias_add"}
// CHANNEL-NEXT: [[V15:%.+]] = quant.qcast [[V14]] {origin = "fc2", role = "bias_add"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHANNEL-NEXT: [[V16:%.+]] = quant.dcast [[V15]] {origin = "fc2", role = "bias_add"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHANNEL-NEXT: [[V17:%.+]] = nn.relu [[V16]] : tensor<2x4xf32> {origin = "head"}
// CHANNEL-NEXT: [[V18:%.+]] = quant.qcast [[V17]] {origin = "head"} : tensor<2x4xf32> to tensor<2x4x!q1>
// CHANNEL-NEXT: [[V19:%.+]] = quant.dcast [[V18]] {origin = "head"} : tensor<2x4x!q1> to tensor<2x4xf32>
// CHANNEL-NEXT: [[V20:%.+]] = nn.pow [[V3]], [[V3]] : tensor<4x4xf32> {origin = "pow2"}
// CHANNEL-NEXT: func.return [[V19]], [[V20]] : tensor<2x4xf32>, tensor<4x4xf32>

// BLOCK: !q0 = !quant.uniform<u8:f32, 0.007843137718737125:128>
// BLOCK-NEXT: !q1 = !quant.uniform<u8:f32, 0.0470588244497776:128>
// BLOCK-NEXT: !q2 = !quant.uniform<i2<-1:1>:f32:{0:1, 1:2}, {{\{\{}}7.500000e-01, 1.000000e+00}, {1.000000e+00, 1.250000e-01}, {2.000000e+00, 1.000000e+00}, {5.000000e-01, 4.000000e+00}}>
// BLOCK-NEXT: !q3 = !quant.uniform<i2<-1:1>:f32:{0:2, 1:1}, {{\{\{}}1.000000e+00, 3.750000e-01, 1.000000e+00, 1.250000e-01}, {5.000000e-01, 2.000000e+00, 4.000000e+00, 1.000000e+00}}>
// BLOCK-NEXT: !q4 = !quant.uniform<i32:f32, 3.5762786865234375e-07>
// BLOCK-LABEL: @users(
// BLOCK-SAME: [[V0:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// BLOCK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// BLOCK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// BLOCK-NEXT: [[V3:%.+]] = nn.abs [[V2]] : tensor<2xf32> {origin = "abs1"}
// BLOCK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] {origin = "abs1"} : tensor<2xf32> to tensor<2x!q1>
// BLOCK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "abs1"} : tensor<2x!q1> to tensor<2xf32>
// BLOCK-NEXT: [[V6:%.+]] = nn.pow [[V5]], [[V0]] : tensor<2xf32> {origin = "pow1"}
// BLOCK-NEXT: func.return [[V6]], [[V0]] : tensor<2xf32>, tensor<2xf32>
// BLOCK-LABEL: @tied(
// BLOCK-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
// BLOCK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// BLOCK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x4x!q0> to tensor<2x4xf32>
// BLOCK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [-1.000000e+00, 2.500000e-01, 0.000000e+00, 1.250000e-01], [0.000000e+00, 2.000000e+00, 0.000000e+00, 1.000000e+00], [5.000000e-01, 0.000000e+00, 4.000000e+00, 0.000000e+00]]> : tensor<4x4xf32> {origin = "w"}
// BLOCK-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}1, 1, 0, 0], [-1, 0, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]]> : tensor<4x4xi2> -> tensor<4x4x!q2> {origin = "w"}
// BLOCK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "w"} : tensor<4x4x!q2> to tensor<4x4xf32>
// BLOCK-NEXT: [[V6:%.+]] = nn.constant dense<{{\[\[}}1, 1, 0, 0], [-1, 1, 0, 1], [0, 1, 0, 1], [1, 0, 1, 0]]> : tensor<4x4xi2> -> tensor<4x4x!q3> {origin = "w"}
// BLOCK-NEXT: [[V7:%.+]] = quant.dcast [[V6]] {origin = "w"} : tensor<4x4x!q3> to tensor<4x4xf32>
// BLOCK-NEXT: [[V8:%.+]] = nn.matmul [[V2]], [[V7]] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc1", role = "matmul"}
// BLOCK-NEXT: [[V9:%.+]] = quant.qcast [[V8]] {origin = "fc1", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q1>
// BLOCK-NEXT: [[V10:%.+]] = quant.dcast [[V9]] {origin = "fc1", role = "matmul"} : tensor<2x4x!q1> to tensor<2x4xf32>
// BLOCK-NEXT: [[V11:%.+]] = nn.matmul [[V10]], [[V5]] {transpose_b = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc2", role = "matmul"}
// BLOCK-NEXT: [[V12:%.+]] = quant.qcast [[V11]] {origin = "fc2", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q4>
// BLOCK-NEXT: [[V13:%.+]] = quant.dcast [[V12]] {origin = "fc2", role = "matmul"} : tensor<2x4x!q4> to tensor<2x4xf32>
// BLOCK-NEXT: [[V14:%.+]] = nn.add [[V13]], [[V13]] : tensor<2x4xf32> {origin = "fc2", role = "bias_add"}
// BLOCK-NEXT: [[V15:%.+]] = quant.qcast [[V14]] {origin = "fc2", role = "bias_add"} : tensor<2x4xf32> to tensor<2x4x!q1>
// BLOCK-NEXT: [[V16:%.+]] = quant.dcast [[V15]] {origin = "fc2", role = "bias_add"} : tensor<2x4x!q1> to tensor<2x4xf32>
// BLOCK-NEXT: [[V17:%.+]] = nn.relu [[V16]] : tensor<2x4xf32> {origin = "head"}
// BLOCK-NEXT: [[V18:%.+]] = quant.qcast [[V17]] {origin = "head"} : tensor<2x4xf32> to tensor<2x4x!q1>
// BLOCK-NEXT: [[V19:%.+]] = quant.dcast [[V18]] {origin = "head"} : tensor<2x4x!q1> to tensor<2x4xf32>
// BLOCK-NEXT: [[V20:%.+]] = nn.pow [[V3]], [[V3]] : tensor<4x4xf32> {origin = "pow2"}
// BLOCK-NEXT: func.return [[V19]], [[V20]] : tensor<2x4xf32>, tensor<4x4xf32>

// RECIPE: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// RECIPE-NEXT: !q1 = !quant.uniform<i8:f32, 0.0313725508749485:-64>
// RECIPE-NEXT: !q2 = !quant.uniform<i4:f32:0, {0.13333334028720856, 0.13333334028720856, 0.2666666805744171, 0.5333333611488342}>
// RECIPE-NEXT: !q3 = !quant.uniform<i4:f32:1, {0.13333334028720856, 0.2666666805744171, 0.5333333611488342, 0.13333334028720856}>
// RECIPE-NEXT: !q4 = !quant.uniform<i8:f32, 0.0470588244497776>
// RECIPE-LABEL: @users(
// RECIPE-SAME: [[V0:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// RECIPE-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// RECIPE-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// RECIPE-NEXT: [[V3:%.+]] = nn.abs [[V2]] : tensor<2xf32> {origin = "abs1"}
// RECIPE-NEXT: [[V4:%.+]] = quant.qcast [[V3]] {origin = "abs1"} : tensor<2xf32> to tensor<2x!q1>
// RECIPE-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "abs1"} : tensor<2x!q1> to tensor<2xf32>
// RECIPE-NEXT: [[V6:%.+]] = nn.pow [[V5]], [[V0]] : tensor<2xf32> {origin = "pow1"}
// RECIPE-NEXT: func.return [[V6]], [[V0]] : tensor<2xf32>, tensor<2xf32>
// RECIPE-LABEL: @tied(
// RECIPE-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
// RECIPE-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// RECIPE-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x4x!q0> to tensor<2x4xf32>
// RECIPE-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [-1.000000e+00, 2.500000e-01, 0.000000e+00, 1.250000e-01], [0.000000e+00, 2.000000e+00, 0.000000e+00, 1.000000e+00], [5.000000e-01, 0.000000e+00, 4.000000e+00, 0.000000e+00]]> : tensor<4x4xf32> {origin = "w"}
// RECIPE-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}7, 4, 0, 0], [-7, 2, 0, 1], [0, 7, 0, 4], [1, 0, 7, 0]]> : tensor<4x4xi4> -> tensor<4x4x!q2> {origin = "w"}
// RECIPE-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "w"} : tensor<4x4x!q2> to tensor<4x4xf32>
// RECIPE-NEXT: [[V6:%.+]] = nn.constant dense<{{\[\[}}7, 2, 0, 0], [-7, 1, 0, 1], [0, 7, 0, 7], [4, 0, 7, 0]]> : tensor<4x4xi4> -> tensor<4x4x!q3> {origin = "w"}
// RECIPE-NEXT: [[V7:%.+]] = quant.dcast [[V6]] {origin = "w"} : tensor<4x4x!q3> to tensor<4x4xf32>
// RECIPE-NEXT: [[V8:%.+]] = nn.matmul [[V2]], [[V7]] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc1", role = "matmul"}
// RECIPE-NEXT: [[V9:%.+]] = quant.qcast [[V8]] {origin = "fc1", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q1>
// RECIPE-NEXT: [[V10:%.+]] = quant.dcast [[V9]] {origin = "fc1", role = "matmul"} : tensor<2x4x!q1> to tensor<2x4xf32>
// RECIPE-NEXT: [[V11:%.+]] = nn.matmul [[V10]], [[V5]] {transpose_b = true} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> {origin = "fc2", role = "matmul"}
// RECIPE-NEXT: [[V12:%.+]] = quant.qcast [[V11]] {origin = "fc2", role = "matmul"} : tensor<2x4xf32> to tensor<2x4x!q4>
// RECIPE-NEXT: [[V13:%.+]] = quant.dcast [[V12]] {origin = "fc2", role = "matmul"} : tensor<2x4x!q4> to tensor<2x4xf32>
// RECIPE-NEXT: [[V14:%.+]] = nn.add [[V13]], [[V13]] : tensor<2x4xf32> {origin = "fc2", role = "bias_add"}
// RECIPE-NEXT: [[V15:%.+]] = quant.qcast [[V14]] {origin = "fc2", role = "bias_add"} : tensor<2x4xf32> to tensor<2x4x!q1>
// RECIPE-NEXT: [[V16:%.+]] = quant.dcast [[V15]] {origin = "fc2", role = "bias_add"} : tensor<2x4x!q1> to tensor<2x4xf32>
// RECIPE-NEXT: [[V17:%.+]] = nn.relu [[V16]] : tensor<2x4xf32> {origin = "head", nn.keep_float}
// RECIPE-NEXT: [[V18:%.+]] = nn.pow [[V3]], [[V3]] : tensor<4x4xf32> {origin = "pow2"}
// RECIPE-NEXT: func.return [[V17]], [[V18]] : tensor<2x4xf32>, tensor<4x4xf32>
