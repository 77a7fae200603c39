// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!q = !quant.uniform<i8:f32, 0.02:-3>
!w = !quant.uniform<i8:f32:0, {0.01, 0.0125}>
!w1 = !quant.uniform<i8:f32:1, {0.01, 0.0125}>
!w2 = !quant.uniform<i8:f32:2, {0.01, 0.0125}>

func.func @gather(%w: tensor<2x3x!w>, %v: tensor<3x2x!w1>, %i: tensor<4x5xi32>, %e: tensor<2x1xi64>, %t: tensor<4x5x1xui8>) {
  %0 = nn.gather %v, %i : (tensor<3x2x!w1>, tensor<4x5xi32>) -> tensor<4x5x2x!w2>
  %1 = nn.gather_elements %w, %e {axis = 1} : (tensor<2x3x!w>, tensor<2x1xi64>) -> tensor<2x1x!w>
  %2 = nn.gather_nd %v, %t : (tensor<3x2x!w1>, tensor<4x5x1xui8>) -> tensor<4x5x2x!w2>
  %3 = nn.gather_nd %w, %e {batch_dims = 1} : (tensor<2x3x!w>, tensor<2x1xi64>) -> tensor<2x!w>
  %4 = nn.gather %w, %i {requantize = #kernel.requantize<double_round>} : (tensor<2x3x!w>, tensor<4x5xi32>) -> tensor<4x5x3x!q>
  func.return
}

func.func @scatter(%x: tensor<3x4x!q>, %f: tensor<3x4xf16>, %i: tensor<2x4xi64>, %u: tensor<2x4xf16>, %t: tensor<5x1xi64>, %s: tensor<5x4x!q>) {
  %0 = nn.scatter_elements %f, %i, %u {reduction = "add"} : (tensor<3x4xf16>, tensor<2x4xi64>, tensor<2x4xf16>) -> tensor<3x4xf16>
  %1 = nn.scatter_nd %x, %t, %s {reduction = "max"} : (tensor<3x4x!q>, tensor<5x1xi64>, tensor<5x4x!q>) -> tensor<3x4x!q>
  func.return
}

func.func @one_hot(%i: tensor<2x3xf32>, %values: tensor<2x!q>, %depth: tensor<i64>) {
  %0 = nn.one_hot %i, %values {depth = 4, axis = 0} : (tensor<2x3xf32>, tensor<2x!q>) -> tensor<4x2x3x!q>
  %1 = nn.one_hot %i, %values, %depth : (tensor<2x3xf32>, tensor<2x!q>, tensor<i64>) -> tensor<2x3x?x!q>
  func.return
}

// CHECK: !q0 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32:1, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:2, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: #k0 = #kernel.requantize<double_round>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-LABEL: @gather(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x!q0>, [[V1:%.+]]: tensor<3x2x!q1>, [[V2:%.+]]: tensor<4x5xi32>, [[V3:%.+]]: tensor<2x1xi64>, [[V4:%.+]]: tensor<4x5x1xui8>)
// CHECK-NEXT: [[V5:%.+]] = nn.gather [[V1]], [[V2]] : (tensor<3x2x!q1>, tensor<4x5xi32>) -> tensor<4x5x2x!q2>
// CHECK-NEXT: [[V6:%.+]] = nn.gather_elements [[V0]], [[V3]] {axis = 1} : (tensor<2x3x!q0>, tensor<2x1xi64>) -> tensor<2x1x!q0>
// CHECK-NEXT: [[V7:%.+]] = nn.gather_nd [[V1]], [[V4]] : (tensor<3x2x!q1>, tensor<4x5x1xui8>) -> tensor<4x5x2x!q2>
// CHECK-NEXT: [[V8:%.+]] = nn.gather_nd [[V0]], [[V3]] {batch_dims = 1} : (tensor<2x3x!q0>, tensor<2x1xi64>) -> tensor<2x!q0>
// CHECK-NEXT: [[V9:%.+]] = nn.gather [[V0]], [[V2]] {requantize = #k0} : (tensor<2x3x!q0>, tensor<4x5xi32>) -> tensor<4x5x3x!q3>
// CHECK-NEXT: func.return
// CHECK-LABEL: @scatter(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4x!q3>, [[V1:%.+]]: tensor<3x4xf16>, [[V2:%.+]]: tensor<2x4xi64>, [[V3:%.+]]: tensor<2x4xf16>, [[V4:%.+]]: tensor<5x1xi64>, [[V5:%.+]]: tensor<5x4x!q3>)
// CHECK-NEXT: [[V6:%.+]] = nn.scatter_elements [[V1]], [[V2]], [[V3]] {reduction = "add"} : (tensor<3x4xf16>, tensor<2x4xi64>, tensor<2x4xf16>) -> tensor<3x4xf16>
// CHECK-NEXT: [[V7:%.+]] = nn.scatter_nd [[V0]], [[V4]], [[V5]] {reduction = "max"} : (tensor<3x4x!q3>, tensor<5x1xi64>, tensor<5x4x!q3>) -> tensor<3x4x!q3>
// CHECK-NEXT: func.return
// CHECK-LABEL: @one_hot(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<2x!q3>, [[V2:%.+]]: tensor<i64>)
// CHECK-NEXT: [[V3:%.+]] = nn.one_hot [[V0]], [[V1]] {depth = 4, axis = 0} : (tensor<2x3xf32>, tensor<2x!q3>) -> tensor<4x2x3x!q3>
// CHECK-NEXT: [[V4:%.+]] = nn.one_hot [[V0]], [[V1]], [[V2]] : (tensor<2x3xf32>, tensor<2x!q3>, tensor<i64>) -> tensor<2x3x?x!q3>
// CHECK-NEXT: func.return
