// RUN: qmlir-opt %s -p canonicalize | filecheck %s
// RUN: qmlir-opt %s -p canonicalize -o %t.once && qmlir-opt %t.once -p canonicalize | diff %t.once -

!q = !quant.uniform<i8:f32, 0.1>
!w = !quant.uniform<i8:f32:1, {0.01, 0.0125}>
!w0 = !quant.uniform<i8:f32:0, {0.01, 0.0125}>

func.func @unit_axes(%x: tensor<1x2x3xf32>, %w: tensor<1x2x!w>, %n: tensor<?x3x1x1x!q>) -> (tensor<1x2x3xf32>, tensor<2x!w0>, tensor<?x3x!q>) {
  %0 = nn.squeeze %x : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "squeeze"}
  %1 = nn.relu %0 : tensor<2x3xf32>
  %2 = nn.unsqueeze %1 {axes = [0]} : (tensor<2x3xf32>) -> tensor<1x2x3xf32> {origin = "unsqueeze"}
  %3 = nn.squeeze %w {axes = [0]} : (tensor<1x2x!w>) -> tensor<2x!w0>
  %4 = nn.squeeze %n {axes = [2, 3]} : (tensor<?x3x1x1x!q>) -> tensor<?x3x!q>
  func.return %2, %3, %4 : tensor<1x2x3xf32>, tensor<2x!w0>, tensor<?x3x!q>
}

// Without its axes, with two unknown sizes, or with an unknown one beside none at all, no reshape says the same.
func.func @open_axes(%x: tensor<1x2xf32>, %axes: tensor<1xi64>, %n: tensor<?x?x1xf32>, %e: tensor<?x0x1xf32>) -> (tensor<?xf32>, tensor<?x?xf32>, tensor<?x0xf32>) {
  %0 = nn.squeeze %x, %axes : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<?xf32>
  %1 = nn.squeeze %n {axes = [2]} : (tensor<?x?x1xf32>) -> tensor<?x?xf32>
  %2 = nn.squeeze %e {axes = [2]} : (tensor<?x0x1xf32>) -> tensor<?x0xf32>
  func.return %0, %1, %2 : tensor<?xf32>, tensor<?x?xf32>, tensor<?x0xf32>
}

func.func @expansions(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.expand %x {shape = [1, 3]} : tensor<2x3xf32>
  %1 = nn.tile %0 {repeats = [1, 1]} : tensor<2x3xf32>
  %2 = nn.pad %1 {pads = [0, 0]  , axes = [1]} : tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// A pad that moves has the same type, and stays.
func.func @moving_pad(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.pad %x {pads = [1, -1], axes = [1]} : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// A parameter that is a constant becomes a property, a number where the property is one.
func.func @parameters(%x: tensor<2x3xf32>) -> (tensor<?x3xf32>, tensor<2x3xf32>) {
  %k = nn.constant dense<1> : tensor<1xi64>
  %axis = nn.constant dense<-1> : tensor<i64>
  %0, %1 = nn.top_k %x, %k {axis = 0} : (tensor<2x3xf32>, tensor<1xi64>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %2 = nn.cum_sum %x, %axis : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  func.return %0, %2 : tensor<?x3xf32>, tensor<2x3xf32>
}

// One that is wrong stays: whoever runs the operation is told.
func.func @wrong_parameter(%x: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %repeats = nn.constant dense<[2, 2, 2]> : tensor<3xi64>
  %0 = nn.tile %x, %repeats : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

func.func @wrong_constant() -> tensor<?x?xf32> {
  %x = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %repeats = nn.constant dense<[-1, 2]> : tensor<2xi64>
  %0 = nn.tile %x, %repeats : (tensor<1x2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32:1, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-LABEL: @unit_axes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3xf32>, [[V1:%.+]]: tensor<1x2x!q0>, [[V2:%.+]]: tensor<?x3x1x1x!q1>) -> (tensor<1x2x3xf32>, tensor<2x!q2>, tensor<?x3x!q1>)
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[V0]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "squeeze"}
// CHECK-NEXT: [[V4:%.+]] = nn.relu [[V3]] : tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] : (tensor<2x3xf32>) -> tensor<1x2x3xf32> {origin = "unsqueeze"}
// CHECK-NEXT: [[V6:%.+]] = nn.reshape [[V1]] : (tensor<1x2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V7:%.+]] = nn.reshape [[V2]] : (tensor<?x3x1x1x!q1>) -> tensor<?x3x!q1>
// CHECK-NEXT: func.return [[V5]], [[V6]], [[V7]] : tensor<1x2x3xf32>, tensor<2x!q2>, tensor<?x3x!q1>
// CHECK-LABEL: @open_axes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>, [[V1:%.+]]: tensor<1xi64>, [[V2:%.+]]: tensor<?x?x1xf32>, [[V3:%.+]]: tensor<?x0x1xf32>) -> (tensor<?xf32>, tensor<?x?xf32>, tensor<?x0xf32>)
// CHECK-NEXT: [[V4:%.+]] = nn.squeeze [[V0]], [[V1]] : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<?xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.squeeze [[V2]] {axes = [2]} : (tensor<?x?x1xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.squeeze [[V3]] {axes = [2]} : (tensor<?x0x1xf32>) -> tensor<?x0xf32>
// CHECK-NEXT: func.return [[V4]], [[V5]], [[V6]] : tensor<?xf32>, tensor<?x?xf32>, tensor<?x0xf32>
// CHECK-LABEL: @expansions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<2x3xf32>
// CHECK-LABEL: @moving_pad(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.pad [[V0]] {pads = [1, -1], axes = [1]} : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<2x3xf32>
// CHECK-LABEL: @parameters(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<?x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]] = nn.top_k [[V0]] {axis = 0, k = 1} : (tensor<2x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
// CHECK-NEXT: [[V3:%.+]] = nn.cum_sum [[V0]] {axis = -1} : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V1]], [[V3]] : tensor<?x3xf32>, tensor<2x3xf32>
// CHECK-LABEL: @wrong_parameter(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<2> : tensor<3xi64>
// CHECK-NEXT: [[V2:%.+]] = nn.tile [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<?x?xf32>
// CHECK-LABEL: @wrong_constant(
// CHECK-SAME: ) -> tensor<?x?xf32>
// CHECK-NEXT: [[V0:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[-1, 2]> : tensor<2xi64>
// CHECK-NEXT: [[V2:%.+]] = nn.tile [[V0]], [[V1]] : (tensor<1x2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<?x?xf32>
