// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!q = !quant.uniform<i8:f32, 0.02:-3>
!w = !quant.uniform<i8:f32:0, {0.01, 0.0125}>

func.func @axes(%x: tensor<1x2x1xf32>, %axes: tensor<1xi64>) {
  %0 = nn.squeeze %x : (tensor<1x2x1xf32>) -> tensor<2xf32>
  %1 = nn.squeeze %x {axes = [-1]} : (tensor<1x2x1xf32>) -> tensor<1x2xf32>
  %2 = nn.squeeze %x, %axes : (tensor<1x2x1xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  %3 = nn.unsqueeze %0 {axes = [0, 2]} : (tensor<2xf32>) -> tensor<1x2x1xf32>
  %4 = nn.unsqueeze %0, %axes : (tensor<2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  func.return
}

func.func @split(%x: tensor<5x4xf32>, %q: tensor<2x4x!w>, %sizes: tensor<2xi64>) {
  %0, %1 = nn.split %x : (tensor<5x4xf32>) -> (tensor<3x4xf32>, tensor<2x4xf32>)
  %2, %3 = nn.split %q {axis = -1, split = [1, 3]} : (tensor<2x4x!w>) -> (tensor<2x1x!w>, tensor<2x3x!w>)
  %4, %5 = nn.split %x, %sizes {axis = 1} : (tensor<5x4xf32>, tensor<2xi64>) -> (tensor<5x?xf32>, tensor<5x?xf32>)
  func.return
}

func.func @blocks(%x: tensor<?x8x2x3x!q>) -> tensor<?x8x2x3x!q> {
  %0 = nn.depth_to_space %x {block_size = 2} : (tensor<?x8x2x3x!q>) -> tensor<?x2x4x6x!q>
  %1 = nn.space_to_depth %0 {block_size = 2, mode = "CRD"} : (tensor<?x2x4x6x!q>) -> tensor<?x8x2x3x!q>
  func.return %1 : tensor<?x8x2x3x!q>
}

// CHECK: !q0 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-LABEL: @axes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x1xf32>, [[V1:%.+]]: tensor<1xi64>)
// CHECK-NEXT: [[V2:%.+]] = nn.squeeze [[V0]] : (tensor<1x2x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.squeeze [[V0]] {axes = [-1]} : (tensor<1x2x1xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.squeeze [[V0]], [[V1]] : (tensor<1x2x1xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.unsqueeze [[V2]] {axes = [0, 2]} : (tensor<2xf32>) -> tensor<1x2x1xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.unsqueeze [[V2]], [[V1]] : (tensor<2xf32>, tensor<1xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return
// CHECK-LABEL: @split(
// CHECK-SAME: [[V0:%.+]]: tensor<5x4xf32>, [[V1:%.+]]: tensor<2x4x!q0>, [[V2:%.+]]: tensor<2xi64>)
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = nn.split [[V0]] : (tensor<5x4xf32>) -> (tensor<3x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]] = nn.split [[V1]] {axis = -1, split = [1, 3]} : (tensor<2x4x!q0>) -> (tensor<2x1x!q0>, tensor<2x3x!q0>)
// CHECK-NEXT: [[V7:%.+]], [[V8:%.+]] = nn.split [[V0]], [[V2]] {axis = 1} : (tensor<5x4xf32>, tensor<2xi64>) -> (tensor<5x?xf32>, tensor<5x?xf32>)
// CHECK-NEXT: func.return
// CHECK-LABEL: @blocks(
// CHECK-SAME: [[V0:%.+]]: tensor<?x8x2x3x!q1>) -> tensor<?x8x2x3x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.depth_to_space [[V0]] {block_size = 2} : (tensor<?x8x2x3x!q1>) -> tensor<?x2x4x6x!q1>
// CHECK-NEXT: [[V2:%.+]] = nn.space_to_depth [[V1]] {block_size = 2, mode = "CRD"} : (tensor<?x2x4x6x!q1>) -> tensor<?x8x2x3x!q1>
// CHECK-NEXT: func.return [[V2]] : tensor<?x8x2x3x!q1>
