// RUN: qmlir-opt %s -p quant-dequantize-composites | filecheck %s
// RUN: qmlir-opt %s -p 'quant-dequantize-composites{keep=gelu},canonicalize' | filecheck %s --check-prefix=KEPT
// RUN: qmlir-opt %s -p 'quant-dequantize-composites,nn-decompose,calib-insert-observers' | filecheck %s --check-prefix=SEEN

!x = !quant.uniform<i8:f32, 0.05>
!y = !quant.uniform<i8:f32, 0.025:-120>
!t = !quant.uniform<i16:f32, 0.001>
!w = !quant.uniform<i8:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.025>

// Its parts are not known: they are in float, and only they are profiled. What has no parts, or says the types of its
// parts, stays.
func.func @main(%x: tensor<4x!x> {nn.name = "x"}, %r: tensor<1x4x!x> {nn.name = "r"}, %w: tensor<2x4x!w> {nn.name = "w"})
    -> (tensor<4x!y> {nn.name = "y"}, tensor<4x!y> {nn.name = "z"}, tensor<1x2x!y> {nn.name = "v"}) {
  %0 = nn.gelu %x : (tensor<4x!x>) -> tensor<4x!y> {origin = "act"}
  %1 = nn.sigmoid %x : (tensor<4x!x>) -> tensor<4x!y> {origin = "gate"}
  %2 = nn.fully_connected %r, %w {components = {matmul = !s}} : (tensor<1x4x!x>, tensor<2x4x!w>) -> tensor<1x2x!y> {origin = "fc"}
  func.return %0, %1, %2 : tensor<4x!y>, tensor<4x!y>, tensor<1x2x!y>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-02>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-02:-120>
// CHECK-NEXT: !q3 = !quant.uniform<i32:f32, 2.500000e-02>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0> {nn.name = "x"}, [[V1:%.+]]: tensor<1x4x!q0> {nn.name = "r"}, [[V2:%.+]]: tensor<2x4x!q1> {nn.name = "w"}) -> (tensor<4x!q2> {nn.name = "y"}, tensor<4x!q2> {nn.name = "z"}, tensor<1x2x!q2> {nn.name = "v"})
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V0]] {origin = "act"} : tensor<4x!q0> to tensor<4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.gelu [[V3]] : tensor<4xf32> {origin = "act"}
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] {origin = "act"} : tensor<4xf32> to tensor<4x!q2>
// CHECK-NEXT: [[V6:%.+]] = nn.sigmoid [[V0]] : (tensor<4x!q0>) -> tensor<4x!q2> {origin = "gate"}
// CHECK-NEXT: [[V7:%.+]] = nn.fully_connected [[V1]], [[V2]] {components = {matmul = !q3}} : (tensor<1x4x!q0>, tensor<2x4x!q1>) -> tensor<1x2x!q2> {origin = "fc"}
// CHECK-NEXT: func.return [[V5]], [[V6]], [[V7]] : tensor<4x!q2>, tensor<4x!q2>, tensor<1x2x!q2>

// KEPT: !q0 = !quant.uniform<i8:f32, 5.000000e-02>
// KEPT-NEXT: !q1 = !quant.uniform<i8:f32, 5.000000e-01>
// KEPT-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-02:-120>
// KEPT-NEXT: !q3 = !quant.uniform<i32:f32, 2.500000e-02>
// KEPT-LABEL: @main(
// KEPT-SAME: [[V0:%.+]]: tensor<4x!q0> {nn.name = "x"}, [[V1:%.+]]: tensor<1x4x!q0> {nn.name = "r"}, [[V2:%.+]]: tensor<2x4x!q1> {nn.name = "w"}) -> (tensor<4x!q2> {nn.name = "y"}, tensor<4x!q2> {nn.name = "z"}, tensor<1x2x!q2> {nn.name = "v"})
// KEPT-NEXT: [[V3:%.+]] = nn.gelu [[V0]] : (tensor<4x!q0>) -> tensor<4x!q2> {origin = "act"}
// KEPT-NEXT: [[V4:%.+]] = nn.sigmoid [[V0]] : (tensor<4x!q0>) -> tensor<4x!q2> {origin = "gate"}
// KEPT-NEXT: [[V5:%.+]] = nn.fully_connected [[V1]], [[V2]] {components = {matmul = !q3}} : (tensor<1x4x!q0>, tensor<2x4x!q1>) -> tensor<1x2x!q2> {origin = "fc"}
// KEPT-NEXT: func.return [[V3]], [[V4]], [[V5]] : tensor<4x!q2>, tensor<4x!q2>, tensor<1x2x!q2>

// SEEN: !q0 = !quant.uniform<i8:f32, 5.000000e-02>
// SEEN-NEXT: !q1 = !quant.uniform<i8:f32, 5.000000e-01>
// SEEN-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-02:-120>
// SEEN-LABEL: @main(
// SEEN-SAME: [[V0:%.+]]: tensor<4x!q0> {nn.name = "x"}, [[V1:%.+]]: tensor<1x4x!q0> {nn.name = "r"}, [[V2:%.+]]: tensor<2x4x!q1> {nn.name = "w"}) -> (tensor<4x!q2> {nn.name = "y"}, tensor<4x!q2> {nn.name = "z"}, tensor<1x2x!q2> {nn.name = "v"})
// SEEN-NEXT: [[V3:%.+]] = quant.dcast [[V0]] {origin = "act"} : tensor<4x!q0> to tensor<4xf32>
// SEEN-NEXT: [[V4:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "act", role = "factor"}
// SEEN-NEXT: [[V5:%.+]] = nn.mul [[V3]], [[V4]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {origin = "act", role = "argument"}
// SEEN-NEXT: [[V6:%.+]] = calib.observe [[V5]] "act/argument" : tensor<4xf32>
// SEEN-NEXT: [[V7:%.+]] = nn.erf [[V6]] : tensor<4xf32> {origin = "act", role = "erf"}
// SEEN-NEXT: [[V8:%.+]] = calib.observe [[V7]] "act/erf" : tensor<4xf32>
// SEEN-NEXT: [[V9:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "act", role = "one"}
// SEEN-NEXT: [[V10:%.+]] = nn.add [[V8]], [[V9]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {origin = "act", role = "gate"}
// SEEN-NEXT: [[V11:%.+]] = calib.observe [[V10]] "act/gate" : tensor<4xf32>
// SEEN-NEXT: [[V12:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "act", role = "one_half"}
// SEEN-NEXT: [[V13:%.+]] = nn.mul [[V3]], [[V12]] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {origin = "act", role = "half"}
// SEEN-NEXT: [[V14:%.+]] = calib.observe [[V13]] "act/half" : tensor<4xf32>
// SEEN-NEXT: [[V15:%.+]] = nn.mul [[V14]], [[V11]] : tensor<4xf32> {origin = "act", role = "product", composite = {op = "nn.gelu"}}
// SEEN-NEXT: [[V16:%.+]] = quant.qcast [[V15]] {origin = "act"} : tensor<4xf32> to tensor<4x!q2>
// SEEN-NEXT: [[V17:%.+]] = nn.sigmoid [[V0]] : (tensor<4x!q0>) -> tensor<4x!q2> {origin = "gate"}
// SEEN-NEXT: [[V18:%.+]] = nn.matmul [[V1]], [[V2]] {transpose_b = true} : (tensor<1x4x!q0>, tensor<2x4x!q1>) -> tensor<1x2x!q2> {origin = "fc", role = "matmul", composite = {op = "nn.fully_connected"}}
// SEEN-NEXT: func.return [[V16]], [[V17]], [[V18]] : tensor<4x!q2>, tensor<4x!q2>, tensor<1x2x!q2>
