// RUN: qmlir-opt %s --split-input-file -p nn-raise | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'nn-raise{kinds=*}' | filecheck %s --check-prefix=KINDS

!x = !quant.uniform<i8:f32, 0.25>
!a = !quant.uniform<i32:f32, 0.0625>
!u = !quant.uniform<u8:f32, 0.25>

// The first target that computes a part says whether it wants the composite: the first one wants swish, not fully
// connected layers; the second one wants everything. What nobody computes is raised as without targets.
#first = #target.spec<"first", supports = [{op = "nn.*", input = {storages = [i8]}, output = {storages = [i8]}, accumulator = {storages = [i32]}}], raises = ["swish"]>
#second = #target.spec<"second", supports = [{op = "nn.*", output = {storages = [u8]}, accumulator = {storages = [i32]}}], raises = ["*"]>
builtin.module attributes {target.specs = [#first, #second]} {
  func.func @main(%x: tensor<1x4x!x>, %v: tensor<1x4x!u>, %w: tensor<2x4x!x>, %b: tensor<2x!a>) -> (tensor<1x2x!x>, tensor<1x2x!u>, tensor<1x4x!x>) {
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4x!x>) -> tensor<1x2x!a> {origin = "fc1", role = "matmul"}
    %1 = nn.add %0, %b : (tensor<1x2x!a>, tensor<2x!a>) -> tensor<1x2x!x> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
    %2 = nn.matmul %v, %w {transpose_b = true} : (tensor<1x4x!u>, tensor<2x4x!x>) -> tensor<1x2x!a> {origin = "fc2", role = "matmul"}
    %3 = nn.add %2, %b : (tensor<1x2x!a>, tensor<2x!a>) -> tensor<1x2x!u> {origin = "fc2", role = "bias_add", composite = {op = "nn.fully_connected"}}
    %4 = nn.sigmoid %x : tensor<1x4x!x> {origin = "act", role = "sigmoid"}
    %5 = nn.mul %x, %4 : tensor<1x4x!x> {origin = "act", role = "product", composite = {op = "nn.swish"}}
    func.return %1, %3, %5 : tensor<1x2x!x>, tensor<1x2x!u>, tensor<1x4x!x>
  }
  func.func @float(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc1", role = "matmul"}
    %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
    func.return %1 : tensor<1x2xf32>
  }
}

// CHECK: #t0 = #target.spec<"first", supports = [{op = "nn.*", input = {storages = [i8]}, accumulator = {storages = [i32]}, output = {storages = [i8]}}], raises = ["swish"]>
// CHECK-NEXT: #t1 = #target.spec<"second", supports = [{op = "nn.*", accumulator = {storages = [i32]}, output = {storages = [u8]}}], raises = ["*"]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 6.250000e-02>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x!q0>, [[V1:%.+]]: tensor<1x4x!q1>, [[V2:%.+]]: tensor<2x4x!q0>, [[V3:%.+]]: tensor<2x!q2>) -> (tensor<1x2x!q0>, tensor<1x2x!q1>, tensor<1x4x!q0>)
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V0]], [[V2]] {transpose_b = true} : (tensor<1x4x!q0>, tensor<2x4x!q0>) -> tensor<1x2x!q2> {origin = "fc1", role = "matmul"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V3]] : (tensor<1x2x!q2>, tensor<2x!q2>) -> tensor<1x2x!q0> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
// CHECK-NEXT: [[V6:%.+]] = nn.fully_connected [[V1]], [[V2]], [[V3]] : (tensor<1x4x!q1>, tensor<2x4x!q0>, tensor<2x!q2>) -> tensor<1x2x!q1> {origin = "fc2"}
// CHECK-NEXT: [[V7:%.+]] = nn.swish [[V0]] {components = {sigmoid = !q0}} : tensor<1x4x!q0> {origin = "act"}
// CHECK-NEXT: func.return [[V5]], [[V6]], [[V7]] : tensor<1x2x!q0>, tensor<1x2x!q1>, tensor<1x4x!q0>
// CHECK-LABEL: @float(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<2x4xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1"}
// CHECK-NEXT: func.return [[V3]] : tensor<1x2xf32>

// KINDS: #t0 = #target.spec<"first", supports = [{op = "nn.*", input = {storages = [i8]}, accumulator = {storages = [i32]}, output = {storages = [i8]}}], raises = ["swish"]>
// KINDS-NEXT: #t1 = #target.spec<"second", supports = [{op = "nn.*", accumulator = {storages = [i32]}, output = {storages = [u8]}}], raises = ["*"]>
// KINDS-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// KINDS-NEXT: !q1 = !quant.uniform<u8:f32, 2.500000e-01>
// KINDS-NEXT: !q2 = !quant.uniform<i32:f32, 6.250000e-02>
// KINDS-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// KINDS-LABEL: @main(
// KINDS-SAME: [[V0:%.+]]: tensor<1x4x!q0>, [[V1:%.+]]: tensor<1x4x!q1>, [[V2:%.+]]: tensor<2x4x!q0>, [[V3:%.+]]: tensor<2x!q2>) -> (tensor<1x2x!q0>, tensor<1x2x!q1>, tensor<1x4x!q0>)
// KINDS-NEXT: [[V4:%.+]] = nn.fully_connected [[V0]], [[V2]], [[V3]] : (tensor<1x4x!q0>, tensor<2x4x!q0>, tensor<2x!q2>) -> tensor<1x2x!q0> {origin = "fc1"}
// KINDS-NEXT: [[V5:%.+]] = nn.fully_connected [[V1]], [[V2]], [[V3]] : (tensor<1x4x!q1>, tensor<2x4x!q0>, tensor<2x!q2>) -> tensor<1x2x!q1> {origin = "fc2"}
// KINDS-NEXT: [[V6:%.+]] = nn.swish [[V0]] {components = {sigmoid = !q0}} : tensor<1x4x!q0> {origin = "act"}
// KINDS-NEXT: func.return [[V4]], [[V5]], [[V6]] : tensor<1x2x!q0>, tensor<1x2x!q1>, tensor<1x4x!q0>
// KINDS-LABEL: @float(
// KINDS-SAME: [[V0:%.+]]: tensor<1x4xf32>, [[V1:%.+]]: tensor<2x4xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2xf32>
// KINDS-NEXT: [[V3:%.+]] = nn.fully_connected [[V0]], [[V1]], [[V2]] : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1"}
// KINDS-NEXT: func.return [[V3]] : tensor<1x2xf32>
