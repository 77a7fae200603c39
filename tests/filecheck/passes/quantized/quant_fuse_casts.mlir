// RUN: qmlir-opt %s --inline-weights -p quant-fuse-casts | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-fuse-casts,quant-fuse-casts' -o %t.twice && qmlir-opt %s --inline-weights -p quant-fuse-casts | diff %t.twice -

!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.25:3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5, 0.25}>
!b = !quant.uniform<i32:f32:0, {0.25, 0.125}>
!long = !quant.uniform<i16:f32, 0.5>

// Weights are quantized now; somebody else's casts take the same road as ours.
func.func @layer(%x: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %w = nn.constant dense<[[1.0, -64.0], [0.5, 0.3]]> : tensor<2x2xf32> {origin = "w"}
  %b = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = quant.dcast %x : tensor<1x2x!x> to tensor<1x2xf32>
  %1 = quant.qcast %w : tensor<2x2xf32> to tensor<2x2x!w>
  %2 = quant.dcast %1 : tensor<2x2x!w> to tensor<2x2xf32>
  %3 = quant.qcast %b : tensor<2xf32> to tensor<2x!b>
  %4 = quant.dcast %3 : tensor<2x!b> to tensor<2xf32>
  %5 = nn.fully_connected %0, %2, %4 : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1"}
  %6 = quant.qcast %5 : tensor<1x2xf32> to tensor<1x2x!y>
  func.return %6 : tensor<1x2x!y>
}

// Several results, of which nobody needs the last; indices are results of their own.
func.func @results(%x: tensor<4x!x>) -> (tensor<2x!x>, tensor<2x!x>, tensor<2xi64>) {
  %0 = quant.dcast %x : tensor<4x!x> to tensor<4xf32>
  %1, %2 = nn.split %0 {axis = 0} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {origin = "parts"}
  %3, %4 = nn.top_k %0 {k = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {origin = "best"}
  %5 = quant.qcast %1 : tensor<2xf32> to tensor<2x!x>
  %6 = quant.qcast %3 : tensor<2xf32> to tensor<2x!x>
  func.return %5, %6, %4 : tensor<2x!x>, tensor<2x!x>, tensor<2xi64>
}

// Another float user, another type, a movement that would need a rescale, no meaning, a rule: all of these stay.
func.func @stays(%x: tensor<2x!x>) -> (tensor<2xf32>, tensor<2x!x>, tensor<2x!x>, tensor<2x!y>, tensor<1x2x!y>, tensor<2x!y>, tensor<2x!y>) {
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1 = nn.relu %0 : tensor<2xf32> {origin = "float_user"}
  %2 = quant.qcast %1 : tensor<2xf32> to tensor<2x!x>
  %3 = nn.abs %0 : tensor<2xf32> {origin = "two_types"}
  %4 = quant.qcast %3 : tensor<2xf32> to tensor<2x!x>
  %5 = quant.qcast %3 : tensor<2xf32> to tensor<2x!y>
  %6 = nn.unsqueeze %0 {axes = [0]} : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "moves"}
  %7 = quant.qcast %6 : tensor<1x2xf32> to tensor<1x2x!y>
  %8 = nn.pow %0, %0 : tensor<2xf32> {origin = "no_meaning"}
  %9 = quant.qcast %8 : tensor<2xf32> to tensor<2x!y>
  %10 = nn.relu %0 : tensor<2xf32> {origin = "by_rule", nn.keep_float}
  %11 = quant.qcast %10 : tensor<2xf32> to tensor<2x!y>
  func.return %1, %2, %4, %5, %7, %9, %11 : tensor<2xf32>, tensor<2x!x>, tensor<2x!x>, tensor<2x!y>, tensor<1x2x!y>, tensor<2x!y>, tensor<2x!y>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.500000e-01:3>
// CHECK-NEXT: !q2 = !quant.uniform<i8<-127:127>:f32:0, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q3 = !quant.uniform<i32:f32:0, {2.500000e-01, 1.250000e-01}>
// CHECK-LABEL: @layer(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x!q0>) -> tensor<1x2x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}2, -127], [2, 1]]> : tensor<2x2xi8> -> tensor<2x2x!q2> {origin = "w"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<2> : tensor<2xi32> -> tensor<2x!q3>
// CHECK-NEXT: [[V3:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x2x!q0>, tensor<2x2x!q2>, tensor<2x!q3>) -> tensor<1x2x!q1> {origin = "fc1"}
// CHECK-NEXT: func.return [[V3]] : tensor<1x2x!q1>
// CHECK-LABEL: @results(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0>) -> (tensor<2x!q0>, tensor<2x!q0>, tensor<2xi64>)
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]] = nn.split [[V0]] : (tensor<4x!q0>) -> (tensor<2x!q0>, tensor<2x!q0>) {origin = "parts"}
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = nn.top_k [[V0]] {k = 2} : (tensor<4x!q0>) -> (tensor<2x!q0>, tensor<2xi64>) {origin = "best"}
// CHECK-NEXT: func.return [[V1]], [[V3]], [[V4]] : tensor<2x!q0>, tensor<2x!q0>, tensor<2xi64>
// CHECK-LABEL: @stays(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2xf32>, tensor<2x!q0>, tensor<2x!q0>, tensor<2x!q1>, tensor<1x2x!q1>, tensor<2x!q1>, tensor<2x!q1>)
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : tensor<2xf32> {origin = "float_user"}
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.abs [[V1]] : tensor<2xf32> {origin = "two_types"}
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: [[V7:%.+]] = nn.unsqueeze [[V1]] {axes = [0]} : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "moves"}
// CHECK-NEXT: [[V8:%.+]] = quant.qcast [[V7]] : tensor<1x2xf32> to tensor<1x2x!q1>
// CHECK-NEXT: [[V9:%.+]] = nn.pow [[V1]], [[V1]] : tensor<2xf32> {origin = "no_meaning"}
// CHECK-NEXT: [[V10:%.+]] = quant.qcast [[V9]] : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: [[V11:%.+]] = nn.relu [[V1]] : tensor<2xf32> {origin = "by_rule", nn.keep_float}
// CHECK-NEXT: [[V12:%.+]] = quant.qcast [[V11]] : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: func.return [[V2]], [[V3]], [[V5]], [[V6]], [[V8]], [[V10]], [[V12]] : tensor<2xf32>, tensor<2x!q0>, tensor<2x!q0>, tensor<2x!q1>, tensor<1x2x!q1>, tensor<2x!q1>, tensor<2x!q1>

// A norm of rows is fused where its neighbours are quantized, and its scale stays a float. Not where that is ruled out, not
// beside floats, and not where no integers hold the rows.
// CHECK-LABEL: @norms(
// CHECK-SAME: [[NARROW:%.+]]: tensor<2x4x!q0>, [[SCALE:%.+]]: tensor<4xf32>, [[FLOAT:%.+]]: tensor<2x4xf32>, [[LONG:%.+]]: tensor<1x40000x!{{.+}}>) ->
// CHECK-NEXT: [[REAL:%.+]] = quant.dcast [[NARROW]] : tensor<2x4x!q0> to tensor<2x4xf32>
// CHECK-NEXT: [[FUSED:%.+]] = nn.layer_norm [[NARROW]], [[SCALE]] : (tensor<2x4x!q0>, tensor<4xf32>) -> tensor<2x4x!q1> {origin = "fused"}
// CHECK-NEXT: nn.layer_norm [[REAL]], [[SCALE]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "by_rule", nn.keep_float}
// CHECK-NEXT: quant.qcast
// CHECK-NEXT: nn.rms_norm [[FLOAT]] : tensor<2x4xf32> {origin = "of_floats"}
// CHECK-NEXT: quant.qcast
// CHECK-NEXT: nn.rms_norm [[REAL]] : tensor<2x4xf32> {origin = "to_floats"}
// CHECK-NEXT: quant.dcast [[LONG]]
// CHECK-NEXT: nn.rms_norm {{%.+}} : tensor<1x40000xf32> {origin = "long_rows"}
func.func @norms(%a: tensor<2x4x!x>, %s: tensor<4xf32>, %f: tensor<2x4xf32>, %w: tensor<1x40000x!long>) -> (tensor<2x4x!y>, tensor<2x4x!y>, tensor<2x4x!y>, tensor<2x4xf32>, tensor<1x40000x!y>) {
  %0 = quant.dcast %a : tensor<2x4x!x> to tensor<2x4xf32>
  %1 = nn.layer_norm %0, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "fused"}
  %2 = quant.qcast %1 : tensor<2x4xf32> to tensor<2x4x!y>
  %3 = nn.layer_norm %0, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "by_rule", nn.keep_float}
  %4 = quant.qcast %3 : tensor<2x4xf32> to tensor<2x4x!y>
  %5 = nn.rms_norm %f : tensor<2x4xf32> {origin = "of_floats"}
  %6 = quant.qcast %5 : tensor<2x4xf32> to tensor<2x4x!y>
  %7 = nn.rms_norm %0 : tensor<2x4xf32> {origin = "to_floats"}
  %8 = quant.dcast %w : tensor<1x40000x!long> to tensor<1x40000xf32>
  %9 = nn.rms_norm %8 : tensor<1x40000xf32> {origin = "long_rows"}
  %10 = quant.qcast %9 : tensor<1x40000xf32> to tensor<1x40000x!y>
  func.return %2, %4, %6, %7, %10 : tensor<2x4x!y>, tensor<2x4x!y>, tensor<2x4x!y>, tensor<2x4xf32>, tensor<1x40000x!y>
}
