// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// Pools of windows and of whole channels; of the largest element, integers and quantized values too.

!q = !quant.uniform<i8:f32, 0.02:-3>

func.func @windows(%x: tensor<?x2x?x7xf32>) -> tensor<?x2x?x3xf32> {
  %0 = nn.max_pool %x {kernel = [2, 2], dilations = [1, 2]} : (tensor<?x2x?x7xf32>) -> tensor<?x2x?x5xf32>
  %1 = nn.average_pool %0 {kernel = [3, 3], strides = [1, 2], pads = [1, 1, 1, 1], ceil_mode = true, count_include_pad = true} : (tensor<?x2x?x5xf32>) -> tensor<?x2x?x3xf32>
  %2 = nn.lp_pool %1 {kernel = [1, 1]} : tensor<?x2x?x3xf32>
  %3 = nn.lp_pool %2 {kernel = [1, 1], p = 3} : tensor<?x2x?x3xf32>
  func.return %3 : tensor<?x2x?x3xf32>
}

func.func @indices(%x: tensor<1x2x5xui8>, %y: tensor<1x2x5x!q>) -> (tensor<1x2x2xi64>, tensor<1x2x4x!q>, tensor<1x2x4xi64>) {
  %0, %1 = nn.max_pool_with_indices %x {kernel = [2], strides = [2]} : (tensor<1x2x5xui8>) -> (tensor<1x2x2xui8>, tensor<1x2x2xi64>)
  %2, %3 = nn.max_pool_with_indices %y {kernel = [2], column_major = true} : (tensor<1x2x5x!q>) -> (tensor<1x2x4x!q>, tensor<1x2x4xi64>)
  func.return %1, %2, %3 : tensor<1x2x2xi64>, tensor<1x2x4x!q>, tensor<1x2x4xi64>
}

func.func @channels(%x: tensor<?x2x?x?xf16>, %y: tensor<1x2x5x!q>) -> (tensor<?x2x1x1xf16>, tensor<1x2x1x!q>) {
  %0 = nn.global_average_pool %x : (tensor<?x2x?x?xf16>) -> tensor<?x2x1x1xf16>
  %1 = nn.global_lp_pool %0 {p = 1} : tensor<?x2x1x1xf16>
  %2 = nn.global_max_pool %1 : tensor<?x2x1x1xf16>
  %3 = nn.global_max_pool %y : (tensor<1x2x5x!q>) -> tensor<1x2x1x!q>
  func.return %2, %3 : tensor<?x2x1x1xf16>, tensor<1x2x1x!q>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-LABEL: @windows(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2x?x7xf32>) -> tensor<?x2x?x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.max_pool [[V0]] {kernel = [2, 2], dilations = [1, 2]} : (tensor<?x2x?x7xf32>) -> tensor<?x2x?x5xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.average_pool [[V1]] {kernel = [3, 3], strides = [1, 2], pads = [1, 1, 1, 1], ceil_mode = true, count_include_pad = true} : (tensor<?x2x?x5xf32>) -> tensor<?x2x?x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.lp_pool [[V2]] {kernel = [1, 1]} : tensor<?x2x?x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.lp_pool [[V3]] {kernel = [1, 1], p = 3} : tensor<?x2x?x3xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<?x2x?x3xf32>
// CHECK-LABEL: @indices(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x5xui8>, [[V1:%.+]]: tensor<1x2x5x!q0>) -> (tensor<1x2x2xi64>, tensor<1x2x4x!q0>, tensor<1x2x4xi64>)
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]] = nn.max_pool_with_indices [[V0]] {kernel = [2], strides = [2]} : (tensor<1x2x5xui8>) -> (tensor<1x2x2xui8>, tensor<1x2x2xi64>)
// CHECK-NEXT: [[V4:%.+]], [[V5:%.+]] = nn.max_pool_with_indices [[V1]] {kernel = [2], column_major = true} : (tensor<1x2x5x!q0>) -> (tensor<1x2x4x!q0>, tensor<1x2x4xi64>)
// CHECK-NEXT: func.return [[V3]], [[V4]], [[V5]] : tensor<1x2x2xi64>, tensor<1x2x4x!q0>, tensor<1x2x4xi64>
// CHECK-LABEL: @channels(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2x?x?xf16>, [[V1:%.+]]: tensor<1x2x5x!q0>) -> (tensor<?x2x1x1xf16>, tensor<1x2x1x!q0>)
// CHECK-NEXT: [[V2:%.+]] = nn.global_average_pool [[V0]] : (tensor<?x2x?x?xf16>) -> tensor<?x2x1x1xf16>
// CHECK-NEXT: [[V3:%.+]] = nn.global_lp_pool [[V2]] {p = 1} : tensor<?x2x1x1xf16>
// CHECK-NEXT: [[V4:%.+]] = nn.global_max_pool [[V3]] : tensor<?x2x1x1xf16>
// CHECK-NEXT: [[V5:%.+]] = nn.global_max_pool [[V1]] : (tensor<1x2x5x!q0>) -> tensor<1x2x1x!q0>
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<?x2x1x1xf16>, tensor<1x2x1x!q0>
