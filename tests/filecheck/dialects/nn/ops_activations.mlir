// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// The activation functions, with properties that are not the defaults where there are any.

func.func @activations(%v0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %v1 = nn.relu %v0 : tensor<2x3xf32>
  %v2 = nn.thresholded_relu %v1 {alpha = 2.0} : tensor<2x3xf32>
  %v3 = nn.elu %v2 {alpha = 0.5} : tensor<2x3xf32>
  %v4 = nn.celu %v3 {alpha = 2.0} : tensor<2x3xf32>
  %v5 = nn.selu %v4 {alpha = 1.5, gamma = 2.0} : tensor<2x3xf32>
  %v6 = nn.hard_sigmoid %v5 {alpha = 0.25, beta = 0.75} : tensor<2x3xf32>
  %v7 = nn.swish %v6 {alpha = 1.5} : tensor<2x3xf32>
  %v8 = nn.mish %v7 : tensor<2x3xf32>
  %v9 = nn.softplus %v8 : tensor<2x3xf32>
  %v10 = nn.softsign %v9 : tensor<2x3xf32>
  %v11 = nn.leaky_relu %v10 {alpha = 0.25} : tensor<2x3xf32>
  %v12 = nn.gelu %v11 : tensor<2x3xf32>
  func.return %v12 : tensor<2x3xf32>
}

// What is left out are ONNX's defaults.
func.func @defaults(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.elu %x {alpha = 1.0} : tensor<2xf32>
  %1 = nn.selu %0 {alpha = 1.67326319, gamma = 1.05070102} : tensor<2xf32>
  %2 = nn.hard_sigmoid %1 {alpha = 0.2, beta = 0.5} : tensor<2xf32>
  %3 = nn.swish %2 {alpha = 1.0} : tensor<2xf32>
  func.return %3 : tensor<2xf32>
}

!q = !quant.uniform<i8:f32, 0.1>
func.func @slopes(%x: tensor<?x3x4xf32>, %s: tensor<3x1xf32>, %q: tensor<2x!q>, %t: tensor<!q>) -> (tensor<?x3x4xf32>, tensor<2x!q>) {
  %0 = nn.prelu %x, %s : (tensor<?x3x4xf32>, tensor<3x1xf32>) -> tensor<?x3x4xf32>
  %1 = nn.prelu %q, %t : (tensor<2x!q>, tensor<!q>) -> tensor<2x!q>
  func.return %0, %1 : tensor<?x3x4xf32>, tensor<2x!q>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-LABEL: @activations(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.thresholded_relu [[V1]] {alpha = 2.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.elu [[V2]] {alpha = 0.5} : tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.celu [[V3]] {alpha = 2.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.selu [[V4]] {alpha = 1.5, gamma = 2.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.hard_sigmoid [[V5]] {alpha = 0.25, beta = 0.75} : tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.swish [[V6]] {alpha = 1.5} : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.mish [[V7]] : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.softplus [[V8]] : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.softsign [[V9]] : tensor<2x3xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.leaky_relu [[V10]] {alpha = 0.25} : tensor<2x3xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.gelu [[V11]] : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V12]] : tensor<2x3xf32>
// CHECK-LABEL: @defaults(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.elu [[V0]] : tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.selu [[V1]] : tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.hard_sigmoid [[V2]] : tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.swish [[V3]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2xf32>
// CHECK-LABEL: @slopes(
// CHECK-SAME: [[V0:%.+]]: tensor<?x3x4xf32>, [[V1:%.+]]: tensor<3x1xf32>, [[V2:%.+]]: tensor<2x!q0>, [[V3:%.+]]: tensor<!q0>) -> (tensor<?x3x4xf32>, tensor<2x!q0>)
// CHECK-NEXT: [[V4:%.+]] = nn.prelu [[V0]], [[V1]] : (tensor<?x3x4xf32>, tensor<3x1xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.prelu [[V2]], [[V3]] : (tensor<2x!q0>, tensor<!q0>) -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<?x3x4xf32>, tensor<2x!q0>
