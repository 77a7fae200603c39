// RUN: qmlir-opt %s -p 'nn-recognize{keep=softmax,layer_norm,y_silu}' | filecheck %s

// The composite stands for the nodes of its parts, and its result has the name of theirs.
// CHECK-LABEL: @softmax(
// CHECK-NEXT: nn.softmax {{%.+}} {axis = 0} : tensor<4x?xf32> {origin = ["max", "sub", "exp", "sum", "div"], op_type = ["ReduceMax", "Sub", "Exp", "ReduceSum", "Div"], tensor = "y"}
// CHECK-NEXT: func.return
func.func @softmax(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %0 = nn.reduce_max %x {axes = [0]} : (tensor<4x?xf32>) -> tensor<1x?xf32> {origin = "max", op_type = "ReduceMax"}
  %1 = nn.sub %x, %0 : (tensor<4x?xf32>, tensor<1x?xf32>) -> tensor<4x?xf32> {origin = "sub", op_type = "Sub"}
  %2 = nn.exp %1 : tensor<4x?xf32> {origin = "exp", op_type = "Exp"}
  %3 = nn.reduce_sum %2 {axes = [0]} : (tensor<4x?xf32>) -> tensor<1x?xf32> {origin = "sum", op_type = "ReduceSum"}
  %4 = nn.div %2, %3 : (tensor<4x?xf32>, tensor<1x?xf32>) -> tensor<4x?xf32> {origin = "div", op_type = "Div", tensor = "y"}
  func.return %4 : tensor<4x?xf32>
}

// A scale in the shape of the normalized axes is the constant itself; one that is left out is made.
// CHECK-LABEL: @layer_norm(
// CHECK-DAG: [[SCALE:%.+]] = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {origin = "gamma"}
// CHECK: nn.layer_norm {{%.+}}, [[SCALE]] {epsilon = 1.{{0*}}e-06} : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32> {origin = ["mean", "sub", "square", "variance", "add", "root", "inverse", "normalized", "scaled"], tensor = "scaled"}
// CHECK-NEXT: [[ONES:%.+]] = nn.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK-NEXT: nn.layer_norm {{%.+}}, [[ONES]] {epsilon = 1.{{0*}}e-06}
// CHECK-NEXT: func.return
func.func @layer_norm(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %eps = nn.constant dense<1.0e-6> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<1xf32>
  %gamma = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "gamma"}
  %0 = nn.reduce_mean %x {axes = [-1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "mean"}
  %1 = nn.sub %x, %0 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "sub"}
  %2 = nn.mul %1, %1 : tensor<3x2xf32> {origin = "square"}
  %3 = nn.reduce_mean %2 {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "variance"}
  %4 = nn.add %3, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> {origin = "add"}
  %5 = nn.pow %4, %half : (tensor<3x1xf32>, tensor<1xf32>) -> tensor<3x1xf32> {origin = "root"}
  %6 = nn.reciprocal %5 : tensor<3x1xf32> {origin = "inverse"}
  %7 = nn.mul %1, %6 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "normalized"}
  %8 = nn.mul %7, %gamma : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32> {origin = "scaled"}
  %9 = nn.reduce_mean %8 {axes = [-1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "mean2"}
  %10 = nn.sub %8, %9 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "sub2"}
  %11 = nn.mul %10, %10 : tensor<3x2xf32> {origin = "square2"}
  %12 = nn.reduce_mean %11 {axes = [-1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "variance2"}
  %13 = nn.add %12, %eps : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> {origin = "add2"}
  %14 = nn.sqrt %13 : tensor<3x1xf32> {origin = "root2"}
  %15 = nn.div %10, %14 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "normalized2"}
  func.return %8, %15 : tensor<3x2xf32>, tensor<3x2xf32>
}

// A node may be kept by its name, here that of one of the parts; others become parts again, and stay.
// CHECK-LABEL: @by_name(
// CHECK: [[SILU:%.+]] = nn.swish {{%.+}} : tensor<2xf32> {origin = ["sigmoid", "y_silu"], tensor = "y_silu"}
// CHECK-NEXT: nn.sigmoid [[SILU]]
// CHECK-NEXT: nn.mul
func.func @by_name(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.sigmoid %x : tensor<2xf32> {origin = "sigmoid"}
  %1 = nn.mul %0, %x : tensor<2xf32> {origin = "y_silu"}
  %2 = nn.sigmoid %1 : tensor<2xf32> {origin = "sigmoid2"}
  %3 = nn.mul %2, %1 : tensor<2xf32> {origin = "silu2"}
  func.return %3 : tensor<2xf32>
}

// Other floats round between the parts, where the composite does not; what is quantized has the parts that it has.
// CHECK-LABEL: @other_types(
// CHECK-NEXT: nn.exp
// CHECK-NEXT: nn.reduce_sum
// CHECK-NEXT: nn.div
func.func @other_types(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = nn.exp %x : tensor<4xf16> {origin = "exp"}
  %1 = nn.reduce_sum %0 {axes = [0]} : (tensor<4xf16>) -> tensor<1xf16> {origin = "sum"}
  %2 = nn.div %0, %1 : (tensor<4xf16>, tensor<1xf16>) -> tensor<4xf16> {origin = "div"}
  func.return %2 : tensor<4xf16>
}

// A function of a constant is a constant: folding has it.
// CHECK-LABEL: @of_a_constant(
// CHECK-NOT: nn.sigmoid
// CHECK: func.return
func.func @of_a_constant() -> tensor<4xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %x = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.neg %x : tensor<4xf32>
  %1 = nn.exp %0 : tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.div %one, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// Parts in another block than the last one are not taken out of theirs.
// CHECK-LABEL: @in_two_blocks(
// CHECK: nn.exp
// CHECK-NEXT: nn.reduce_sum
// CHECK-NEXT: scf.if
// CHECK-NEXT: nn.div
func.func @in_two_blocks(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %0 = nn.exp %x : tensor<4xf32> {origin = "exp"}
  %1 = nn.reduce_sum %0 {axes = [0]} : (tensor<4xf32>) -> tensor<1xf32> {origin = "sum"}
  %2 = scf.if %c -> (tensor<4xf32>) {
    %3 = nn.div %0, %1 : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32> {origin = "div"}
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %0 : tensor<4xf32>
  }
  func.return %2 : tensor<4xf32>
}
