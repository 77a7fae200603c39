// RUN: qmlir-opt %s --split-input-file -p quant-assign-types,canonicalize | filecheck %s

!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-3.0:3.0>>

// The first of what a target accepts is its default: powers of two, weights of 4 bits by channel; a correlation, a bias
// and their sum each with a width of its own, none of them 32 bits.
#fxp = #target.spec<"fxp", requantize = [shift:even], supports = [
  {op = "nn.matmul", input = {storages = [i8], schemes = [symmetric_pow2]},
   weight = {storages = [i4], schemes = [symmetric_pow2], granularities = [channel]},
   accumulator = {storages = [i24], schemes = [symmetric_pow2]}},
  {op = "nn.add", role = "bias_add", input = {storages = [i8], schemes = [symmetric_pow2]},
   bias = {storages = [i16], schemes = [symmetric_pow2]}, accumulator = {storages = [i24], schemes = [symmetric_pow2]},
   output = {storages = [i16], schemes = [symmetric_pow2]}}]>
builtin.module attributes {target.specs = [#fxp]} {
  func.func @widths(%x: tensor<2x4x!x>) -> tensor<2x2x!y> {
    %w = nn.constant dense<[[0.5, -0.25, 1.0, 0.0], [0.0, 2.0, 3.0, -1.0]]> : tensor<2x4xf32> {origin = "w"}
    %b = nn.constant dense<[0.5, -1.25]> : tensor<2xf32> {origin = "b"}
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<2x4x!x>, tensor<2x4xf32>) -> tensor<2x2x!y> {origin = "fc", role = "matmul"}
    %1 = nn.add %0, %b : (tensor<2x2x!y>, tensor<2xf32>) -> tensor<2x2x!y> {origin = "fc", role = "bias_add"}
    func.return %1 : tensor<2x2x!y>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-3.0:3.0>>
// A value is what all accept that give or take it: the host, which has no wish of its own, gives what the device takes.
// What no target computes stays in float.
#dsp = #target.spec<"dsp", supports = [{op = "nn.add", role = "*", input = {storages = [u8], schemes = [asymmetric_pow2]}, output = {storages = [u8], schemes = [asymmetric]}}]>
#host = #target.spec<"host", supports = [{op = "nn.relu"}, {op = "nn.mul"}]>
builtin.module attributes {target.specs = [#dsp, #host]} {
  func.func @between(%x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2x!y> {
    %0 = nn.mul %x, %y : (tensor<2x!x>, tensor<2x!y>) -> tensor<2x!y> {origin = "mul"}
    %1 = nn.add %0, %x : (tensor<2x!y>, tensor<2x!x>) -> tensor<2x!y> {origin = "add"}
    %2 = nn.sigmoid %1 : tensor<2x!y> {origin = "sigmoid"}
    func.return %2 : tensor<2x!y>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-3.0:3.0>>
// Two ways to compute one operation are tried in order; where neither takes what it is given, the next target has it.
#dsp = #target.spec<"dsp", supports = [
  {op = "nn.relu", output = {storages = [i8]}},
  {op = "nn.add", input = {storages = [i4]}, output = {storages = [i4]}}, {op = "nn.add", input = {storages = [i8]}, output = {storages = [i16]}},
  {op = "nn.mul", input = {storages = [i4]}}]>
#host = #target.spec<"host", supports = [{op = "*"}]>
builtin.module attributes {target.specs = [#dsp, #host]} {
  func.func @ways(%x: tensor<2x!x>) -> (tensor<2x!y>, tensor<2x!y>) {
    %0 = nn.relu %x : tensor<2x!x> {origin = "relu"}
    %1 = nn.add %0, %0 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!y> {origin = "add"}
    %2 = nn.mul %0, %0 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!y> {origin = "mul"}
    func.return %1, %2 : tensor<2x!y>, tensor<2x!y>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
// A target that has floats for an operation gets it in float, whatever its range.
builtin.module attributes {target.specs = [#target.spec<"t", supports = [{op = "nn.sigmoid", input = {storages = [f32]}}, {op = "nn.relu"}]>]} {
  func.func @float(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.relu %x : tensor<2x!x> {origin = "relu"}
    %1 = nn.sigmoid %0 : tensor<2x!x> {origin = "sigmoid"}
    %2 = nn.relu %1 : tensor<2x!x> {origin = "relu2"}
    func.return %2 : tensor<2x!x>
  }
}

// CHECK: #t0 = #target.spec<"fxp", supports = [{op = "nn.matmul", input = {storages = [i8], schemes = [symmetric_pow2]}, weight = {storages = [i4], schemes = [symmetric_pow2], granularities = [channel]}, accumulator = {storages = [i24], schemes = [symmetric_pow2]}}, {op = "nn.add", role = "bias_add", input = {storages = [i8], schemes = [symmetric_pow2]}, bias = {storages = [i16], schemes = [symmetric_pow2]}, accumulator = {storages = [i24], schemes = [symmetric_pow2]}, output = {storages = [i16], schemes = [symmetric_pow2]}}], requantize = [shift:even]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 1.562500e-02>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32:0, {2.500000e-01, 5.000000e-01}>
// CHECK-NEXT: !q2 = !quant.uniform<i16:f32, 6.103515625e-05>
// CHECK-NEXT: !q3 = !quant.uniform<i24:f32:1, {3.906250e-03, 7.812500e-03}>
// CHECK-NEXT: !q4 = !quant.uniform<i16:f32, 0.0001220703125>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @widths(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}2, -1, 4, 0], [0, 4, 6, -2]]> : tensor<2x4xi4> -> tensor<2x4x!q1> {origin = "w"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[8192, -20480]> : tensor<2xi16> -> tensor<2x!q2> {origin = "b"}
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V2]] {transpose_b = true} : (tensor<2x4x!q0>, tensor<2x4x!q1>) -> tensor<2x2x!q3> {origin = "fc", role = "matmul"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V3]] : (tensor<2x2x!q3>, tensor<2x!q2>) -> tensor<2x2x!q4> {origin = "fc", role = "bias_add"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "fc", role = "bias_add"} : tensor<2x2x!q4> to tensor<2x2xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<2x2xf32>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.add", input = {storages = [u8], schemes = [asymmetric_pow2]}, output = {storages = [u8], schemes = [asymmetric]}}]>
// CHECK-NEXT: #t1 = #target.spec<"host", supports = [{op = "nn.relu"}, {op = "nn.mul"}]>
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 1.562500e-02:64>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 0.0235294122248888>
// CHECK-NEXT: !q2 = !quant.uniform<u8:f32, 3.125000e-02:96>
// CHECK-NEXT: !q3 = !quant.uniform<u8:f32, 0.0235294122248888:128>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// CHECK-LABEL: @between(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>, [[V1:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V2]], [[V3]] : (tensor<2x!q0>, tensor<2x!q1>) -> tensor<2x!q2> {origin = "mul"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V2]] : (tensor<2x!q2>, tensor<2x!q0>) -> tensor<2x!q3> {origin = "add"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "add"} : tensor<2x!q3> to tensor<2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.sigmoid [[V6]] : tensor<2xf32> {origin = "sigmoid"}
// CHECK-NEXT: func.return [[V7]] : tensor<2xf32>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"dsp", supports = [{op = "nn.relu", output = {storages = [i8]}}, {op = "nn.add", input = {storages = [i4]}, output = {storages = [i4]}}, {op = "nn.add", input = {storages = [i8]}, output = {storages = [i16]}}, {op = "nn.mul", input = {storages = [i4]}}]>
// CHECK-NEXT: #t1 = #target.spec<"host", supports = [{op = "*"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<i16:f32, 9.155413135886192e-05>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 0.0235294122248888>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// CHECK-LABEL: @ways(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : tensor<2x!q0> {origin = "relu"}
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V2]], [[V2]] : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q1> {origin = "add"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] {origin = "add"} : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V2]], [[V2]] : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q2> {origin = "mul"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "mul"} : tensor<2x!q2> to tensor<2xf32>
// CHECK-NEXT: func.return [[V4]], [[V6]] : tensor<2xf32>, tensor<2xf32>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"t", supports = [{op = "nn.sigmoid", input = {storages = [f32]}}, {op = "nn.relu"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @float(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : tensor<2x!q0> {origin = "relu"}
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V2]] {origin = "relu"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.sigmoid [[V3]] : tensor<2xf32> {origin = "sigmoid"}
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] {origin = "sigmoid"} : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V6:%.+]] = nn.relu [[V5]] : tensor<2x!q0> {origin = "relu2"}
// CHECK-NEXT: [[V7:%.+]] = quant.dcast [[V6]] {origin = "relu2"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<2xf32>
