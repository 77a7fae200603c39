// RUN: qmlir-opt %s -p nn-decompose | filecheck %s
// RUN: qmlir-opt %s -p 'nn-decompose{keep="nn.*norm",fc1,gelu}' | filecheck %s --check-prefix=KEEP

// KEEP-LABEL: @fully_connected
// KEEP-NEXT: nn.fully_connected {{.*}} {origin = "fc1"
// KEEP-NEXT: nn.matmul {{.*}} {origin = "fc2", op_type = "Gemm", role = "matmul", composite = {op = "nn.fully_connected"}}
// KEEP-LABEL: @convolution
// KEEP-LABEL: @norms
// KEEP: nn.batch_norm
// KEEP-NEXT: nn.layer_norm
// KEEP-NOT: = nn.softmax
// KEEP-LABEL: @activations
// KEEP: nn.gelu
func.func @fully_connected(%x: tensor<1x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<1x4xf32> {
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "fc1", op_type = "Gemm"}
  %1 = nn.fully_connected %0, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> {origin = "fc2", op_type = "Gemm"}
  func.return %1 : tensor<1x4xf32>
}

func.func @convolution(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x2x2x2xf32> {
  %0 = nn.conv %x, %w, %b {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1"}
  func.return %0 : tensor<1x2x2x2xf32>
}

func.func @norms(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.batch_norm %x, %s, %s, %s, %s : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "bn1"}
  %1 = nn.layer_norm %0, %s, %s : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "ln1"}
  %2 = nn.softmax %1 : tensor<2x3xf32> {origin = "sm1"}
  func.return %2 : tensor<2x3xf32>
}

// A part of a part keeps both roles.
func.func @activations(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.gelu %x : tensor<2xf32> {origin = "block", role = "ffn"}
  %1 = nn.hard_swish %0 : tensor<2xf32> {origin = "hs1"}
  func.return %1 : tensor<2xf32>
}

// Quantized composites stay where their parts would have no parameters: where they do not say them, and nothing implies
// them. The sum of products in front of a bias is the accumulator.
func.func @quantized(%x: tensor<1x4x!quant.uniform<i8:f32, 0.5>>, %w: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x!quant.uniform<i32:f32:0, {0.25, 0.125}>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.25>> {
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x4x!quant.uniform<i8:f32, 0.5>>, tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i32:f32:0, {0.25, 0.125}>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5>> {origin = "fc1"}
  %1 = nn.hard_sigmoid %0 : tensor<1x2x!quant.uniform<i8:f32, 0.5>> {origin = "act1"}
  // Its constants are 51 and 127 of a scale that is the f32 above 1 / 255, so that 0.5 is less than 127.5 of it.
  %2 = nn.hard_sigmoid %1 {components = {alpha = !quant.uniform<u8:f32, 0.003921568859368563>, mul = !quant.uniform<i8:f32, 0.25>, beta = !quant.uniform<u8:f32, 0.003921568859368563>, add = !quant.uniform<i8:f32, 0.125>}} : (tensor<1x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x!quant.uniform<u8:f32, 0.25>> {origin = "act2"}
  func.return %2 : tensor<1x2x!quant.uniform<u8:f32, 0.25>>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:0, {2.500000e-01, 1.250000e-01}>
// CHECK-NEXT: !q3 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q4 = !quant.uniform<i32:f32:1, {2.500000e-01, 1.250000e-01}>
// CHECK-NEXT: !q5 = !quant.uniform<u8:f32, 0.003921568859368563>
// CHECK-NEXT: !q6 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q7 = !quant.uniform<i8:f32, 1.250000e-01>
// CHECK-LABEL: @fully_connected(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<4x4xf32>, [[V2:%.+]]: tensor<4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] {transpose_b = true} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> {origin = "fc1", op_type = "Gemm", role = "matmul"}
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V2]] : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {origin = "fc1", op_type = "Gemm", role = "bias_add", composite = {op = "nn.fully_connected"}}
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V4]], [[V1]] {transpose_b = true} : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> {origin = "fc2", op_type = "Gemm", role = "matmul", composite = {op = "nn.fully_connected"}}
// CHECK-NEXT: func.return [[V5]] : tensor<1x4xf32>
// CHECK-LABEL: @convolution(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x2x3x3xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V0]], [[V1]] {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1", role = "correlation"}
// CHECK-NEXT: [[V4:%.+]] = nn.reshape [[V2]] : (tensor<2xf32>) -> tensor<2x1x1xf32> {origin = "conv1", role = "bias/reshape"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V3]], [[V4]] : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1", role = "bias_add", composite = {op = "nn.conv", properties = {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>}}}
// CHECK-NEXT: func.return [[V5]] : tensor<1x2x2x2xf32>
// CHECK-LABEL: @norms(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "bn1", role = "epsilon"}
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V1]], [[V2]] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32> {origin = "bn1", role = "variance_epsilon"}
// CHECK-NEXT: [[V4:%.+]] = nn.sqrt [[V3]] : tensor<3xf32> {origin = "bn1", role = "deviation"}
// CHECK-NEXT: [[V5:%.+]] = nn.div [[V1]], [[V4]] : tensor<3xf32> {origin = "bn1", role = "factor"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V1]], [[V5]] : tensor<3xf32> {origin = "bn1", role = "scaled_mean"}
// CHECK-NEXT: [[V7:%.+]] = nn.sub [[V1]], [[V6]] : tensor<3xf32> {origin = "bn1", role = "offset"}
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V0]], [[V5]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "bn1", role = "mul"}
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V8]], [[V7]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "bn1", role = "add", composite = {op = "nn.batch_norm", properties = {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}}}
// CHECK-NEXT: [[V10:%.+]] = nn.reduce_mean [[V9]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "ln1", role = "mean"}
// CHECK-NEXT: [[V11:%.+]] = nn.sub [[V9]], [[V10]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "ln1", role = "centred"}
// CHECK-NEXT: [[V12:%.+]] = nn.mul [[V11]], [[V11]] : tensor<2x3xf32> {origin = "ln1", role = "squared"}
// CHECK-NEXT: [[V13:%.+]] = nn.reduce_mean [[V12]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "ln1", role = "variance"}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "ln1", role = "epsilon"}
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V13]], [[V14]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "ln1", role = "variance_epsilon"}
// CHECK-NEXT: [[V16:%.+]] = nn.sqrt [[V15]] : tensor<2x1xf32> {origin = "ln1", role = "deviation"}
// CHECK-NEXT: [[V17:%.+]] = nn.div [[V11]], [[V16]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "ln1", role = "normalized"}
// CHECK-NEXT: [[V18:%.+]] = nn.mul [[V17]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "ln1", role = "mul"}
// CHECK-NEXT: [[V19:%.+]] = nn.add [[V18]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "ln1", role = "bias_add", composite = {op = "nn.layer_norm"}}
// CHECK-NEXT: [[V20:%.+]] = nn.reduce_max [[V19]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "sm1", role = "max"}
// CHECK-NEXT: [[V21:%.+]] = nn.sub [[V19]], [[V20]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "sm1", role = "shifted"}
// CHECK-NEXT: [[V22:%.+]] = nn.exp [[V21]] : tensor<2x3xf32> {origin = "sm1", role = "exp"}
// CHECK-NEXT: [[V23:%.+]] = nn.reduce_sum [[V22]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "sm1", role = "sum"}
// CHECK-NEXT: [[V24:%.+]] = nn.div [[V22]], [[V23]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "sm1", role = "div", composite = {op = "nn.softmax"}}
// CHECK-NEXT: func.return [[V24]] : tensor<2x3xf32>
// CHECK-LABEL: @activations(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "block", role = "ffn/factor"}
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "block", role = "ffn/argument"}
// CHECK-NEXT: [[V3:%.+]] = nn.erf [[V2]] : tensor<2xf32> {origin = "block", role = "ffn/erf"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "block", role = "ffn/one"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V3]], [[V4]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "block", role = "ffn/gate"}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "block", role = "ffn/one_half"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V0]], [[V6]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "block", role = "ffn/half"}
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V7]], [[V5]] : tensor<2xf32> {origin = "block", role = "ffn/product", composite = {op = "nn.gelu", role = "ffn"}}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<0.16666667> : tensor<f32> {origin = "hs1", role = "sixth"}
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V8]], [[V9]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "hs1", role = "mul"}
// CHECK-NEXT: [[V11:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "hs1", role = "half"}
// CHECK-NEXT: [[V12:%.+]] = nn.add [[V10]], [[V11]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "hs1", role = "add"}
// CHECK-NEXT: [[V13:%.+]] = nn.clip [[V12]] {minimum = 0.0, maximum = 1.0} : tensor<2xf32> {origin = "hs1", role = "gate"}
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V8]], [[V13]] : tensor<2xf32> {origin = "hs1", role = "product", composite = {op = "nn.hard_swish"}}
// CHECK-NEXT: func.return [[V14]] : tensor<2xf32>
// CHECK-LABEL: @quantized(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x!q0>, [[V1:%.+]]: tensor<2x4x!q1>, [[V2:%.+]]: tensor<2x!q2>) -> tensor<1x2x!q3>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] {transpose_b = true} : (tensor<1x4x!q0>, tensor<2x4x!q1>) -> tensor<1x2x!q4> {origin = "fc1", role = "matmul"}
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V2]] : (tensor<1x2x!q4>, tensor<2x!q2>) -> tensor<1x2x!q0> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
// CHECK-NEXT: [[V5:%.+]] = nn.hard_sigmoid [[V4]] : tensor<1x2x!q0> {origin = "act1"}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<51> : tensor<ui8> -> tensor<!q5> {origin = "act2", role = "alpha"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V5]], [[V6]] : (tensor<1x2x!q0>, tensor<!q5>) -> tensor<1x2x!q6> {origin = "act2", role = "mul"}
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<127> : tensor<ui8> -> tensor<!q5> {origin = "act2", role = "beta"}
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V7]], [[V8]] : (tensor<1x2x!q6>, tensor<!q5>) -> tensor<1x2x!q7> {origin = "act2", role = "add"}
// CHECK-NEXT: [[V10:%.+]] = nn.clip [[V9]] {minimum = 0.0, maximum = 1.0} : (tensor<1x2x!q7>) -> tensor<1x2x!q3> {origin = "act2", role = "clip", composite = {op = "nn.hard_sigmoid"}}
// CHECK-NEXT: func.return [[V10]] : tensor<1x2x!q3>
