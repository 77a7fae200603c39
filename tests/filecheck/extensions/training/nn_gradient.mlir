// RUN: qmlir-opt %s --split-input-file -p nn-gradient,cse | filecheck %s

// What is kept is what the gradient reads: the result of the exponential, not what it is of. An input that is read is
// taken as it is, a result too, and a constant stays one. What was broadcast is summed.
func.func @main(%x: tensor<2x3xf32> {nn.name = "x", nn.dims = ["batch", ""]}, %w: tensor<3xf32> {nn.name = "w"}, %i: tensor<2xi64>) -> (tensor<2x3xf32> {nn.name = "y"}, tensor<2x3xf32> {nn.name = "z"}) {
  %c = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = nn.mul %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "scaled"}
  %1 = nn.exp %0 : tensor<2x3xf32> {origin = "exp"}
  %2 = nn.mul %1, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "y"}
  %3 = nn.sigmoid %x : tensor<2x3xf32> {origin = "z"}
  func.return %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// A composite without a rule stays whole in @forward, and its parts are computed once more.
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}, %s: tensor<4xf32> {nn.name = "s"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  %0 = nn.rms_norm %x, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm"}
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "x", nn.dims = ["batch", ""]}, [[V1:%.+]]: tensor<3xf32> {nn.name = "w"}, [[V2:%.+]]: tensor<2xi64> {nn.name = "input2"}) -> (tensor<2x3xf32> {nn.name = "y"}, tensor<2x3xf32> {nn.name = "z"}, tensor<2x3xf32> {nn.name = "kept0"})
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "scaled"}
// CHECK-NEXT: [[V5:%.+]] = nn.exp [[V4]] : tensor<2x3xf32> {origin = "exp"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V5]], [[V3]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "y"}
// CHECK-NEXT: [[V7:%.+]] = nn.sigmoid [[V0]] : tensor<2x3xf32> {origin = "z"}
// CHECK-NEXT: func.return [[V6]], [[V7]], [[V5]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "z"}, [[V1:%.+]]: tensor<2x3xf32> {nn.name = "kept0"}, [[V2:%.+]]: tensor<3xf32> {nn.name = "w"}, [[V3:%.+]]: tensor<2x3xf32> {nn.name = "x", nn.dims = ["batch", ""]}, [[V4:%.+]]: tensor<2x3xf32> {nn.name = "gradient_y"}, [[V5:%.+]]: tensor<2x3xf32> {nn.name = "gradient_z"}) -> (tensor<2x3xf32> {nn.name = "gradient_x", nn.dims = ["batch", ""]}, tensor<3xf32> {nn.name = "gradient_w"})
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V5]], [[V0]] : tensor<2x3xf32> {origin = "z", role = "gradient"}
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "z", role = "gradient"}
// CHECK-NEXT: [[V8:%.+]] = nn.sub [[V7]], [[V0]] : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32> {origin = "z", role = "gradient"}
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V6]], [[V8]] : tensor<2x3xf32> {origin = "z", role = "gradient"}
// CHECK-NEXT: [[V10:%.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.mul [[V4]], [[V10]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "y", role = "gradient"}
// CHECK-NEXT: [[V12:%.+]] = nn.mul [[V11]], [[V1]] : tensor<2x3xf32> {origin = "exp", role = "gradient"}
// CHECK-NEXT: [[V13:%.+]] = nn.mul [[V12]], [[V2]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V12]], [[V3]] : tensor<2x3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: [[V15:%.+]] = nn.reduce_sum [[V14]] {axes = [0]} : (tensor<2x3xf32>) -> tensor<1x3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: [[V16:%.+]] = nn.squeeze [[V15]] {axes = [0]} : (tensor<1x3xf32>) -> tensor<3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: [[V17:%.+]] = nn.add [[V9]], [[V13]] : tensor<2x3xf32> {origin = "scaled", role = "gradient"}
// CHECK-NEXT: func.return [[V17]], [[V16]] : tensor<2x3xf32>, tensor<3xf32>
// CHECK: // -----
// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<4xf32> {nn.name = "s"}) -> (tensor<2x4xf32> {nn.name = "y"})
// CHECK-NEXT: [[V2:%.+]] = nn.rms_norm [[V0]], [[V1]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm"}
// CHECK-NEXT: func.return [[V2]] : tensor<2x4xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<4xf32> {nn.name = "s"}, [[V2:%.+]]: tensor<2x4xf32> {nn.name = "gradient_y"}) -> (tensor<2x4xf32> {nn.name = "gradient_x"}, tensor<4xf32> {nn.name = "gradient_s"})
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V0]], [[V0]] : tensor<2x4xf32> {origin = "norm", role = "squared"}
// CHECK-NEXT: [[V4:%.+]] = nn.reduce_mean [[V3]] {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "norm", role = "epsilon"}
// CHECK-NEXT: [[V6:%.+]] = nn.add [[V4]], [[V5]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square_epsilon"}
// CHECK-NEXT: [[V7:%.+]] = nn.sqrt [[V6]] : tensor<2x1xf32> {origin = "norm", role = "deviation"}
// CHECK-NEXT: [[V8:%.+]] = nn.div [[V0]], [[V7]] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "normalized"}
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V2]], [[V1]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V2]], [[V8]] : tensor<2x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V11:%.+]] = nn.reduce_sum [[V10]] {axes = [0]} : (tensor<2x4xf32>) -> tensor<1x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V12:%.+]] = nn.squeeze [[V11]] {axes = [0]} : (tensor<1x4xf32>) -> tensor<4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V13:%.+]] = nn.div [[V9]], [[V7]] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V13]], [[V8]] : tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V15:%.+]] = nn.neg [[V14]] : tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V16:%.+]] = nn.reduce_sum [[V15]] {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V17:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V18:%.+]] = nn.mul [[V7]], [[V17]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V19:%.+]] = nn.div [[V16]], [[V18]] : tensor<2x1xf32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V20:%.+]] = nn.constant dense<4.000000e+00> : tensor<f32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V21:%.+]] = nn.div [[V19]], [[V20]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V22:%.+]] = nn.expand [[V21]] {shape = [2, 4]} : (tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V23:%.+]] = nn.mul [[V22]], [[V0]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: [[V24:%.+]] = nn.add [[V13]], [[V23]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: [[V25:%.+]] = nn.add [[V24]], [[V23]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: func.return [[V25]], [[V12]] : tensor<2x4xf32>, tensor<4xf32>
