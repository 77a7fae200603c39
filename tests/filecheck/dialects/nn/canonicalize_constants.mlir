// RUN: qmlir-opt %s -p canonicalize | filecheck %s

// A constant changes its shape at any size: its bytes stay where they are. Beyond 1024 elements nothing else is folded
// but weights that are cut or joined, where all that is read of a constant is no larger than the constant.

!w = !quant.uniform<i8:f32:1, {0.5, 0.25}>

func.func @shapes() -> (tensor<2048x1x1xf32>, tensor<2048xf32>, tensor<1x2x1024x!w>, tensor<2048xf32>) {
  %0 = nn.constant dense<0.5> : tensor<2048xf32> {origin = "bias"}
  %1 = nn.reshape %0 : (tensor<2048xf32>) -> tensor<2048x1x1xf32> {origin = "conv1", role = "bias/reshape"}
  %2 = nn.constant dense<1.5> : tensor<1x2048x1xf32>
  %3 = nn.squeeze %2 {axes = [0, 2]} : (tensor<1x2048x1xf32>) -> tensor<2048xf32>
  %4 = nn.constant dense<7> : tensor<1x2x1024xi8> -> tensor<1x2x1024x!w>
  %5 = nn.squeeze %4 {axes = [0]} : (tensor<1x2x1024x!w>) -> tensor<2x1024x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %6 = nn.unsqueeze %5 {axes = [0]} : (tensor<2x1024x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x2x1024x!w>
  %7 = nn.abs %0 : tensor<2048xf32>
  func.return %1, %3, %6, %7 : tensor<2048x1x1xf32>, tensor<2048xf32>, tensor<1x2x1024x!w>, tensor<2048xf32>
}

func.func @gates() -> (tensor<4x1024xf32>, tensor<2048xf32>, tensor<2048xf32>) {
  %0 = nn.constant dense<0.5> : tensor<4x1024xf32>
  %1 = nn.slice %0 {starts = [0], ends = [1], axes = [0], steps = [1]} : (tensor<4x1024xf32>) -> tensor<1x1024xf32>
  %2 = nn.slice %0 {starts = [1], ends = [4], axes = [0], steps = [1]} : (tensor<4x1024xf32>) -> tensor<3x1024xf32>
  %3 = nn.concat %2, %1 {axis = 0} : (tensor<3x1024xf32>, tensor<1x1024xf32>) -> tensor<4x1024xf32>
  %4 = nn.constant dense<2.0> : tensor<3072xf32>
  %5 = nn.slice %4 {starts = [0], ends = [2048], axes = [0], steps = [1]} : (tensor<3072xf32>) -> tensor<2048xf32>
  %6 = nn.slice %4 {starts = [1024], ends = [3072], axes = [0], steps = [1]} : (tensor<3072xf32>) -> tensor<2048xf32>
  func.return %3, %5, %6 : tensor<4x1024xf32>, tensor<2048xf32>, tensor<2048xf32>
}

// What is known at compile time is a property, or the result type, as far as that may stay: its users were made for it.
func.func @parameters(%x: tensor<?x6xf32>) -> (tensor<?x4xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x6xf32>) {
  %0 = nn.constant dense<[-1, 4]> : tensor<2xi64>
  %1 = nn.reshape %x, %0 : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %2 = nn.reshape %x, %0 : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = nn.constant dense<[1.0, 0.5]> : tensor<2xf32>
  %4 = nn.resize %x, _, %3 : (tensor<?x6xf32>, tensor<2xf32>) -> tensor<?x?xf32>
  %5 = nn.constant dense<1> : tensor<i64>
  %6 = nn.cum_sum %x, %5 : (tensor<?x6xf32>, tensor<i64>) -> tensor<?x6xf32>
  func.return %1, %2, %4, %6 : tensor<?x4xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x6xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: #w0 = #nn.weights<elided> : tensor<2048xf32>
// CHECK-NEXT: #w1 = #nn.weights<elided> : tensor<2048x1x1xf32>
// CHECK-NEXT: #w2 = #nn.weights<elided> : tensor<2048xf32>
// CHECK-NEXT: #w3 = #nn.weights<elided> : tensor<1x2x1024xi8>
// CHECK-LABEL: @shapes(
// CHECK-SAME: ) -> (tensor<2048x1x1xf32>, tensor<2048xf32>, tensor<1x2x1024x!q0>, tensor<2048xf32>)
// CHECK-NEXT: [[V0:%.+]] = nn.constant #w0 {origin = "bias"}
// CHECK-NEXT: [[V1:%.+]] = nn.constant #w1 {origin = "conv1", role = "bias/reshape"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant #w2
// CHECK-NEXT: [[V3:%.+]] = nn.constant #w3 -> tensor<1x2x1024x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.abs [[V0]] : tensor<2048xf32>
// CHECK-NEXT: func.return [[V1]], [[V2]], [[V3]], [[V4]] : tensor<2048x1x1xf32>, tensor<2048xf32>, tensor<1x2x1024x!q0>, tensor<2048xf32>
// CHECK-LABEL: @gates() -> (tensor<4x1024xf32>, tensor<2048xf32>, tensor<2048xf32>)
// CHECK-NEXT: [[V0:%.+]] = nn.constant #w{{[0-9]+}}
// CHECK-NEXT: [[V1:%.+]] = nn.constant #w{{[0-9]+}}
// CHECK-NEXT: [[V2:%.+]] = nn.slice [[V1]] {{.*starts = \[0\], ends = \[2048\].*}}
// CHECK-NEXT: [[V3:%.+]] = nn.slice [[V1]] {{.*starts = \[1024\], ends = \[3072\].*}}
// CHECK-NEXT: func.return [[V0]], [[V2]], [[V3]]
// CHECK-LABEL: @parameters(
// CHECK-SAME: [[V0:%.+]]: tensor<?x6xf32>) -> (tensor<?x4xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x6xf32>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[-1, 4]> : tensor<2xi64>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[V0]] : (tensor<?x6xf32>) -> tensor<?x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[V0]], [[V1]] : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.resize [[V0]] {scales = [1.0, 0.5]} : (tensor<?x6xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.cum_sum [[V0]] {axis = 1} : tensor<?x6xf32>
// CHECK-NEXT: func.return [[V2]], [[V3]], [[V4]], [[V5]] : tensor<?x4xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x6xf32>
