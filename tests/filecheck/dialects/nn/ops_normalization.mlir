// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @of_channels(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x5xf32>, [[V1:%.+]]: tensor<4xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.batch_norm [[V0]], [[V1]], [[V1]], [[V1]], [[V1]] {epsilon = 0.001} : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.instance_norm [[V2]], [[V1]], [[V1]] : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.group_norm [[V3]], [[V1]], [[V1]] {groups = 2, precision = f64} : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.local_response_norm [[V4]] {size = 3, beta = 0.5} : tensor<?x4x5xf32>
// CHECK-NEXT: nn.batch_norm [[V0]], [[V1]], [[V1]] : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
// CHECK-NEXT: func.return
func.func @of_channels(%x: tensor<?x4x5xf32>, %c: tensor<4xf32>) {
  %0 = nn.batch_norm %x, %c, %c, %c, %c {epsilon = 0.001} : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
  %1 = nn.instance_norm %0, %c, %c : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
  %2 = nn.group_norm %1, %c, %c {groups = 2, precision = f64} : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
  %3 = nn.local_response_norm %2 {size = 3, beta = 0.5} : tensor<?x4x5xf32>
  %5 = nn.batch_norm %x, %c, %c : (tensor<?x4x5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x5xf32>
  func.return
}

// Scale and bias broadcast to the data.
// CHECK-LABEL: @of_trailing_axes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xf16>, [[V1:%.+]]: tensor<3x4xf16>, [[V2:%.+]]: tensor<1xf16>)
// CHECK-NEXT: [[V3:%.+]] = nn.layer_norm [[V0]], [[V1]], [[V2]] {axis = 1} : (tensor<2x3x4xf16>, tensor<3x4xf16>, tensor<1xf16>) -> tensor<2x3x4xf16>
// CHECK-NEXT: [[V4:%.+]] = nn.layer_norm [[V3]], [[V2]] {precision = bf16, epsilon = 0.0} : (tensor<2x3x4xf16>, tensor<1xf16>) -> tensor<2x3x4xf16>
// CHECK-NEXT: [[V5:%.+]] = nn.rms_norm [[V4]], [[V1]] {axis = -2} : (tensor<2x3x4xf16>, tensor<3x4xf16>) -> tensor<2x3x4xf16>
// CHECK-NEXT: [[V6:%.+]] = nn.rms_norm [[V5]] : tensor<2x3x4xf16>
// CHECK-NEXT: [[V7:%.+]] = nn.lp_norm [[V6]] {axis = 0, p = 1} : tensor<2x3x4xf16>
// CHECK-NEXT: func.return
func.func @of_trailing_axes(%x: tensor<2x3x4xf16>, %s: tensor<3x4xf16>, %b: tensor<1xf16>) {
  %0 = nn.layer_norm %x, %s, %b {axis = 1} : (tensor<2x3x4xf16>, tensor<3x4xf16>, tensor<1xf16>) -> tensor<2x3x4xf16>
  %1 = nn.layer_norm %0, %b {precision = bf16, epsilon = 0.0} : (tensor<2x3x4xf16>, tensor<1xf16>) -> tensor<2x3x4xf16>
  %2 = nn.rms_norm %1, %s {axis = -2} : (tensor<2x3x4xf16>, tensor<3x4xf16>) -> tensor<2x3x4xf16>
  %3 = nn.rms_norm %2 : tensor<2x3x4xf16>
  %4 = nn.lp_norm %3 {axis = 0, p = 1} : tensor<2x3x4xf16>
  func.return
}
