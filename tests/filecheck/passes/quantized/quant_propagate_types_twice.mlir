// RUN: qmlir-opt %s -p 'quant-propagate-types' | filecheck %s --check-prefix=EXACT
// RUN: qmlir-opt %s -p 'quant-propagate-types{exact=false}' | filecheck %s --check-prefix=ONCE

!a = !quant.uniform<i8:f32, 0.5>
!fine = !quant.uniform<i16:f32, 0.125>
!wide = !quant.uniform<i8:f32, 1.0>
!odd = !quant.uniform<i8:f32, 0.3>

// Every number of the storage is one of 16 bits: one rescale is left, to the type that is asked for in the end.
func.func @one_after_another(%x: tensor<4x!a>) -> tensor<4x!odd> {
  %0 = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!fine>
  %2 = quant.dcast %1 : tensor<4x!fine> to tensor<4xf32>
  %3 = nn.reshape %2 : (tensor<4xf32>) -> tensor<2x2xf32>
  %4 = nn.reshape %3 : (tensor<2x2xf32>) -> tensor<4xf32>
  %5 = quant.qcast %4 : tensor<4xf32> to tensor<4x!odd>
  func.return %5 : tensor<4x!odd>
}

// Two roundings are two rescales.
func.func @with_loss(%x: tensor<4x!a>) -> tensor<4x!a> {
  %0 = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  %1 = quant.qcast %0 : tensor<4xf32> to tensor<4x!odd>
  %2 = quant.dcast %1 : tensor<4x!odd> to tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!a>
  func.return %3 : tensor<4x!a>
}

// A residual that two branches take in types of their own: the source rounds the sum for each. Computed once, it has the
// type that reaches as far as the other, in smaller steps.
func.func @in_two_ways(%x: tensor<4x!a>, %y: tensor<4x!a>) -> (tensor<4x!wide>, tensor<4x!fine>) {
  %0 = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  %1 = quant.dcast %y : tensor<4x!a> to tensor<4xf32>
  %2 = nn.add %0, %1 : tensor<4xf32> {origin = "residual"}
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!wide>
  %4 = quant.qcast %2 : tensor<4xf32> to tensor<4x!fine>
  func.return %3, %4 : tensor<4x!wide>, tensor<4x!fine>
}

// Neither holds the other: the float stays.
func.func @apart(%x: tensor<4x!a>, %y: tensor<4x!a>) -> (tensor<4x!wide>, tensor<4x!odd>) {
  %0 = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  %1 = quant.dcast %y : tensor<4x!a> to tensor<4xf32>
  %2 = nn.add %0, %1 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!wide>
  %4 = quant.qcast %2 : tensor<4xf32> to tensor<4x!odd>
  func.return %3, %4 : tensor<4x!wide>, tensor<4x!odd>
}

// A float user too: it sees the float.
func.func @and_as_a_float(%x: tensor<4x!a>, %y: tensor<4x!a>) -> (tensor<4x!wide>, tensor<4x!fine>, tensor<4xf32>) {
  %0 = quant.dcast %x : tensor<4x!a> to tensor<4xf32>
  %1 = quant.dcast %y : tensor<4x!a> to tensor<4xf32>
  %2 = nn.add %0, %1 : tensor<4xf32>
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!wide>
  %4 = quant.qcast %2 : tensor<4xf32> to tensor<4x!fine>
  func.return %3, %4, %2 : tensor<4x!wide>, tensor<4x!fine>, tensor<4xf32>
}

// EXACT: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// EXACT-NEXT: !q1 = !quant.uniform<i8:f32, 3.000000e-01>
// EXACT-NEXT: !q2 = !quant.uniform<i8:f32, 1.000000e+00>
// EXACT-NEXT: !q3 = !quant.uniform<i16:f32, 1.250000e-01>
// EXACT-LABEL: @one_after_another(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// EXACT-NEXT: [[V1:%.+]] = nn.reshape [[V0]] : (tensor<4x!q0>) -> tensor<2x2x!q0>
// EXACT-NEXT: [[V2:%.+]] = nn.reshape [[V1]] : (tensor<2x2x!q0>) -> tensor<4x!q0>
// EXACT-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<4xf32> to tensor<4x!q1>
// EXACT-NEXT: func.return [[V4]] : tensor<4x!q1>
// EXACT-LABEL: @with_loss(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q0>
// EXACT-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<4xf32> to tensor<4x!q1>
// EXACT-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<4x!q1> to tensor<4xf32>
// EXACT-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<4xf32> to tensor<4x!q0>
// EXACT-NEXT: func.return [[V4]] : tensor<4x!q0>
// EXACT-LABEL: @in_two_ways(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q3>)
// EXACT-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V4:%.+]] = nn.add [[V2]], [[V3]] : tensor<4xf32> {origin = "residual"}
// EXACT-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q2>
// EXACT-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q3>
// EXACT-NEXT: func.return [[V5]], [[V6]] : tensor<4x!q2>, tensor<4x!q3>
// EXACT-LABEL: @apart(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q1>)
// EXACT-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V4:%.+]] = nn.add [[V2]], [[V3]] : tensor<4xf32>
// EXACT-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q2>
// EXACT-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q1>
// EXACT-NEXT: func.return [[V5]], [[V6]] : tensor<4x!q2>, tensor<4x!q1>
// EXACT-LABEL: @and_as_a_float(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q3>, tensor<4xf32>)
// EXACT-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V4:%.+]] = nn.add [[V2]], [[V3]] : tensor<4xf32>
// EXACT-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q2>
// EXACT-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q3>
// EXACT-NEXT: func.return [[V5]], [[V6]], [[V4]] : tensor<4x!q2>, tensor<4x!q3>, tensor<4xf32>

// ONCE: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// ONCE-NEXT: !q1 = !quant.uniform<i8:f32, 3.000000e-01>
// ONCE-NEXT: !q2 = !quant.uniform<i8:f32, 1.000000e+00>
// ONCE-NEXT: !q3 = !quant.uniform<i16:f32, 1.250000e-01>
// ONCE-LABEL: @one_after_another(
// ONCE-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// ONCE-NEXT: [[V1:%.+]] = nn.reshape [[V0]] : (tensor<4x!q0>) -> tensor<2x2x!q0>
// ONCE-NEXT: [[V2:%.+]] = nn.reshape [[V1]] : (tensor<2x2x!q0>) -> tensor<4x!q0>
// ONCE-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<4xf32> to tensor<4x!q1>
// ONCE-NEXT: func.return [[V4]] : tensor<4x!q1>
// ONCE-LABEL: @with_loss(
// ONCE-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q0>
// ONCE-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<4xf32> to tensor<4x!q1>
// ONCE-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<4x!q1> to tensor<4xf32>
// ONCE-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<4xf32> to tensor<4x!q0>
// ONCE-NEXT: func.return [[V4]] : tensor<4x!q0>
// ONCE-LABEL: @in_two_ways(
// ONCE-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q3>)
// ONCE-NEXT: [[V2:%.+]] = nn.add [[V0]], [[V1]] : (tensor<4x!q0>, tensor<4x!q0>) -> tensor<4x!q3> {origin = "residual"}
// ONCE-NEXT: [[V3:%.+]] = quant.dcast [[V2]] {origin = "residual"} : tensor<4x!q3> to tensor<4xf32>
// ONCE-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<4xf32> to tensor<4x!q2>
// ONCE-NEXT: func.return [[V4]], [[V2]] : tensor<4x!q2>, tensor<4x!q3>
// ONCE-LABEL: @apart(
// ONCE-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q1>)
// ONCE-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V4:%.+]] = nn.add [[V2]], [[V3]] : tensor<4xf32>
// ONCE-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q2>
// ONCE-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q1>
// ONCE-NEXT: func.return [[V5]], [[V6]] : tensor<4x!q2>, tensor<4x!q1>
// ONCE-LABEL: @and_as_a_float(
// ONCE-SAME: [[V0:%.+]]: tensor<4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> (tensor<4x!q2>, tensor<4x!q3>, tensor<4xf32>)
// ONCE-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<4x!q0> to tensor<4xf32>
// ONCE-NEXT: [[V4:%.+]] = nn.add [[V2]], [[V3]] : tensor<4xf32>
// ONCE-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q2>
// ONCE-NEXT: [[V6:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q3>
// ONCE-NEXT: func.return [[V5]], [[V6]], [[V4]] : tensor<4x!q2>, tensor<4x!q3>, tensor<4xf32>
