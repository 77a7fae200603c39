// RUN: qmlir-opt %s --split-input-file --verify-each=exec -p quant-partition | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-partition,quant-partition' | filecheck %s

// Two parts, the host between them and behind. Constants are copied to where they are used, values at borders keep the
// names of the model: of an input, of a node, of a part of a node.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @chain(%x: tensor<2x!x> {nn.name = "x"}) -> (tensor<2x!x> {nn.name = "y"}) {
    %c = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!x>
    %0 = nn.add %x, %c : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "first"}
    %1 = nn.relu %0 : tensor<2x!x> {origin = "relu1", role = "max"}
    %2 = nn.sigmoid %1 : tensor<2x!x> {origin = "sigmoid1", tensor = "s"}
    %3 = nn.add %2, %c : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "second"}
    %4 = nn.mul %3, %c : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "product"}
    func.return %4 : tensor<2x!x>
  }
}
// -----
// The host's operation is in one branch only: the other one, whole, is in the part behind it, so that what it gives does
// not go to the host and back.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @branches(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.relu %x : tensor<2x!x> {origin = "first"}
    %1 = nn.sigmoid %x : tensor<2x!x> {origin = "other"}
    %2 = nn.add %0, %1 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "sum"}
    func.return %2 : tensor<2x!x>
  }
}
// -----
// What is computed from the part before a host's operation is not in one part with what comes behind it: they would wait
// for each other.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @diamond(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.relu %x : tensor<2x!x> {origin = "first"}
    %1 = nn.sigmoid %0 : tensor<2x!x> {origin = "between"}
    %2 = nn.add %0, %1 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "sum"}
    func.return %2 : tensor<2x!x>
  }
}
// -----
// Two devices in the order of preference: what the first does not compute the second has; the host is asked last, and
// where it is named before a device it keeps what both compute.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}]>,
    #target.spec<"cpu", supports = [{op = "nn.relu"}]>,
    #target.spec<"npu", supports = [{op = "nn.add"}, {op = "nn.relu"}, {op = "nn.mul"}]>]} {
  func.func @several(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "of_dsp"}
    %1 = nn.mul %0, %0 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "of_npu"}
    %2 = nn.relu %1 : tensor<2x!x> {origin = "of_cpu"}
    func.return %2 : tensor<2x!x>
  }
}
// -----
// What computes no new number is where less goes over the border: the cast on the host, so that bytes cross and not
// floats; the pool on the device, in front of the border.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports =
    [{op = "nn.relu"}, {op = "nn.max_pool"}, {op = "quant.*"}]>]} {
  func.func @free(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2x!x> {
    %0 = quant.qcast %x : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!x>
    %1 = nn.relu %0 : tensor<1x1x4x4x!x> {origin = "relu"}
    %2 = nn.max_pool %1 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!x>) -> tensor<1x1x2x2x!x> {origin = "pool"}
    %3 = nn.sigmoid %2 : tensor<1x1x2x2x!x> {origin = "end"}
    func.return %3 : tensor<1x1x2x2x!x>
  }
}
// -----
// A value that several use crosses once; one that is returned too is a result once.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>]} {
  func.func @once(%x: tensor<2x!x>) -> (tensor<2x!x>, tensor<2x!x>) {
    %0 = nn.relu %x : tensor<2x!x> {origin = "a"}
    %1 = nn.add %x, %0 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x> {origin = "b"}
    %2 = nn.sigmoid %1 : tensor<2x!x> {origin = "c"}
    func.return %1, %2 : tensor<2x!x>, tensor<2x!x>
  }
}
// -----
// Nothing for a device: nothing changes.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.conv"}]>]} {
  func.func @nothing(%x: tensor<2x!x>) -> tensor<2x!x> {
    %c = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!x>
    %0 = nn.relu %x : tensor<2x!x>
    %1 = nn.add %0, %c : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x>
    func.return %1 : tensor<2x!x>
  }
}

// CHECK: #t0 = #target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @chain_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "x"}) -> (tensor<2x!q0> {nn.name = "relu1/max"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V0]], [[V1]] : tensor<2x!q0> {origin = "first"}
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<2x!q0> {origin = "relu1", role = "max"}
// CHECK-NEXT: func.return [[V3]] : tensor<2x!q0>
// CHECK-LABEL: @chain_dsp_1(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "s"}) -> (tensor<2x!q0> {nn.name = "second"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V0]], [[V1]] : tensor<2x!q0> {origin = "second"}
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q0>
// CHECK-LABEL: @chain(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "x"}) -> (tensor<2x!q0> {nn.name = "y"})
// CHECK-NEXT: [[V1:%.+]] = func.call @chain_dsp_0([[V0]]) {tensor = "relu1/max"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : tensor<2x!q0> {origin = "sigmoid1", tensor = "s"}
// CHECK-NEXT: [[V3:%.+]] = func.call @chain_dsp_1([[V2]]) {tensor = "second"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V3]], [[V4]] : tensor<2x!q0> {origin = "product"}
// CHECK-NEXT: func.return [[V5]] : tensor<2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @branches_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>, [[V1:%.+]]: tensor<2x!q0> {nn.name = "other"}) -> (tensor<2x!q0> {nn.name = "sum"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V0]] : tensor<2x!q0> {origin = "first"}
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V1]] : tensor<2x!q0> {origin = "sum"}
// CHECK-NEXT: func.return [[V3]] : tensor<2x!q0>
// CHECK-LABEL: @branches(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = nn.sigmoid [[V0]] : tensor<2x!q0> {origin = "other"}
// CHECK-NEXT: [[V2:%.+]] = func.call @branches_dsp_0([[V0]], [[V1]]) {tensor = "sum"} : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @diamond_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2x!q0> {nn.name = "first"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2x!q0> {origin = "first"}
// CHECK-NEXT: func.return [[V1]] : tensor<2x!q0>
// CHECK-LABEL: @diamond_dsp_1(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "first"}, [[V1:%.+]]: tensor<2x!q0> {nn.name = "between"}) -> (tensor<2x!q0> {nn.name = "sum"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V0]], [[V1]] : tensor<2x!q0> {origin = "sum"}
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q0>
// CHECK-LABEL: @diamond(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = func.call @diamond_dsp_0([[V0]]) {tensor = "first"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : tensor<2x!q0> {origin = "between"}
// CHECK-NEXT: [[V3:%.+]] = func.call @diamond_dsp_1([[V1]], [[V2]]) {tensor = "sum"} : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V3]] : tensor<2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.add"}]>
// CHECK-NEXT: #t1 = #target.spec<"cpu", supports = [{op = "nn.relu"}]>
// CHECK-NEXT: #t2 = #target.spec<"npu", supports = [{op = "nn.add"}, {op = "nn.relu"}, {op = "nn.mul"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1, #t2]} {
// CHECK-LABEL: @several_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2x!q0> {nn.name = "of_dsp"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.add [[V0]], [[V0]] : tensor<2x!q0> {origin = "of_dsp"}
// CHECK-NEXT: func.return [[V1]] : tensor<2x!q0>
// CHECK-LABEL: @several_npu_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "of_dsp"}) -> (tensor<2x!q0> {nn.name = "of_npu"}) attributes {target.part = "npu"}
// CHECK-NEXT: [[V1:%.+]] = nn.mul [[V0]], [[V0]] : tensor<2x!q0> {origin = "of_npu"}
// CHECK-NEXT: func.return [[V1]] : tensor<2x!q0>
// CHECK-LABEL: @several(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = func.call @several_dsp_0([[V0]]) {tensor = "of_dsp"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = func.call @several_npu_0([[V1]]) {tensor = "of_npu"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<2x!q0> {origin = "of_cpu"}
// CHECK-NEXT: func.return [[V3]] : tensor<2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.relu"}, {op = "nn.max_pool"}, {op = "quant.*"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @free_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4x4x!q0>) -> (tensor<1x1x2x2x!q0> {nn.name = "pool"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<1x1x4x4x!q0> {origin = "relu"}
// CHECK-NEXT: [[V2:%.+]] = nn.max_pool [[V1]] {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!q0>) -> tensor<1x1x2x2x!q0> {origin = "pool"}
// CHECK-NEXT: func.return [[V2]] : tensor<1x1x2x2x!q0>
// CHECK-LABEL: @free(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> tensor<1x1x2x2x!q0>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = func.call @free_dsp_0([[V1]]) {tensor = "pool"} : (tensor<1x1x4x4x!q0>) -> tensor<1x1x2x2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.sigmoid [[V2]] : tensor<1x1x2x2x!q0> {origin = "end"}
// CHECK-NEXT: func.return [[V3]] : tensor<1x1x2x2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.add"}, {op = "nn.relu"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @once_dsp_0(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2x!q0> {nn.name = "b"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2x!q0> {origin = "a"}
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V0]], [[V1]] : tensor<2x!q0> {origin = "b"}
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q0>
// CHECK-LABEL: @once(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2x!q0>, tensor<2x!q0>)
// CHECK-NEXT: [[V1:%.+]] = func.call @once_dsp_0([[V0]]) {tensor = "b"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : tensor<2x!q0> {origin = "c"}
// CHECK-NEXT: func.return [[V1]], [[V2]] : tensor<2x!q0>, tensor<2x!q0>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.conv"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @nothing(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<3> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V0]] : tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V1]] : tensor<2x!q0>
// CHECK-NEXT: func.return [[V3]] : tensor<2x!q0>
