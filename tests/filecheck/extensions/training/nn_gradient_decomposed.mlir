// RUN: qmlir-opt %s -p nn-decompose,nn-gradient,cse | filecheck %s

// The parts of a composite that was decomposed before are kept, not computed once more.
func.func @main(%x: tensor<2x4xf32> {nn.name = "x"}, %s: tensor<4xf32> {nn.name = "s"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  %0 = nn.rms_norm %x, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm"}
  func.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @forward(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<4xf32> {nn.name = "s"}) -> (tensor<2x4xf32> {nn.name = "y"}, tensor<2x4xf32> {nn.name = "kept0"}, tensor<2x1xf32> {nn.name = "kept1"})
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V0]] : tensor<2x4xf32> {origin = "norm", role = "squared"}
// CHECK-NEXT: [[V3:%.+]] = nn.reduce_mean [[V2]] {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "norm", role = "epsilon"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V3]], [[V4]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square_epsilon"}
// CHECK-NEXT: [[V6:%.+]] = nn.sqrt [[V5]] : tensor<2x1xf32> {origin = "norm", role = "deviation"}
// CHECK-NEXT: [[V7:%.+]] = nn.div [[V0]], [[V6]] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "normalized"}
// CHECK-NEXT: [[V8:%.+]] = nn.mul [[V7]], [[V1]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm", role = "mul", composite = {op = "nn.rms_norm"}}
// CHECK-NEXT: func.return [[V8]], [[V7]], [[V6]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>
// CHECK-LABEL: @backward(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32> {nn.name = "s"}, [[V1:%.+]]: tensor<2x4xf32> {nn.name = "kept0"}, [[V2:%.+]]: tensor<2x1xf32> {nn.name = "kept1"}, [[V3:%.+]]: tensor<2x4xf32> {nn.name = "x"}, [[V4:%.+]]: tensor<2x4xf32> {nn.name = "gradient_y"}) -> (tensor<2x4xf32> {nn.name = "gradient_x"}, tensor<4xf32> {nn.name = "gradient_s"})
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V4]], [[V0]] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V4]], [[V1]] : tensor<2x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V7:%.+]] = nn.reduce_sum [[V6]] {axes = [0]} : (tensor<2x4xf32>) -> tensor<1x4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V8:%.+]] = nn.squeeze [[V7]] {axes = [0]} : (tensor<1x4xf32>) -> tensor<4xf32> {origin = "norm", role = "mul/gradient"}
// CHECK-NEXT: [[V9:%.+]] = nn.div [[V5]], [[V2]] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V10:%.+]] = nn.mul [[V9]], [[V1]] : tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V11:%.+]] = nn.neg [[V10]] : tensor<2x4xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V12:%.+]] = nn.reduce_sum [[V11]] {axes = [1]} : (tensor<2x4xf32>) -> tensor<2x1xf32> {origin = "norm", role = "normalized/gradient"}
// CHECK-NEXT: [[V13:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V2]], [[V13]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V15:%.+]] = nn.div [[V12]], [[V14]] : tensor<2x1xf32> {origin = "norm", role = "deviation/gradient"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<4.000000e+00> : tensor<f32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V17:%.+]] = nn.div [[V15]], [[V16]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V18:%.+]] = nn.expand [[V17]] {shape = [2, 4]} : (tensor<2x1xf32>) -> tensor<2x4xf32> {origin = "norm", role = "mean_square/gradient"}
// CHECK-NEXT: [[V19:%.+]] = nn.mul [[V18]], [[V3]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: [[V20:%.+]] = nn.add [[V9]], [[V19]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: [[V21:%.+]] = nn.add [[V20]], [[V19]] : tensor<2x4xf32> {origin = "norm", role = "squared/gradient"}
// CHECK-NEXT: func.return [[V21]], [[V8]] : tensor<2x4xf32>, tensor<4xf32>
