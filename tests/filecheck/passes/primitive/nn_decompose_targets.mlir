// RUN: qmlir-opt %s --split-input-file -p nn-decompose | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'nn-decompose{keep=fc}' | filecheck %s --check-prefix=KEEP

// A composite stays whole where the first target that computes it, whole or in parts, keeps it. The first one keeps
// gelu, but not with the approximation; of a softmax it computes no part, and the second one keeps that.
#first = #target.spec<"first", keep = ["gelu"], supports = [
  {op = "nn.gelu", properties = {tanh_approximation = [false]}}, {op = "nn.matmul"}, {op = "nn.add", role = "bias_add"}]>
#second = #target.spec<"second", keep = ["softmax", "fully_connected"], supports = [{op = "*"}]>
builtin.module attributes {target.specs = [#first, #second]} {
  func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
    %0 = nn.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc"}
    %1 = nn.gelu %0 : tensor<1x2xf32> {origin = "act1"}
    %2 = nn.gelu %1 {tanh_approximation = true} : tensor<1x2xf32> {origin = "act2"}
    %3 = nn.softmax %2 : tensor<1x2xf32> {origin = "prob"}
    func.return %3 : tensor<1x2xf32>
  }
}
// -----
// What no target computes becomes its parts: there is nobody who wants it whole.
builtin.module attributes {target.specs = [#target.spec<"t", keep = ["*"], supports = [{op = "nn.matmul"}]>]} {
  func.func @nobody(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.swish %x : tensor<2xf32> {origin = "s"}
    func.return %0 : tensor<2xf32>
  }
}

// CHECK: #t0 = #target.spec<"first", keep = ["gelu"], supports = [{op = "nn.gelu", properties = {tanh_approximation = [false]}}, {op = "nn.matmul"}, {op = "nn.add", role = "bias_add"}]>
// CHECK-NEXT: #t1 = #target.spec<"second", keep = ["softmax", "fully_connected"], supports = [{op = "*"}]>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<2x4xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V1]] {transpose_b = true} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc", role = "matmul"}
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V2]] : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
// CHECK-NEXT: [[V5:%.+]] = nn.gelu [[V4]] : tensor<1x2xf32> {origin = "act1"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V5]], [[V5]] : tensor<1x2xf32> {origin = "act2", role = "square"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V6]], [[V5]] : tensor<1x2xf32> {origin = "act2", role = "cube"}
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<0.044715> : tensor<f32> {origin = "act2", role = "coefficient"}
// CHECK-NEXT: [[V9:%.+]] = nn.mul [[V7]], [[V8]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32> {origin = "act2", role = "bend"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V5]], [[V9]] : tensor<1x2xf32> {origin = "act2", role = "inner"}
// CHECK-NEXT: [[V11:%.+]] = nn.constant dense<0.7978846> : tensor<f32> {origin = "act2", role = "factor"}
// CHECK-NEXT: [[V12:%.+]] = nn.mul [[V10]], [[V11]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32> {origin = "act2", role = "argument"}
// CHECK-NEXT: [[V13:%.+]] = nn.tanh [[V12]] : tensor<1x2xf32> {origin = "act2", role = "tanh"}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "act2", role = "one"}
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V13]], [[V14]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32> {origin = "act2", role = "gate"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "act2", role = "one_half"}
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V5]], [[V16]] : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32> {origin = "act2", role = "half"}
// CHECK-NEXT: [[V18:%.+]] = nn.mul [[V17]], [[V15]] : tensor<1x2xf32> {origin = "act2", role = "product", composite = {op = "nn.gelu", properties = {tanh_approximation = true}}}
// CHECK-NEXT: [[V19:%.+]] = nn.softmax [[V18]] : tensor<1x2xf32> {origin = "prob"}
// CHECK-NEXT: func.return [[V19]] : tensor<1x2xf32>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"t", keep = ["*"], supports = [{op = "nn.matmul"}]>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @nobody(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sigmoid [[V0]] : tensor<2xf32> {origin = "s", role = "sigmoid"}
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : tensor<2xf32> {origin = "s", role = "product", composite = {op = "nn.swish"}}
// CHECK-NEXT: func.return [[V2]] : tensor<2xf32>

// What is given by name takes the place of all that targets keep.
// KEEP: nn.fully_connected
// KEEP: nn.erf
// KEEP: nn.exp
