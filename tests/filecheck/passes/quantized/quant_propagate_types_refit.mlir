// RUN: qmlir-opt %s -p 'quant-propagate-types' | filecheck %s --check-prefix=EXACT
// RUN: qmlir-opt %s -p 'quant-propagate-types{exact=false}' | filecheck %s --check-prefix=LOSSY

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<u8<1:255>:f32, 0.25:128>
!y = !quant.uniform<u8:f32, 0.75:100>
!b = !quant.uniform<i32:f32, 0.125>

// The model has u8, the target i8, and symmetric weights: the same numbers, one rescale where they come in and one where
// they leave. The addition wants powers of two, which are other numbers.
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [
  {op = "nn.matmul", input = {storages = [i8]}, weight = {storages = [i8], schemes = [symmetric]}, output = {storages = [i8]}},
  {op = "nn.relu", input = {storages = [i8]}, output = {storages = [i8]}},
  {op = "nn.add", input = {storages = [i16], schemes = [symmetric_pow2]}, output = {storages = [i16], schemes = [symmetric_pow2]}}]>]} {
  func.func @storage(%x: tensor<2x4x!x>) -> tensor<2x2x!y> {
    %w = nn.constant dense<[[128, 129, 255, 1], [100, 128, 128, 150]]> : tensor<2x4xui8> -> tensor<2x4x!w> {origin = "w"}
    %0 = quant.dcast %x : tensor<2x4x!x> to tensor<2x4xf32>
    %1 = quant.dcast %w : tensor<2x4x!w> to tensor<2x4xf32>
    %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32> {origin = "fc"}
    %3 = quant.qcast %2 : tensor<2x2xf32> to tensor<2x2x!y>
    %4 = quant.dcast %3 : tensor<2x2x!y> to tensor<2x2xf32>
    %6 = nn.relu %4 : tensor<2x2xf32> {origin = "relu"}
    %7 = quant.qcast %6 : tensor<2x2xf32> to tensor<2x2x!y>
    func.return %7 : tensor<2x2x!y>
  }
  func.func @grid(%x: tensor<4x!x>) -> tensor<4x!y> {
    %0 = quant.dcast %x : tensor<4x!x> to tensor<4xf32>
    %1 = nn.add %0, %0 : tensor<4xf32> {origin = "sum"}
    %2 = quant.qcast %1 : tensor<4xf32> to tensor<4x!y>
    func.return %2 : tensor<4x!y>
  }
}

// EXACT: #t0 = #target.spec<"dsp", supports = [{op = "nn.matmul", input = {storages = [i8]}, weight = {storages = [i8], schemes = [symmetric]}, output = {storages = [i8]}}, {op = "nn.relu", input = {storages = [i8]}, output = {storages = [i8]}}, {op = "nn.add", input = {storages = [i16], schemes = [symmetric_pow2]}, output = {storages = [i16], schemes = [symmetric_pow2]}}]>
// EXACT-NEXT: !q0 = !quant.uniform<u8:f32, 5.000000e-01:128>
// EXACT-NEXT: !q1 = !quant.uniform<u8:f32, 7.500000e-01:100>
// EXACT-NEXT: !q2 = !quant.uniform<i8:f32, 5.000000e-01>
// EXACT-NEXT: !q3 = !quant.uniform<i8<-127:127>:f32, 2.500000e-01>
// EXACT-NEXT: !q4 = !quant.uniform<i8:f32, 7.500000e-01:-28>
// EXACT-NEXT: builtin.module attributes {target.specs = [#t0]} {
// EXACT-LABEL: @storage(
// EXACT-SAME: [[V0:%.+]]: tensor<2x4x!q0>) -> tensor<2x2x!q1>
// EXACT-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x4x!q0> to tensor<2x4xf32>
// EXACT-NEXT: [[V2:%.+]] = quant.qcast [[V1]] {origin = "fc"} : tensor<2x4xf32> to tensor<2x4x!q2>
// EXACT-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}0, 1, 127, -127], [-28, 0, 0, 22]]> : tensor<2x4xi8> -> tensor<2x4x!q3> {origin = "w"}
// EXACT-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] {transpose_b = true} : (tensor<2x4x!q2>, tensor<2x4x!q3>) -> tensor<2x2x!q4> {origin = "fc"}
// EXACT-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<2x2x!q4> {origin = "relu"}
// EXACT-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "relu"} : tensor<2x2x!q4> to tensor<2x2xf32>
// EXACT-NEXT: [[V7:%.+]] = quant.qcast [[V6]] : tensor<2x2xf32> to tensor<2x2x!q1>
// EXACT-NEXT: func.return [[V7]] : tensor<2x2x!q1>
// EXACT-LABEL: @grid(
// EXACT-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// EXACT-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// EXACT-NEXT: [[V2:%.+]] = nn.add [[V1]], [[V1]] : tensor<4xf32> {origin = "sum"}
// EXACT-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<4xf32> to tensor<4x!q1>
// EXACT-NEXT: func.return [[V3]] : tensor<4x!q1>

// LOSSY: #t0 = #target.spec<"dsp", supports = [{op = "nn.matmul", input = {storages = [i8]}, weight = {storages = [i8], schemes = [symmetric]}, output = {storages = [i8]}}, {op = "nn.relu", input = {storages = [i8]}, output = {storages = [i8]}}, {op = "nn.add", input = {storages = [i16], schemes = [symmetric_pow2]}, output = {storages = [i16], schemes = [symmetric_pow2]}}]>
// LOSSY-NEXT: !q0 = !quant.uniform<u8:f32, 5.000000e-01:128>
// LOSSY-NEXT: !q1 = !quant.uniform<u8:f32, 7.500000e-01:100>
// LOSSY-NEXT: !q2 = !quant.uniform<i8:f32, 5.000000e-01>
// LOSSY-NEXT: !q3 = !quant.uniform<i8<-127:127>:f32, 2.500000e-01>
// LOSSY-NEXT: !q4 = !quant.uniform<i8:f32, 7.500000e-01:-28>
// LOSSY-NEXT: !q5 = !quant.uniform<i16<-128:127>:f32, 5.000000e-01>
// LOSSY-NEXT: !q6 = !quant.uniform<i16:f32, 3.906250e-03>
// LOSSY-NEXT: builtin.module attributes {target.specs = [#t0]} {
// LOSSY-LABEL: @storage(
// LOSSY-SAME: [[V0:%.+]]: tensor<2x4x!q0>) -> tensor<2x2x!q1>
// LOSSY-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x4x!q0> to tensor<2x4xf32>
// LOSSY-NEXT: [[V2:%.+]] = quant.qcast [[V1]] {origin = "fc"} : tensor<2x4xf32> to tensor<2x4x!q2>
// LOSSY-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}0, 1, 127, -127], [-28, 0, 0, 22]]> : tensor<2x4xi8> -> tensor<2x4x!q3> {origin = "w"}
// LOSSY-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] {transpose_b = true} : (tensor<2x4x!q2>, tensor<2x4x!q3>) -> tensor<2x2x!q4> {origin = "fc"}
// LOSSY-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<2x2x!q4> {origin = "relu"}
// LOSSY-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "relu"} : tensor<2x2x!q4> to tensor<2x2xf32>
// LOSSY-NEXT: [[V7:%.+]] = quant.qcast [[V6]] : tensor<2x2xf32> to tensor<2x2x!q1>
// LOSSY-NEXT: func.return [[V7]] : tensor<2x2x!q1>
// LOSSY-LABEL: @grid(
// LOSSY-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// LOSSY-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<4x!q0> to tensor<4xf32>
// LOSSY-NEXT: [[V2:%.+]] = quant.qcast [[V1]] {origin = "sum"} : tensor<4xf32> to tensor<4x!q5>
// LOSSY-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V2]] : (tensor<4x!q5>, tensor<4x!q5>) -> tensor<4x!q6> {origin = "sum"}
// LOSSY-NEXT: [[V4:%.+]] = quant.dcast [[V3]] {origin = "sum"} : tensor<4x!q6> to tensor<4xf32>
// LOSSY-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<4xf32> to tensor<4x!q1>
// LOSSY-NEXT: func.return [[V5]] : tensor<4x!q1>
