// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!w = !quant.uniform<i8:f32:0, {0.01, 0.0125}>
!w1 = !quant.uniform<i8:f32:1, {0.01, 0.0125}>

func.func @reductions(%x: tensor<2x3x4xf32>, %i: tensor<2x3xi32>, %axes: tensor<1xi64>, %many: tensor<?xi64>) {
  %0 = nn.reduce_prod %x {axes = [1]} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %1 = nn.reduce_l1 %x {axes = [0, -1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %2 = nn.reduce_l2 %x {noop_with_empty_axes = true} : tensor<2x3x4xf32>
  %3 = nn.reduce_log_sum %x : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
  %4 = nn.reduce_log_sum_exp %x, %axes {keep_dims = false} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  %5 = nn.reduce_sum_square %i, %many : (tensor<2x3xi32>, tensor<?xi64>) -> tensor<?x?xi32>
  func.return
}

// The largest element is one of the elements: its type stays, and per-axis parameters move with their axis.
func.func @extremes(%x: tensor<3x2x!w1>, %b: tensor<3xi1>) {
  %0 = nn.reduce_max %x {axes = [0], keep_dims = false} : (tensor<3x2x!w1>) -> tensor<2x!w>
  %1 = nn.reduce_min %b {keep_dims = false} : (tensor<3xi1>) -> tensor<i1>
  %2 = nn.arg_max %x {axis = 1} : (tensor<3x2x!w1>) -> tensor<3x1xi64>
  %3 = nn.arg_min %x {axis = -1, keep_dims = false, select_last_index = true} : (tensor<3x2x!w1>) -> tensor<3xi64>
  func.return
}

func.func @scans(%x: tensor<2x3xf32>, %axis: tensor<i64>) -> tensor<2x3xf32> {
  %0 = nn.cum_sum %x {axis = 1, exclusive = true} : tensor<2x3xf32>
  %1 = nn.cum_prod %0, %axis {reverse = true} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32:1, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-LABEL: @reductions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xf32>, [[V1:%.+]]: tensor<2x3xi32>, [[V2:%.+]]: tensor<1xi64>, [[V3:%.+]]: tensor<?xi64>)
// CHECK-NEXT: [[V4:%.+]] = nn.reduce_prod [[V0]] {axes = [1]} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_l1 [[V0]] {axes = [0, -1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.reduce_l2 [[V0]] {noop_with_empty_axes = true} : tensor<2x3x4xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.reduce_log_sum [[V0]] : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.reduce_log_sum_exp [[V0]], [[V2]] {keep_dims = false} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.reduce_sum_square [[V1]], [[V3]] : (tensor<2x3xi32>, tensor<?xi64>) -> tensor<?x?xi32>
// CHECK-NEXT: func.return
// CHECK-LABEL: @extremes(
// CHECK-SAME: [[V0:%.+]]: tensor<3x2x!q0>, [[V1:%.+]]: tensor<3xi1>)
// CHECK-NEXT: [[V2:%.+]] = nn.reduce_max [[V0]] {axes = [0], keep_dims = false} : (tensor<3x2x!q0>) -> tensor<2x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.reduce_min [[V1]] {keep_dims = false} : (tensor<3xi1>) -> tensor<i1>
// CHECK-NEXT: [[V4:%.+]] = nn.arg_max [[V0]] {axis = 1} : (tensor<3x2x!q0>) -> tensor<3x1xi64>
// CHECK-NEXT: [[V5:%.+]] = nn.arg_min [[V0]] {axis = -1, keep_dims = false, select_last_index = true} : (tensor<3x2x!q0>) -> tensor<3xi64>
// CHECK-NEXT: func.return
// CHECK-LABEL: @scans(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.cum_sum [[V0]] {axis = 1, exclusive = true} : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.cum_prod [[V2]], [[V1]] {reverse = true} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2x3xf32>
