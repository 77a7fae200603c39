// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!w = !quant.uniform<i8:f32:0, {0.01, 0.0125}>

func.func @selection(%w: tensor<2x5x!w>, %x: tensor<2x5xf32>, %k: tensor<1xi64>, %lengths: tensor<2xi64>) {
  %0, %1 = nn.top_k %w {k = 3} : (tensor<2x5x!w>) -> (tensor<2x3x!w>, tensor<2x3xi64>)
  %2, %3 = nn.top_k %x, %k {axis = 0, largest = false} : (tensor<2x5xf32>, tensor<1xi64>) -> (tensor<?x5xf32>, tensor<?x5xi64>)
  %4 = nn.non_zero %x : (tensor<2x5xf32>) -> tensor<2x?xi64>
  %5, %6, %7, %8 = nn.unique %x {sorted_values = false} : (tensor<2x5xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
  %9, %10, %11, %12 = nn.unique %w {axis = 1} : (tensor<2x5x!w>) -> (tensor<2x?x!w>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
  %13 = nn.reverse_sequence %w, %lengths {batch_axis = 0, time_axis = 1} : (tensor<2x5x!w>, tensor<2xi64>) -> tensor<2x5x!w>
  func.return
}

func.func @shapes(%x: tensor<2x?xf32>, %s: tensor<f32>) {
  %0 = nn.shape %x {start = 1} : (tensor<2x?xf32>) -> tensor<1xi64>
  %1 = nn.size %x : (tensor<2x?xf32>) -> tensor<i64>
  %2 = nn.range %s, %s, %s : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  func.return
}

// CHECK: !q0 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-LABEL: @selection(
// CHECK-SAME: [[V0:%.+]]: tensor<2x5x!q0>, [[V1:%.+]]: tensor<2x5xf32>, [[V2:%.+]]: tensor<1xi64>, [[V3:%.+]]: tensor<2xi64>)
// CHECK-NEXT: [[V4:%.+]], [[V5:%.+]] = nn.top_k [[V0]] {k = 3} : (tensor<2x5x!q0>) -> (tensor<2x3x!q0>, tensor<2x3xi64>)
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]] = nn.top_k [[V1]], [[V2]] {axis = 0, largest = false} : (tensor<2x5xf32>, tensor<1xi64>) -> (tensor<?x5xf32>, tensor<?x5xi64>)
// CHECK-NEXT: [[V8:%.+]] = nn.non_zero [[V1]] : (tensor<2x5xf32>) -> tensor<2x?xi64>
// CHECK-NEXT: [[V9:%.+]], [[V10:%.+]], [[V11:%.+]], [[V12:%.+]] = nn.unique [[V1]] {sorted_values = false} : (tensor<2x5xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
// CHECK-NEXT: [[V13:%.+]], [[V14:%.+]], [[V15:%.+]], [[V16:%.+]] = nn.unique [[V0]] {axis = 1} : (tensor<2x5x!q0>) -> (tensor<2x?x!q0>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
// CHECK-NEXT: [[V17:%.+]] = nn.reverse_sequence [[V0]], [[V3]] {batch_axis = 0, time_axis = 1} : (tensor<2x5x!q0>, tensor<2xi64>) -> tensor<2x5x!q0>
// CHECK-NEXT: func.return
// CHECK-LABEL: @shapes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x?xf32>, [[V1:%.+]]: tensor<f32>)
// CHECK-NEXT: [[V2:%.+]] = nn.shape [[V0]] {start = 1} : (tensor<2x?xf32>) -> tensor<1xi64>
// CHECK-NEXT: [[V3:%.+]] = nn.size [[V0]] : (tensor<2x?xf32>) -> tensor<i64>
// CHECK-NEXT: [[V4:%.+]] = nn.range [[V1]], [[V1]], [[V1]] : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
// CHECK-NEXT: func.return
