// RUN: qmlir-opt %s -p 'quant-partition{min_ops=2}' | filecheck %s --check-prefix=MINIMUM
// RUN: qmlir-opt %s -p 'quant-partition{intensity=4 transfer_bytes=0}' | filecheck %s --check-prefix=INTENSITY
// RUN: qmlir-opt %s -p 'quant-partition{intensity=64 transfer_bytes=0}' | filecheck %s --check-prefix=NONE

// The layer has 256 products and additions on 16 bytes that come and 16 that go, 8 for each: enough for 4, and not for
// 64. The sum alone would compute 16 for 48 bytes.
!x = !quant.uniform<i8:f32, 0.25>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports =
    [{op = "nn.fully_connected"}, {op = "nn.relu"}, {op = "nn.add"}]>]} {
  func.func @main(%x: tensor<1x16x!x>) -> tensor<1x16x!x> {
    %w = nn.constant dense<3> : tensor<16x16xi8> -> tensor<16x16x!x>
    %0 = nn.fully_connected %x, %w : (tensor<1x16x!x>, tensor<16x16x!x>) -> tensor<1x16x!x> {origin = "fc"}
    %1 = nn.relu %0 : tensor<1x16x!x> {origin = "relu"}
    %2 = nn.sigmoid %1 : tensor<1x16x!x> {origin = "sigmoid"}
    %3 = nn.add %2, %x : (tensor<1x16x!x>, tensor<1x16x!x>) -> tensor<1x16x!x> {origin = "sum"}
    func.return %3 : tensor<1x16x!x>
  }
}

// MINIMUM: #t0 = #target.spec<"dsp", supports = [{op = "nn.fully_connected"}, {op = "nn.relu"}, {op = "nn.add"}]>
// MINIMUM-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// MINIMUM-NEXT: #w0 = dense<3> : tensor<16x16xi8>
// MINIMUM-NEXT: builtin.module attributes {target.specs = [#t0]} {
// MINIMUM-LABEL: @main_dsp_0(
// MINIMUM-SAME: [[V0:%.+]]: tensor<1x16x!q0>) -> (tensor<1x16x!q0> {nn.name = "relu"}) attributes {target.part = "dsp"}
// MINIMUM-NEXT: [[V1:%.+]] = nn.constant #w0 -> tensor<16x16x!q0>
// MINIMUM-NEXT: [[V2:%.+]] = nn.fully_connected [[V0]], [[V1]] : (tensor<1x16x!q0>, tensor<16x16x!q0>) -> tensor<1x16x!q0> {origin = "fc"}
// MINIMUM-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<1x16x!q0> {origin = "relu"}
// MINIMUM-NEXT: func.return [[V3]] : tensor<1x16x!q0>
// MINIMUM-LABEL: @main(
// MINIMUM-SAME: [[V0:%.+]]: tensor<1x16x!q0>) -> tensor<1x16x!q0>
// MINIMUM-NEXT: [[V1:%.+]] = func.call @main_dsp_0([[V0]]) {tensor = "relu"} : (tensor<1x16x!q0>) -> tensor<1x16x!q0>
// MINIMUM-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : tensor<1x16x!q0> {origin = "sigmoid"}
// MINIMUM-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V0]] : tensor<1x16x!q0> {origin = "sum"}
// MINIMUM-NEXT: func.return [[V3]] : tensor<1x16x!q0>

// INTENSITY: #t0 = #target.spec<"dsp", supports = [{op = "nn.fully_connected"}, {op = "nn.relu"}, {op = "nn.add"}]>
// INTENSITY-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// INTENSITY-NEXT: #w0 = dense<3> : tensor<16x16xi8>
// INTENSITY-NEXT: builtin.module attributes {target.specs = [#t0]} {
// INTENSITY-LABEL: @main_dsp_0(
// INTENSITY-SAME: [[V0:%.+]]: tensor<1x16x!q0>) -> (tensor<1x16x!q0> {nn.name = "relu"}) attributes {target.part = "dsp"}
// INTENSITY-NEXT: [[V1:%.+]] = nn.constant #w0 -> tensor<16x16x!q0>
// INTENSITY-NEXT: [[V2:%.+]] = nn.fully_connected [[V0]], [[V1]] : (tensor<1x16x!q0>, tensor<16x16x!q0>) -> tensor<1x16x!q0> {origin = "fc"}
// INTENSITY-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<1x16x!q0> {origin = "relu"}
// INTENSITY-NEXT: func.return [[V3]] : tensor<1x16x!q0>
// INTENSITY-LABEL: @main(
// INTENSITY-SAME: [[V0:%.+]]: tensor<1x16x!q0>) -> tensor<1x16x!q0>
// INTENSITY-NEXT: [[V1:%.+]] = func.call @main_dsp_0([[V0]]) {tensor = "relu"} : (tensor<1x16x!q0>) -> tensor<1x16x!q0>
// INTENSITY-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : tensor<1x16x!q0> {origin = "sigmoid"}
// INTENSITY-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V0]] : tensor<1x16x!q0> {origin = "sum"}
// INTENSITY-NEXT: func.return [[V3]] : tensor<1x16x!q0>

// NONE: #t0 = #target.spec<"dsp", supports = [{op = "nn.fully_connected"}, {op = "nn.relu"}, {op = "nn.add"}]>
// NONE-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// NONE-NEXT: #w0 = dense<3> : tensor<16x16xi8>
// NONE-NEXT: builtin.module attributes {target.specs = [#t0]} {
// NONE-LABEL: @main(
// NONE-SAME: [[V0:%.+]]: tensor<1x16x!q0>) -> tensor<1x16x!q0>
// NONE-NEXT: [[V1:%.+]] = nn.constant #w0 -> tensor<16x16x!q0>
// NONE-NEXT: [[V2:%.+]] = nn.fully_connected [[V0]], [[V1]] : (tensor<1x16x!q0>, tensor<16x16x!q0>) -> tensor<1x16x!q0> {origin = "fc"}
// NONE-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<1x16x!q0> {origin = "relu"}
// NONE-NEXT: [[V4:%.+]] = nn.sigmoid [[V3]] : tensor<1x16x!q0> {origin = "sigmoid"}
// NONE-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V0]] : tensor<1x16x!q0> {origin = "sum"}
// NONE-NEXT: func.return [[V5]] : tensor<1x16x!q0>
