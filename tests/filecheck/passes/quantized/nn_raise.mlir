// RUN: qmlir-opt %s -p nn-decompose,nn-raise | filecheck %s --check-prefix=AGAIN
// RUN: qmlir-opt %s -p nn-decompose,canonicalize,nn-raise | filecheck %s --check-prefix=AGAIN
// RUN: qmlir-opt %s -p nn-raise | filecheck %s
// RUN: qmlir-opt %s -p nn-raise,nn-raise | filecheck %s
// RUN: qmlir-opt %s -p 'nn-raise{kinds=softmax,nn.conv structural=true}' | filecheck %s --check-prefix=KINDS
// RUN: qmlir-opt %s -p 'nn-raise{structural=false}' | filecheck %s --check-prefix=MARKED

// Composites that were decomposed come back with their properties, names and constants.
// AGAIN-LABEL: @composites
// AGAIN-NEXT: nn.constant
// AGAIN-NEXT: nn.fully_connected {{.*}} {origin = "fc1", op_type = "Gemm", tensor = "y"}
// AGAIN-NEXT: nn.constant
// AGAIN-NEXT: nn.conv {{.*}} {strides = [2, 2], pads = [1, 1, 1, 1]} {{.*}} {origin = "conv1"}
// AGAIN-NEXT: nn.layer_norm {{.*}} {epsilon = 0.5} {{.*}} {origin = "block", role = "norm"}
// AGAIN-NEXT: nn.gelu {{.*}} {tanh_approximation = true} {{.*}} {origin = "act1"}
// AGAIN-NEXT: nn.lstm {{.*}} {hidden_size = 2, direction = "bidirectional"} {{.*}} {origin = "lstm1"}
// AGAIN-NEXT: func.return
func.func @composites(%x: tensor<1x4xf32>, %i: tensor<1x4x4x4xf32>, %k: tensor<2x4x3x3xf32>, %s: tensor<4xf32>, %t: tensor<3x1x4xf32>, %w: tensor<2x8x4xf32>, %r: tensor<2x8x2xf32>) -> (tensor<1x4xf32>, tensor<1x2x2x2xf32>, tensor<1x4xf32>, tensor<3x2x1x2xf32>, tensor<2x1x2xf32>) {
  %m = nn.constant dense<1.5> : tensor<4x4xf32>
  %0 = nn.fully_connected %x, %m, %s : (tensor<1x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "fc1", op_type = "Gemm", tensor = "y"}
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = nn.conv %i, %k, %b {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x4x4x4xf32>, tensor<2x4x3x3xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1"}
  %2 = nn.layer_norm %x, %s, %s {epsilon = 0.5} : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "block", role = "norm"}
  %3 = nn.gelu %2 {tanh_approximation = true} : tensor<1x4xf32> {origin = "act1"}
  %4, %5, %6 = nn.lstm %t, %w, %r {hidden_size = 2, direction = "bidirectional"} : (tensor<3x1x4xf32>, tensor<2x8x4xf32>, tensor<2x8x2xf32>) -> (tensor<3x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) {origin = "lstm1"}
  func.return %0, %1, %3, %4, %6 : tensor<1x4xf32>, tensor<1x2x2x2xf32>, tensor<1x4xf32>, tensor<3x2x1x2xf32>, tensor<2x1x2xf32>
}

// The accumulator in front of the bias is implied; a sum of another type is a component.
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>
!a = !quant.uniform<i32:f32:1, {0.125, 0.25}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.25}>
!y = !quant.uniform<i8:f32, 0.75:1>
func.func @quantized(%x: tensor<1x4x!x>, %w: tensor<2x4x!w>, %b: tensor<2x!b>) -> (tensor<1x2x!y>, tensor<1x2x!x>) {
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4x!w>) -> tensor<1x2x!a> {origin = "fc1", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<1x2x!a>, tensor<2x!b>) -> tensor<1x2x!y> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
  %2 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4x!w>) -> tensor<1x2x!y> {origin = "fc2", role = "matmul"}
  %3 = nn.add %2, %b : (tensor<1x2x!y>, tensor<2x!b>) -> tensor<1x2x!x> {origin = "fc2", role = "bias_add", composite = {op = "nn.fully_connected"}}
  func.return %1, %3 : tensor<1x2x!y>, tensor<1x2x!x>
}

// Constants are compared with what the composite would have them quantized to: 0.5 is 127 / 254, and not 126 / 254.
!h = !quant.uniform<u8:f32, 0.003937007859349251>
func.func @quantized_constants(%x: tensor<4x!x>) -> (tensor<4x!x>, tensor<4x!x>) {
  %sixth = nn.constant dense<42> : tensor<ui8> -> tensor<!h> {origin = "hs", role = "sixth"}
  %half = nn.constant dense<127> : tensor<ui8> -> tensor<!h> {origin = "hs", role = "half"}
  %0 = nn.mul %x, %sixth : (tensor<4x!x>, tensor<!h>) -> tensor<4x!x> {origin = "hs", role = "mul"}
  %1 = nn.add %0, %half : (tensor<4x!x>, tensor<!h>) -> tensor<4x!y> {origin = "hs", role = "add"}
  %2 = nn.clip %1 {minimum = 0.0, maximum = 1.0} : (tensor<4x!y>) -> tensor<4x!h> {origin = "hs", role = "gate"}
  %3 = nn.mul %x, %2 : (tensor<4x!x>, tensor<4x!h>) -> tensor<4x!x> {origin = "hs", role = "product", composite = {op = "nn.hard_swish"}}
  %other = nn.constant dense<126> : tensor<ui8> -> tensor<!h> {origin = "ht", role = "half"}
  %m = nn.mul %x, %sixth : (tensor<4x!x>, tensor<!h>) -> tensor<4x!x> {origin = "ht", role = "mul"}
  %4 = nn.add %m, %other : (tensor<4x!x>, tensor<!h>) -> tensor<4x!y> {origin = "ht", role = "add"}
  %5 = nn.clip %4 {minimum = 0.0, maximum = 1.0} : (tensor<4x!y>) -> tensor<4x!h> {origin = "ht", role = "gate"}
  %6 = nn.mul %x, %5 : (tensor<4x!x>, tensor<4x!h>) -> tensor<4x!x> {origin = "ht", role = "product", composite = {op = "nn.hard_swish"}}
  func.return %3, %6 : tensor<4x!x>, tensor<4x!x>
}

// Ranges that were seen are parameters too.
// AGAIN-LABEL: @profiled
// AGAIN-NEXT: nn.swish %{{.*}} {components = {sigmoid = !q{{[0-9]+}}}} : (tensor<4xf32>) -> tensor<4x!q{{[0-9]+}}> {origin = "swish1"}
func.func @profiled(%x: tensor<4xf32>) -> tensor<4x!quant.calibrated<f32<-1.0:2.0>>> {
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4x!quant.calibrated<f32<0.25:0.75>>> {origin = "swish1", role = "sigmoid"}
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4x!quant.calibrated<f32<0.25:0.75>>>) -> tensor<4x!quant.calibrated<f32<-1.0:2.0>>> {origin = "swish1", role = "product"}
  func.return %1 : tensor<4x!quant.calibrated<f32<-1.0:2.0>>>
}

// What merely computes the same: provenance is that of both nodes, the tensor keeps its name.
func.func @lookalikes(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>, %i: tensor<1x2x3x3xf32>, %k: tensor<2x2x1x1xf32>) -> (tensor<1x2xf32>, tensor<1x2x3x3xf32>) {
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "MatMul_0"}
  %1 = nn.add %b, %0 : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32> {origin = "Add_1"}
  %2 = nn.conv %i, %k : (tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x3xf32> {origin = "Conv_2"}
  %c = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %3 = nn.add %2, %c : (tensor<1x2x3x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x3xf32> {origin = "Add_3"}
  func.return %1, %3 : tensor<1x2xf32>, tensor<1x2x3x3xf32>
}

func.func @spelled_out(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = nn.sigmoid %x : tensor<2x4xf32>
  %swish = nn.mul %0, %x : tensor<2x4xf32>
  %1 = nn.reduce_max %x {axes = [0]} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = nn.sub %x, %1 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %3 = nn.exp %2 : tensor<2x4xf32>
  %4 = nn.reduce_sum %3 {axes = [0]} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %softmax = nn.div %3, %4 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %root = nn.constant dense<0.70710677> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %5 = nn.mul %root, %x : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.erf %5 : tensor<2x4xf32>
  %7 = nn.add %one, %6 : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = nn.mul %x, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %gelu = nn.mul %7, %8 : tensor<2x4xf32>
  %sixth = nn.constant dense<0.16666667> : tensor<f32>
  %9 = nn.mul %x, %sixth : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %10 = nn.add %9, %half : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %11 = nn.clip %10 {minimum = 0.0, maximum = 1.0} : tensor<2x4xf32>
  %hard_swish = nn.mul %x, %11 : tensor<2x4xf32>
  %epsilon = nn.constant dense<0.25> : tensor<f32>
  %12 = nn.reduce_mean %x {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %13 = nn.sub %x, %12 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %14 = nn.mul %13, %13 : tensor<2x4xf32>
  %15 = nn.reduce_mean %14 {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %16 = nn.add %15, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %17 = nn.sqrt %16 : tensor<2x1xf32>
  %18 = nn.div %13, %17 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %19 = nn.mul %18, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %layer_norm = nn.add %19, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %swish, %softmax, %gelu, %hard_swish, %layer_norm : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// A part of a part is raised for the whole, and stays in parts where the whole does.
// KINDS-LABEL: @lookalikes
// KINDS: nn.matmul
// KINDS-NEXT: nn.add
// KINDS: nn.conv %{{.*}}, %{{.*}}, %{{.*}} :
// KINDS-NOT: nn.add
// KINDS-LABEL: @spelled_out
// KINDS: nn.sigmoid
// KINDS: nn.softmax {{.*}} {axis = 0}
// KINDS: nn.erf

// MARKED-LABEL: @lookalikes
// MARKED: nn.matmul
// MARKED-NEXT: nn.add
// MARKED-LABEL: @spelled_out
// MARKED-NOT: nn.swish

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01:-3>
// CHECK-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32:0, {2.500000e-01, 5.000000e-01}>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:0, {1.250000e-01, 2.500000e-01}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 7.500000e-01:1>
// CHECK-NEXT: !q4 = !quant.uniform<u8:f32, 0.003937007859349251>
// CHECK-LABEL: @composites(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<1x4x4x4xf32>, [[V2:%.+]]: tensor<2x4x3x3xf32>, [[V3:%.+]]: tensor<4xf32>, [[V4:%.+]]: tensor<3x1x4xf32>, [[V5:%.+]]: tensor<2x8x4xf32>, [[V6:%.+]]: tensor<2x8x2xf32>) -> (tensor<1x4xf32>, tensor<1x2x2x2xf32>, tensor<1x4xf32>, tensor<3x2x1x2xf32>, tensor<2x1x2xf32>)
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<1.500000e+00> : tensor<4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.fully_connected [[V0]], [[V7]], [[V3]] : (tensor<1x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "fc1", op_type = "Gemm", tensor = "y"}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.conv [[V1]], [[V2]], [[V9]] {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x4x4x4xf32>, tensor<2x4x3x3xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1"}
// CHECK-NEXT: [[V11:%.+]] = nn.layer_norm [[V0]], [[V3]], [[V3]] {epsilon = 0.5} : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "block", role = "norm"}
// CHECK-NEXT: [[V12:%.+]] = nn.gelu [[V11]] {tanh_approximation = true} : tensor<1x4xf32> {origin = "act1"}
// CHECK-NEXT: [[V13:%.+]], [[V14:%.+]], [[V15:%.+]] = nn.lstm [[V4]], [[V5]], [[V6]] {hidden_size = 2, direction = "bidirectional"} : (tensor<3x1x4xf32>, tensor<2x8x4xf32>, tensor<2x8x2xf32>) -> (tensor<3x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) {origin = "lstm1"}
// CHECK-NEXT: func.return [[V8]], [[V10]], [[V12]], [[V13]], [[V15]] : tensor<1x4xf32>, tensor<1x2x2x2xf32>, tensor<1x4xf32>, tensor<3x2x1x2xf32>, tensor<2x1x2xf32>
// CHECK-LABEL: @quantized(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x!q0>, [[V1:%.+]]: tensor<2x4x!q1>, [[V2:%.+]]: tensor<2x!q2>) -> (tensor<1x2x!q3>, tensor<1x2x!q0>)
// CHECK-NEXT: [[V3:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x4x!q0>, tensor<2x4x!q1>, tensor<2x!q2>) -> tensor<1x2x!q3> {origin = "fc1"}
// CHECK-NEXT: [[V4:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] {components = {matmul = !q3}} : (tensor<1x4x!q0>, tensor<2x4x!q1>, tensor<2x!q2>) -> tensor<1x2x!q0> {origin = "fc2"}
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<1x2x!q3>, tensor<1x2x!q0>
// CHECK-LABEL: @quantized_constants(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0>) -> (tensor<4x!q0>, tensor<4x!q0>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<42> : tensor<ui8> -> tensor<!q4> {origin = "hs", role = "sixth"}
// CHECK-NEXT: [[V2:%.+]] = nn.hard_swish [[V0]] {components = {sixth = !q4, mul = !q0, half = !q4, add = !q3, gate = !q4}} : tensor<4x!q0> {origin = "hs"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<126> : tensor<ui8> -> tensor<!q4> {origin = "ht", role = "half"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<4x!q0>, tensor<!q4>) -> tensor<4x!q0> {origin = "ht", role = "mul"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V3]] : (tensor<4x!q0>, tensor<!q4>) -> tensor<4x!q3> {origin = "ht", role = "add"}
// CHECK-NEXT: [[V6:%.+]] = nn.clip [[V5]] {minimum = 0.0, maximum = 1.0} : (tensor<4x!q3>) -> tensor<4x!q4> {origin = "ht", role = "gate"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V0]], [[V6]] : (tensor<4x!q0>, tensor<4x!q4>) -> tensor<4x!q0> {origin = "ht", role = "product", composite = {op = "nn.hard_swish"}}
// CHECK-NEXT: func.return [[V2]], [[V7]] : tensor<4x!q0>, tensor<4x!q0>
// CHECK-LABEL: @lookalikes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<2x4xf32>, [[V2:%.+]]: tensor<2xf32>, [[V3:%.+]]: tensor<1x2x3x3xf32>, [[V4:%.+]]: tensor<2x2x1x1xf32>) -> (tensor<1x2xf32>, tensor<1x2x3x3xf32>)
// CHECK-NEXT: [[V5:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = ["MatMul_0", "Add_1"], tensor = "Add_1"}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.conv [[V3]], [[V4]], [[V6]] : (tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32> {origin = ["Conv_2", "Add_3"], tensor = "Add_3"}
// CHECK-NEXT: func.return [[V5]], [[V7]] : tensor<1x2xf32>, tensor<1x2x3x3xf32>
// CHECK-LABEL: @spelled_out(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>, [[V1:%.+]]: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.swish [[V0]] : tensor<2x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.softmax [[V0]] {axis = 0} : tensor<2x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.gelu [[V0]] : tensor<2x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.hard_swish [[V0]] : tensor<2x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.layer_norm [[V0]], [[V1]], [[V1]] {epsilon = 0.25} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[V2]], [[V3]], [[V4]], [[V5]], [[V6]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
