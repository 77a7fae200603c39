// RUN: qmlir-opt %s -p nn-decompose,canonicalize,nn-raise,canonicalize,dce | filecheck %s
// RUN: qmlir-opt %s -p nn-decompose,canonicalize,dce | filecheck %s --check-prefix=PARTS

// A constant that is reshaped, transposed, sliced or broadcast stays the model's: it keeps its name on both ways.
// CHECK-LABEL: func.func @conv
// CHECK-DAG: nn.constant dense<2.500000e-01> : tensor<3x2x1x1xf32> {origin = "w"}
// CHECK-DAG: nn.constant dense<[5.000000e-01, 1.000000e+00, -5.000000e-01]> : tensor<3xf32> {origin = "b"}
// PARTS-LABEL: func.func @conv
// PARTS-DAG: : tensor<3x2x1x1xf32> {origin = "w"}
// PARTS-DAG: : tensor<3x1x1xf32> {origin = "b"}
func.func @conv(%x: tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %w = nn.constant dense<0.25> : tensor<3x2x1x1xf32> {origin = "w"}
  %b = nn.constant dense<[0.5, 1.0, -0.5]> : tensor<3xf32> {origin = "b"}
  %y = nn.conv %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32> {origin = "conv"}
  func.return %y : tensor<1x3x4x4xf32>
}

// PARTS-LABEL: func.func @moves
// PARTS-NEXT: nn.constant {{.*}} : tensor<3x2xf32> {origin = "w"}
// PARTS-NEXT: nn.constant {{.*}} : tensor<4xf32> {origin = "c"}
// PARTS-NEXT: nn.constant {{.*}} : tensor<2xf32> {origin = "sum"}
// PARTS-NEXT: func.return
func.func @moves() -> (tensor<3x2xf32>, tensor<4xf32>, tensor<2xf32>) {
  %w = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> {origin = "w"}
  %v = nn.constant dense<[7.0, 8.0]> : tensor<2xf32> {origin = "v"}
  %t = nn.transpose %w {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "t"}
  %s = nn.slice %w {starts = [0, 0], ends = [1, 2]} : (tensor<2x3xf32>) -> tensor<1x2xf32> {origin = "s"}
  %r = nn.reshape %s : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "r"}
  %c = nn.concat %r, %v {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> {origin = "c"}
  %a = nn.add %v, %v : tensor<2xf32> {origin = "sum"}
  func.return %t, %c, %a : tensor<3x2xf32>, tensor<4xf32>, tensor<2xf32>
}

// What is left of the constants of a batch norm is its scale and its bias: 2 / sqrt(4) and 5 - 3 * 1.
// CHECK-LABEL: func.func @batch_norm
// CHECK-DAG: [[SCALE:%.+]] = nn.constant dense<[1.000000e+00]> : tensor<1xf32>
// CHECK-DAG: [[BIAS:%.+]] = nn.constant dense<[2.000000e+00]> : tensor<1xf32>
// CHECK: nn.batch_norm %x, [[SCALE]], [[BIAS]] : (tensor<2x1x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x1x4xf32> {origin = "bn"}
// PARTS-LABEL: func.func @batch_norm
// PARTS: nn.mul
// PARTS-NEXT: nn.constant
// PARTS-NEXT: nn.add
func.func @batch_norm(%x: tensor<2x1x4xf32>) -> tensor<2x1x4xf32> {
  %s = nn.constant dense<2.0> : tensor<1xf32>
  %b = nn.constant dense<5.0> : tensor<1xf32>
  %m = nn.constant dense<3.0> : tensor<1xf32>
  %v = nn.constant dense<1.0> : tensor<1xf32>
  %y = nn.batch_norm %x, %s, %b, %m, %v {epsilon = 3.0} : (tensor<2x1x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x1x4xf32> {origin = "bn"}
  func.return %y : tensor<2x1x4xf32>
}
