// RUN: qmlir-opt %s -p nn-raise | filecheck %s
// RUN: qmlir-opt %s -p nn-raise,nn-decompose,nn-raise | filecheck %s
// RUN: qmlir-opt %s -p nn-raise,nn-decompose | filecheck %s --check-prefix=PARTS

// Composites that are quantized as their parts: each part keeps the type that it has.
!x = !quant.uniform<i8:f32, 0.5>
!s = !quant.uniform<i8:f32, 0.25:127>
!e = !quant.uniform<u8:f32, 0.00390625>
!t = !quant.uniform<u16:f32, 0.0009765625>
!l = !quant.uniform<i16:f32, 0.0001220703125>
func.func @log_softmax(%x: tensor<4x!x>) -> tensor<4x!s> {
  %0 = nn.reduce_max %x {axes = [0]} : (tensor<4x!x>) -> tensor<1x!x> {origin = "ls", role = "max"}
  %1 = nn.sub %x, %0 : (tensor<4x!x>, tensor<1x!x>) -> tensor<4x!s> {origin = "ls", role = "shifted"}
  %2 = nn.exp %1 : (tensor<4x!s>) -> tensor<4x!e> {origin = "ls", role = "exp"}
  %3 = nn.reduce_sum %2 {axes = [0]} : (tensor<4x!e>) -> tensor<1x!t> {origin = "ls", role = "sum"}
  %4 = nn.log %3 : (tensor<1x!t>) -> tensor<1x!l> {origin = "ls", role = "log"}
  %5 = nn.sub %1, %4 : (tensor<4x!s>, tensor<1x!l>) -> tensor<4x!s> {origin = "ls", role = "sub", composite = {op = "nn.log_softmax"}}
  func.return %5 : tensor<4x!s>
}

func.func @rms_norm(%x: tensor<2x4x!x>, %w: tensor<4x!x>) -> tensor<2x4x!x> {
  %0 = nn.mul %x, %x : (tensor<2x4x!x>, tensor<2x4x!x>) -> tensor<2x4x!t> {origin = "n", role = "squared"}
  %1 = nn.reduce_mean %0 {axes = [1]} : (tensor<2x4x!t>) -> tensor<2x1x!t> {origin = "n", role = "mean_square"}
  %2 = nn.constant dense<1> : tensor<ui8> -> tensor<!e> {origin = "n", role = "epsilon"}
  %3 = nn.add %1, %2 : (tensor<2x1x!t>, tensor<!e>) -> tensor<2x1x!t> {origin = "n", role = "mean_square_epsilon"}
  %4 = nn.sqrt %3 : (tensor<2x1x!t>) -> tensor<2x1x!l> {origin = "n", role = "deviation"}
  %5 = nn.div %x, %4 : (tensor<2x4x!x>, tensor<2x1x!l>) -> tensor<2x4x!l> {origin = "n", role = "normalized"}
  %6 = nn.mul %5, %w : (tensor<2x4x!l>, tensor<4x!x>) -> tensor<2x4x!x> {origin = "n", role = "mul", composite = {op = "nn.rms_norm", properties = {epsilon = 0.00390625 : f32}}}
  func.return %6 : tensor<2x4x!x>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.500000e-01:127>
// CHECK-NEXT: !q2 = !quant.uniform<u8:f32, 3.906250e-03>
// CHECK-NEXT: !q3 = !quant.uniform<u16:f32, 9.765625e-04>
// CHECK-NEXT: !q4 = !quant.uniform<i16:f32, 0.0001220703125>
// CHECK-LABEL: @log_softmax(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.log_softmax [[V0]] {components = {shifted = !q1, exp = !q2, sum = !q3, log = !q4}} : (tensor<4x!q0>) -> tensor<4x!q1> {origin = "ls"}
// CHECK-NEXT: func.return [[V1]] : tensor<4x!q1>
// CHECK-LABEL: @rms_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> tensor<2x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.rms_norm [[V0]], [[V1]] {epsilon = 0.00390625, components = {squared = !q3, mean_square = !q3, epsilon = !q2, mean_square_epsilon = !q3, deviation = !q4, normalized = !q4}} : (tensor<2x4x!q0>, tensor<4x!q0>) -> tensor<2x4x!q0> {origin = "n"}
// CHECK-NEXT: func.return [[V2]] : tensor<2x4x!q0>

// PARTS: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// PARTS-NEXT: !q1 = !quant.uniform<i8:f32, 2.500000e-01:127>
// PARTS-NEXT: !q2 = !quant.uniform<u8:f32, 3.906250e-03>
// PARTS-NEXT: !q3 = !quant.uniform<u16:f32, 9.765625e-04>
// PARTS-NEXT: !q4 = !quant.uniform<i16:f32, 0.0001220703125>
// PARTS-LABEL: @log_softmax(
// PARTS-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// PARTS-NEXT: [[V1:%.+]] = nn.reduce_max [[V0]] {axes = [0]} : (tensor<4x!q0>) -> tensor<1x!q0> {origin = "ls", role = "max"}
// PARTS-NEXT: [[V2:%.+]] = nn.sub [[V0]], [[V1]] : (tensor<4x!q0>, tensor<1x!q0>) -> tensor<4x!q1> {origin = "ls", role = "shifted"}
// PARTS-NEXT: [[V3:%.+]] = nn.exp [[V2]] : (tensor<4x!q1>) -> tensor<4x!q2> {origin = "ls", role = "exp"}
// PARTS-NEXT: [[V4:%.+]] = nn.reduce_sum [[V3]] {axes = [0]} : (tensor<4x!q2>) -> tensor<1x!q3> {origin = "ls", role = "sum"}
// PARTS-NEXT: [[V5:%.+]] = nn.log [[V4]] : (tensor<1x!q3>) -> tensor<1x!q4> {origin = "ls", role = "log"}
// PARTS-NEXT: [[V6:%.+]] = nn.sub [[V2]], [[V5]] : (tensor<4x!q1>, tensor<1x!q4>) -> tensor<4x!q1> {origin = "ls", role = "sub", composite = {op = "nn.log_softmax"}}
// PARTS-NEXT: func.return [[V6]] : tensor<4x!q1>
// PARTS-LABEL: @rms_norm(
// PARTS-SAME: [[V0:%.+]]: tensor<2x4x!q0>, [[V1:%.+]]: tensor<4x!q0>) -> tensor<2x4x!q0>
// PARTS-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V0]] : (tensor<2x4x!q0>, tensor<2x4x!q0>) -> tensor<2x4x!q3> {origin = "n", role = "squared"}
// PARTS-NEXT: [[V3:%.+]] = nn.reduce_mean [[V2]] {axes = [1]} : (tensor<2x4x!q3>) -> tensor<2x1x!q3> {origin = "n", role = "mean_square"}
// PARTS-NEXT: [[V4:%.+]] = nn.constant dense<1> : tensor<ui8> -> tensor<!q2> {origin = "n", role = "epsilon"}
// PARTS-NEXT: [[V5:%.+]] = nn.add [[V3]], [[V4]] : (tensor<2x1x!q3>, tensor<!q2>) -> tensor<2x1x!q3> {origin = "n", role = "mean_square_epsilon"}
// PARTS-NEXT: [[V6:%.+]] = nn.sqrt [[V5]] : (tensor<2x1x!q3>) -> tensor<2x1x!q4> {origin = "n", role = "deviation"}
// PARTS-NEXT: [[V7:%.+]] = nn.div [[V0]], [[V6]] : (tensor<2x4x!q0>, tensor<2x1x!q4>) -> tensor<2x4x!q4> {origin = "n", role = "normalized"}
// PARTS-NEXT: [[V8:%.+]] = nn.mul [[V7]], [[V1]] : (tensor<2x4x!q4>, tensor<4x!q0>) -> tensor<2x4x!q0> {origin = "n", role = "mul", composite = {op = "nn.rms_norm", properties = {epsilon = 3.906250e-03 : f32}}}
// PARTS-NEXT: func.return [[V8]] : tensor<2x4x!q0>
