// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!q = !quant.uniform<i8:f32, 0.02:-3>
!w = !quant.uniform<i8:f32:0, {0.01, 0.0125}>
!w1 = !quant.uniform<i8:f32:1, {0.01, 0.0125}>

func.func @repetition(%x: tensor<2x1xf32>, %w: tensor<2x1x!w>, %shape: tensor<3xi64>, %repeats: tensor<2xi64>) {
  %0 = nn.expand %x {shape = [3, 1, 4]} : (tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %1 = nn.expand %w {shape = [3, 2, 4]} : (tensor<2x1x!w>) -> tensor<3x2x4x!w1>
  %2 = nn.expand %x, %shape : (tensor<2x1xf32>, tensor<3xi64>) -> tensor<?x2x?xf32>
  %3 = nn.tile %w {repeats = [1, 3]} : (tensor<2x1x!w>) -> tensor<2x3x!w>
  %4 = nn.tile %x, %repeats : (tensor<2x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return
}

func.func @padding(%x: tensor<2x4x!q>, %v: tensor<!q>, %w: tensor<2x4x!w>, %pads: tensor<4xi64>, %axes: tensor<1xi64>, %few: tensor<2xi64>) {
  %0 = nn.pad %x {pads = [1, 0, -1, 2]} : (tensor<2x4x!q>) -> tensor<2x6x!q>
  %1 = nn.pad %x, %v {pads = [1, 2], axes = [-1]} : (tensor<2x4x!q>, tensor<!q>) -> tensor<2x7x!q>
  %2 = nn.pad %w {pads = [1, 1], axes = [1], mode = "reflect"} : (tensor<2x4x!w>) -> tensor<2x6x!w>
  %3 = nn.pad %x, _, %pads : (tensor<2x4x!q>, tensor<4xi64>) -> tensor<?x?x!q>
  %4 = nn.pad %x, _, %few {axes = [0], mode = "edge"} : (tensor<2x4x!q>, tensor<2xi64>) -> tensor<?x4x!q>
  %5 = nn.pad %x, _, %few, %axes {mode = "wrap"} : (tensor<2x4x!q>, tensor<2xi64>, tensor<1xi64>) -> tensor<?x?x!q>
  func.return
}

func.func @triangles(%x: tensor<2x4x!w>, %k: tensor<i64>) -> tensor<2x4x!w> {
  %0 = nn.trilu %x {k = -1} : tensor<2x4x!w>
  %1 = nn.trilu %0, %k {upper = false} : (tensor<2x4x!w>, tensor<i64>) -> tensor<2x4x!w>
  func.return %1 : tensor<2x4x!w>
}

// CHECK: !q0 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32:1, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-LABEL: @repetition(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1xf32>, [[V1:%.+]]: tensor<2x1x!q0>, [[V2:%.+]]: tensor<3xi64>, [[V3:%.+]]: tensor<2xi64>)
// CHECK-NEXT: [[V4:%.+]] = nn.expand [[V0]] {shape = [3, 1, 4]} : (tensor<2x1xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.expand [[V1]] {shape = [3, 2, 4]} : (tensor<2x1x!q0>) -> tensor<3x2x4x!q1>
// CHECK-NEXT: [[V6:%.+]] = nn.expand [[V0]], [[V2]] : (tensor<2x1xf32>, tensor<3xi64>) -> tensor<?x2x?xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.tile [[V1]] {repeats = [1, 3]} : (tensor<2x1x!q0>) -> tensor<2x3x!q0>
// CHECK-NEXT: [[V8:%.+]] = nn.tile [[V0]], [[V3]] : (tensor<2x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return
// CHECK-LABEL: @padding(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4x!q2>, [[V1:%.+]]: tensor<!q2>, [[V2:%.+]]: tensor<2x4x!q0>, [[V3:%.+]]: tensor<4xi64>, [[V4:%.+]]: tensor<1xi64>, [[V5:%.+]]: tensor<2xi64>)
// CHECK-NEXT: [[V6:%.+]] = nn.pad [[V0]] {pads = [1, 0, -1, 2]} : (tensor<2x4x!q2>) -> tensor<2x6x!q2>
// CHECK-NEXT: [[V7:%.+]] = nn.pad [[V0]], [[V1]] {pads = [1, 2], axes = [-1]} : (tensor<2x4x!q2>, tensor<!q2>) -> tensor<2x7x!q2>
// CHECK-NEXT: [[V8:%.+]] = nn.pad [[V2]] {pads = [1, 1], axes = [1], mode = "reflect"} : (tensor<2x4x!q0>) -> tensor<2x6x!q0>
// CHECK-NEXT: [[V9:%.+]] = nn.pad [[V0]], _, [[V3]] : (tensor<2x4x!q2>, tensor<4xi64>) -> tensor<?x?x!q2>
// CHECK-NEXT: [[V10:%.+]] = nn.pad [[V0]], _, [[V5]] {axes = [0], mode = "edge"} : (tensor<2x4x!q2>, tensor<2xi64>) -> tensor<?x4x!q2>
// CHECK-NEXT: [[V11:%.+]] = nn.pad [[V0]], _, [[V5]], [[V4]] {mode = "wrap"} : (tensor<2x4x!q2>, tensor<2xi64>, tensor<1xi64>) -> tensor<?x?x!q2>
// CHECK-NEXT: func.return
// CHECK-LABEL: @triangles(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4x!q0>, [[V1:%.+]]: tensor<i64>) -> tensor<2x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.trilu [[V0]] {k = -1} : tensor<2x4x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.trilu [[V2]], [[V1]] {upper = false} : (tensor<2x4x!q0>, tensor<i64>) -> tensor<2x4x!q0>
// CHECK-NEXT: func.return [[V3]] : tensor<2x4x!q0>
