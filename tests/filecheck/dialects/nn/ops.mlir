// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

!q = !quant.uniform<i8:f32, 0.02:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.01, 0.0125}>
!a = !quant.uniform<i32:f32:1, {0.0002, 0.00025}>
!y = !quant.uniform<i8:f32, 0.013:-128>

func.func @elementwise(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %c: tensor<1x3xi1>) -> tensor<2x3xf32> {
  %0 = nn.relu %x : tensor<2x3xf32> {origin = "relu1", op_type = "Relu"}
  %1 = nn.add %0, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = nn.greater %1, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %3 = nn.where %c, %1, %s : (tensor<1x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %4 = nn.clip %3 {minimum = 0.0, maximum = 6.0} : tensor<2x3xf32>
  %5 = nn.leaky_relu %4 {alpha = 0.1} : tensor<2x3xf32>
  %6 = nn.gelu %5 {tanh_approximation = true} : tensor<2x3xf32>
  %7 = nn.cast %6 : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %8 = nn.cast %7 : (tensor<2x3xf16>) -> tensor<2x3xf32>
  func.return %8 : tensor<2x3xf32>
}

// One operation serves float, profiled and quantized values; the types decide.
func.func @fully_connected(%x: tensor<1x4x!q>, %w: tensor<2x4x!w>, %b: tensor<2x!quant.uniform<i32:f32:0, {0.0002, 0.00025}>>) -> tensor<1x2x!y> {
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!q>, tensor<2x4x!w>) -> tensor<1x2x!a>
  %1 = nn.fully_connected %x, %w, %b : (tensor<1x4x!q>, tensor<2x4x!w>, tensor<2x!quant.uniform<i32:f32:0, {0.0002, 0.00025}>>) -> tensor<1x2x!y>
  %2 = nn.relu %0 : (tensor<1x2x!a>) -> tensor<1x2x!y>
  func.return %1 : tensor<1x2x!y>
}

func.func @profiled(%x: tensor<1x4x!quant.calibrated<f32<-1.2:3.4>>>) -> tensor<1x4xf32> {
  %0 = nn.relu %x : (tensor<1x4x!quant.calibrated<f32<-1.2:3.4>>>) -> tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}

func.func @convolution(%x: tensor<?x4x9x9xf32>, %w: tensor<8x2x3x3xf32>, %w2: tensor<8x1x2x2xf32>, %b: tensor<8xf32>) -> tensor<?x8x1x1xf32> {
  %0 = nn.conv %x, %w, %b {strides = [2, 2], pads = [1, 1, 1, 1], groups = 2} : (tensor<?x4x9x9xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<?x8x5x5xf32>
  %1 = nn.conv %0, %w2 {dilations = [2, 2], groups = 8} : (tensor<?x8x5x5xf32>, tensor<8x1x2x2xf32>) -> tensor<?x8x3x3xf32>
  %2 = nn.max_pool %1 {kernel = [2, 2], strides = [2, 2], ceil_mode = true} : (tensor<?x8x3x3xf32>) -> tensor<?x8x2x2xf32>
  %3 = nn.average_pool %2 {kernel = [2, 2], pads = [0, 0, 1, 1], count_include_pad = true} : tensor<?x8x2x2xf32>
  %4 = nn.global_average_pool %3 : (tensor<?x8x2x2xf32>) -> tensor<?x8x1x1xf32>
  func.return %4 : tensor<?x8x1x1xf32>
}

func.func @normalization(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.batch_norm %x, %c, %c, %c, %c {epsilon = 0.001} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %1 = nn.layer_norm %0, %d : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %2 = nn.softmax %1 {axis = 1} : tensor<2x3x4xf32>
  %3 = nn.reduce_mean %2 {axes = [-1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3x4xf32>
}

// Movement takes the parameters along, the axis of per-axis ones included.
func.func @movement(%x: tensor<2x6x!w>) -> tensor<6x2x!quant.uniform<i8<-127:127>:f32:1, {0.01, 0.0125}>> {
  %0 = nn.slice %x {starts = [0], ends = [6], axes = [1]} : tensor<2x6x!w>
  %1 = nn.reshape %0 : (tensor<2x6x!w>) -> tensor<2x3x2x!w>
  %2 = nn.reshape %1 : (tensor<2x3x2x!w>) -> tensor<2x6x!w>
  %3 = nn.transpose %2 {permutation = [1, 0]} : (tensor<2x6x!w>) -> tensor<6x2x!quant.uniform<i8<-127:127>:f32:1, {0.01, 0.0125}>>
  %4 = nn.concat %0, %x {axis = 1} : (tensor<2x6x!w>, tensor<2x6x!w>) -> tensor<2x12x!w>
  func.return %3 : tensor<6x2x!quant.uniform<i8<-127:127>:f32:1, {0.01, 0.0125}>>
}

// An operand that is left out in front of one that is there prints as `_`.
func.func @recurrent(%x: tensor<5x?x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>, %h: tensor<1x?x2xf32>, %wg: tensor<1x6x3xf32>, %rg: tensor<1x6x2xf32>) {
  %a, %b, %c = nn.lstm %x, %w, %r, _, _, %h {hidden_size = 2} : (tensor<5x?x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, tensor<1x?x2xf32>) -> (tensor<5x1x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>)
  %d, %e = nn.gru %x, %wg, %rg {hidden_size = 2, direction = "reverse"} : (tensor<5x?x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x?x2xf32>, tensor<1x?x2xf32>)
  func.return
}

func.func @constants() -> (tensor<2x!q>, tensor<3xi1>, tensor<f32>) {
  %0 = nn.constant dense<[1, -2]> : tensor<2xi8> -> tensor<2x!q>
  %1 = nn.constant dense<[true, false, true]> : tensor<3xi1>
  %2 = nn.constant dense<0.1> : tensor<f32> {origin = "epsilon"}
  func.return %0, %1, %2 : tensor<2x!q>, tensor<3xi1>, tensor<f32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32:0, {1.000000e-02, 1.250000e-02}>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:0, {2.000000e-04, 2.500000e-04}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 1.300000e-02:-128>
// CHECK-NEXT: !q4 = !quant.uniform<i32:f32:1, {2.000000e-04, 2.500000e-04}>
// CHECK-NEXT: !q5 = !quant.calibrated<f32<-1.200000e+00:3.400000e+00>>
// CHECK-NEXT: !q6 = !quant.uniform<i8<-127:127>:f32:1, {1.000000e-02, 1.250000e-02}>
// CHECK-LABEL: @elementwise(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>, [[V2:%.+]]: tensor<1x3xi1>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V0]] : tensor<2x3xf32> {origin = "relu1", op_type = "Relu"}
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.greater [[V4]], [[V0]] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V6:%.+]] = nn.where [[V2]], [[V4]], [[V1]] : (tensor<1x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.clip [[V6]] {minimum = 0.0, maximum = 6.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.leaky_relu [[V7]] {alpha = 0.1} : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.gelu [[V8]] {tanh_approximation = true} : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.cast [[V9]] : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT: [[V11:%.+]] = nn.cast [[V10]] : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<2x3xf32>
// CHECK-LABEL: @fully_connected(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x!q0>, [[V1:%.+]]: tensor<2x4x!q1>, [[V2:%.+]]: tensor<2x!q2>) -> tensor<1x2x!q3>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] {transpose_b = true} : (tensor<1x4x!q0>, tensor<2x4x!q1>) -> tensor<1x2x!q4>
// CHECK-NEXT: [[V4:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x4x!q0>, tensor<2x4x!q1>, tensor<2x!q2>) -> tensor<1x2x!q3>
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V3]] : (tensor<1x2x!q4>) -> tensor<1x2x!q3>
// CHECK-NEXT: func.return [[V4]] : tensor<1x2x!q3>
// CHECK-LABEL: @profiled(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x!q5>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : (tensor<1x4x!q5>) -> tensor<1x4xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<1x4xf32>
// CHECK-LABEL: @convolution(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x9x9xf32>, [[V1:%.+]]: tensor<8x2x3x3xf32>, [[V2:%.+]]: tensor<8x1x2x2xf32>, [[V3:%.+]]: tensor<8xf32>) -> tensor<?x8x1x1xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.conv [[V0]], [[V1]], [[V3]] {strides = [2, 2], pads = [1, 1, 1, 1], groups = 2} : (tensor<?x4x9x9xf32>, tensor<8x2x3x3xf32>, tensor<8xf32>) -> tensor<?x8x5x5xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.conv [[V4]], [[V2]] {dilations = [2, 2], groups = 8} : (tensor<?x8x5x5xf32>, tensor<8x1x2x2xf32>) -> tensor<?x8x3x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.max_pool [[V5]] {kernel = [2, 2], strides = [2, 2], ceil_mode = true} : (tensor<?x8x3x3xf32>) -> tensor<?x8x2x2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.average_pool [[V6]] {kernel = [2, 2], pads = [0, 0, 1, 1], count_include_pad = true} : tensor<?x8x2x2xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.global_average_pool [[V7]] : (tensor<?x8x2x2xf32>) -> tensor<?x8x1x1xf32>
// CHECK-NEXT: func.return [[V8]] : tensor<?x8x1x1xf32>
// CHECK-LABEL: @normalization(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xf32>, [[V1:%.+]]: tensor<3xf32>, [[V2:%.+]]: tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.batch_norm [[V0]], [[V1]], [[V1]], [[V1]], [[V1]] {epsilon = 0.001} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.layer_norm [[V3]], [[V2]] : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.softmax [[V4]] {axis = 1} : tensor<2x3x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.reduce_mean [[V5]] {axes = [-1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3x4xf32>
// CHECK-LABEL: @movement(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6x!q1>) -> tensor<6x2x!q6>
// CHECK-NEXT: [[V1:%.+]] = nn.slice [[V0]] {starts = [0], ends = [6], axes = [1]} : tensor<2x6x!q1>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[V1]] : (tensor<2x6x!q1>) -> tensor<2x3x2x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[V2]] : (tensor<2x3x2x!q1>) -> tensor<2x6x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.transpose [[V3]] {permutation = [1, 0]} : (tensor<2x6x!q1>) -> tensor<6x2x!q6>
// CHECK-NEXT: [[V5:%.+]] = nn.concat [[V1]], [[V0]] {axis = 1} : (tensor<2x6x!q1>, tensor<2x6x!q1>) -> tensor<2x12x!q1>
// CHECK-NEXT: func.return [[V4]] : tensor<6x2x!q6>
// CHECK-LABEL: @recurrent(
// CHECK-SAME: [[V0:%.+]]: tensor<5x?x3xf32>, [[V1:%.+]]: tensor<1x8x3xf32>, [[V2:%.+]]: tensor<1x8x2xf32>, [[V3:%.+]]: tensor<1x?x2xf32>, [[V4:%.+]]: tensor<1x6x3xf32>, [[V5:%.+]]: tensor<1x6x2xf32>)
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]], [[V8:%.+]] = nn.lstm [[V0]], [[V1]], [[V2]], _, _, [[V3]] {hidden_size = 2} : (tensor<5x?x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, tensor<1x?x2xf32>) -> (tensor<5x1x?x2xf32>, tensor<1x?x2xf32>, tensor<1x?x2xf32>)
// CHECK-NEXT: [[V9:%.+]], [[V10:%.+]] = nn.gru [[V0]], [[V4]], [[V5]] {hidden_size = 2, direction = "reverse"} : (tensor<5x?x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x?x2xf32>, tensor<1x?x2xf32>)
// CHECK-NEXT: func.return
// CHECK-LABEL: @constants(
// CHECK-SAME: ) -> (tensor<2x!q0>, tensor<3xi1>, tensor<f32>)
// CHECK-NEXT: [[V0:%.+]] = nn.constant dense<[1, -2]> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[true, false, true]> : tensor<3xi1>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<0.1> : tensor<f32> {origin = "epsilon"}
// CHECK-NEXT: func.return [[V0]], [[V1]], [[V2]] : tensor<2x!q0>, tensor<3xi1>, tensor<f32>
