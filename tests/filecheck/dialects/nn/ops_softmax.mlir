// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

func.func @softmax(%x: tensor<2x?x4xf32>, %q: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  %0 = nn.softmax %x {axis = 1} : tensor<2x?x4xf32>
  %1 = nn.log_softmax %0 : tensor<2x?x4xf32>
  %2 = nn.hardmax %1 {axis = -2} : tensor<2x?x4xf32>
  %3 = nn.softmax %q : (tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<u8:f32, 0.00390625>>
  func.return
}

func.func @masked_softmax(%x: tensor<2x?x4xf32>, %q: tensor<2x3x!quant.uniform<i8:f32, 0.1>>, %m: tensor<?x1xi1>, %n: tensor<3xi1>) {
  %0 = nn.softmax %x, %m {axis = 1} : (tensor<2x?x4xf32>, tensor<?x1xi1>) -> tensor<2x?x4xf32>
  %1 = nn.softmax %q, %n {empty_rows = "uniform"} : (tensor<2x3x!quant.uniform<i8:f32, 0.1>>, tensor<3xi1>) -> tensor<2x3x!quant.uniform<u8:f32, 0.00390625>>
  func.return
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 3.906250e-03>
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: tensor<2x?x4xf32>, [[V1:%.+]]: tensor<2x!q0>)
// CHECK-NEXT: [[V2:%.+]] = nn.softmax [[V0]] {axis = 1} : tensor<2x?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.log_softmax [[V2]] : tensor<2x?x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.hardmax [[V3]] {axis = -2} : tensor<2x?x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.softmax [[V1]] : (tensor<2x!q0>) -> tensor<2x!q1>
// CHECK-NEXT: func.return
// CHECK-LABEL: @masked_softmax(
// CHECK: nn.softmax %{{.+}}, %{{.+}} {axis = 1} : (tensor<2x?x4xf32>, tensor<?x1xi1>) -> tensor<2x?x4xf32>
// CHECK-NEXT: nn.softmax %{{.+}}, %{{.+}} {empty_rows = "uniform"} : (tensor<2x3x!q0>, tensor<3xi1>) -> tensor<2x3x!q1>
