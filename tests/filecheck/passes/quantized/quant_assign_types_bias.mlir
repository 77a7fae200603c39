// RUN: split-file %s %t
// RUN: qmlir-opt %t/recipe.mlir -p 'quant-assign-types{recipe=%t/parts.toml},nn-raise' | filecheck %s
// RUN: qmlir-opt %t/recipe.mlir -p 'quant-assign-types{recipe=%t/sum.toml},nn-raise' | filecheck %s --check-prefix=SUM
// RUN: qmlir-opt %t/recipe.mlir -p 'quant-assign-types{recipe=%t/bias.toml},nn-raise' | filecheck %s --check-prefix=BIAS
// RUN: qmlir-opt %t/target.mlir -p 'quant-assign-types,nn-raise{kinds=conv}' | filecheck %s --check-prefix=TARGET
// RUN: not qmlir-opt %t/recipe.mlir -p 'quant-assign-types{recipe=%t/narrow.toml}' 2>&1 | filecheck %s --check-prefix=NARROW
// RUN: not qmlir-opt %t/recipe.mlir -p 'quant-assign-types{recipe=%t/slot.toml}' 2>&1 | filecheck %s --check-prefix=SLOT
// RUN: not qmlir-opt %t/target.mlir -p 'quant-assign-types{recipe=%t/asked.toml}' 2>&1 | filecheck %s --check-prefix=ASKED

// The rules of four slots decide a convolution: weights, correlation, bias and sum; the composite has them all.
//--- recipe.mlir
!c = !quant.calibrated<f32<-1.0:1.0>>
!m = !quant.calibrated<f32<-3.0:3.0>>
!y = !quant.calibrated<f32<-2.0:3.5>>
func.func @main(%x: tensor<1x1x4x4x!c>) -> tensor<1x2x4x4x!y> {
  %w = nn.constant dense<[[[[1.5]]], [[[-0.75]]]]> : tensor<2x1x1x1xf32> {origin = "cv.weight"}
  %b = nn.constant dense<[[[0.5]], [[-0.25]]]> : tensor<2x1x1xf32> {origin = "cv.bias"}
  %0 = nn.conv %x, %w : (tensor<1x1x4x4x!c>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4x!m> {origin = "cv", role = "correlation"}
  %1 = nn.add %0, %b : (tensor<1x2x4x4x!m>, tensor<2x1x1xf32>) -> tensor<1x2x4x4x!y> {origin = "cv", role = "bias_add", composite = {op = "nn.conv"}}
  func.return %1 : tensor<1x2x4x4x!y>
}
//--- parts.toml
[[rule]]
slot = "weight"
storage = "i4"
[[rule]]
slot = "accumulator"
storage = "i8"
[[rule]]
slot = "bias"
storage = "i16"
[[rule]]
role = "bias_add"
slot = "output"
storage = "u8"
//--- sum.toml
[[rule]]
slot = "accumulator"
storage = "i16"
[[rule]]
slot = "bias"
storage = "i16"
bias_scale = "sum"
//--- bias.toml
[[rule]]
slot = "accumulator"
storage = "i8"
//--- narrow.toml
[[rule]]
slot = "bias"
storage = "i4"
bias_scale = "sum"
//--- slot.toml
[[rule]]
slot = "output"
bias_scale = "sum"
//--- asked.toml
[[rule]]
slot = "bias"
storage = "i8"
//--- target.mlir
!c = !quant.calibrated<f32<-1.0:1.0>>
!m = !quant.calibrated<f32<-3.0:3.0>>
!y = !quant.calibrated<f32<-2.0:3.5>>
builtin.module attributes {target.specs = [#target.spec<"npu", supports = [
    {op = "nn.conv", weight = {storages = [i4]}, accumulator = {storages = [i16]}},
    {op = "nn.add", bias = {storages = [i16], scales = [sum]}, output = {storages = [u8]}}]>]} {
  func.func @main(%x: tensor<1x1x4x4x!c>) -> tensor<1x2x4x4x!y> {
    %w = nn.constant dense<[[[[1.5]]], [[[-0.75]]]]> : tensor<2x1x1x1xf32> {origin = "cv.weight"}
    %b = nn.constant dense<[[[0.5]], [[-0.25]]]> : tensor<2x1x1xf32> {origin = "cv.bias"}
    %0 = nn.conv %x, %w : (tensor<1x1x4x4x!c>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4x!m> {origin = "cv", role = "correlation"}
    %1 = nn.add %0, %b : (tensor<1x2x4x4x!m>, tensor<2x1x1xf32>) -> tensor<1x2x4x4x!y> {origin = "cv", role = "bias_add", composite = {op = "nn.conv"}}
    func.return %1 : tensor<1x2x4x4x!y>
  }
}
//--- checks
// CHECK: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<i4:f32, 0.20000000298023224>
// CHECK-NEXT: !q2 = !quant.uniform<i16:f32, 1.5259021893143654e-05>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 0.0235294122248888>
// CHECK-NEXT: !q4 = !quant.uniform<u8:f32, 0.021568628028035164:93>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}7]]], {{\[\[}}[-4]]]]> : tensor<2x1x1x1xi4> -> tensor<2x1x1x1x!q1> {origin = "cv.weight"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[32767, -16384]> : tensor<2xi16> -> tensor<2x!q2> {origin = "cv.bias"}
// CHECK-NEXT: [[V4:%.+]] = nn.conv [[V1]], [[V2]], [[V3]] {components = {correlation = !q3}} : (tensor<1x1x4x4x!q0>, tensor<2x1x1x1x!q1>, tensor<2x!q2>) -> tensor<1x2x4x4x!q4> {origin = "cv"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "cv", role = "bias_add"} : tensor<1x2x4x4x!q4> to tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<1x2x4x4xf32>
// SUM: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// SUM-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32, 0.011811023578047752>
// SUM-NEXT: !q2 = !quant.uniform<i16:f32, 9.263548417948186e-05>
// SUM-NEXT: !q3 = !quant.uniform<i8:f32, 0.021568628028035164:-35>
// SUM-LABEL: @main(
// SUM-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
// SUM-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// SUM-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}127]]], {{\[\[}}[-64]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!q1> {origin = "cv.weight"}
// SUM-NEXT: [[V3:%.+]] = nn.constant dense<[5397, -2699]> : tensor<2xi16> -> tensor<2x!q2> {origin = "cv.bias"}
// SUM-NEXT: [[V4:%.+]] = nn.conv [[V1]], [[V2]], [[V3]] {components = {correlation = !q2}} : (tensor<1x1x4x4x!q0>, tensor<2x1x1x1x!q1>, tensor<2x!q2>) -> tensor<1x2x4x4x!q3> {origin = "cv"}
// SUM-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "cv", role = "bias_add"} : tensor<1x2x4x4x!q3> to tensor<1x2x4x4xf32>
// SUM-NEXT: func.return [[V5]] : tensor<1x2x4x4xf32>
// BIAS: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// BIAS-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32, 0.011811023578047752>
// BIAS-NEXT: !q2 = !quant.uniform<i32:f32, 9.263548417948186e-05>
// BIAS-NEXT: !q3 = !quant.uniform<i8:f32, 0.0235294122248888>
// BIAS-NEXT: !q4 = !quant.uniform<i8:f32, 0.021568628028035164:-35>
// BIAS-LABEL: @main(
// BIAS-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
// BIAS-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// BIAS-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}127]]], {{\[\[}}[-64]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!q1> {origin = "cv.weight"}
// BIAS-NEXT: [[V3:%.+]] = nn.constant dense<[5397, -2699]> : tensor<2xi32> -> tensor<2x!q2> {origin = "cv.bias"}
// BIAS-NEXT: [[V4:%.+]] = nn.conv [[V1]], [[V2]], [[V3]] {components = {correlation = !q3}} : (tensor<1x1x4x4x!q0>, tensor<2x1x1x1x!q1>, tensor<2x!q2>) -> tensor<1x2x4x4x!q4> {origin = "cv"}
// BIAS-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "cv", role = "bias_add"} : tensor<1x2x4x4x!q4> to tensor<1x2x4x4xf32>
// BIAS-NEXT: func.return [[V5]] : tensor<1x2x4x4xf32>
// TARGET: #t0 = #target.spec<"npu", supports = [{op = "nn.conv", weight = {storages = [i4]}, accumulator = {storages = [i16]}}, {op = "nn.add", bias = {storages = [i16], scales = [sum]}, output = {storages = [u8]}}]>
// TARGET-NEXT: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// TARGET-NEXT: !q1 = !quant.uniform<i4:f32, 0.20000000298023224>
// TARGET-NEXT: !q2 = !quant.uniform<i16:f32, 0.001568627543747425>
// TARGET-NEXT: !q3 = !quant.uniform<u8:f32, 0.021568628028035164:93>
// TARGET-NEXT: builtin.module attributes {target.specs = [#t0]} {
// TARGET-LABEL: @main(
// TARGET-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
// TARGET-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// TARGET-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}7]]], {{\[\[}}[-4]]]]> : tensor<2x1x1x1xi4> -> tensor<2x1x1x1x!q1> {origin = "cv.weight"}
// TARGET-NEXT: [[V3:%.+]] = nn.constant dense<[319, -159]> : tensor<2xi16> -> tensor<2x!q2> {origin = "cv.bias"}
// TARGET-NEXT: [[V4:%.+]] = nn.conv [[V1]], [[V2]], [[V3]] {components = {correlation = !q2}} : (tensor<1x1x4x4x!q0>, tensor<2x1x1x1x!q1>, tensor<2x!q2>) -> tensor<1x2x4x4x!q3> {origin = "cv"}
// TARGET-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "cv", role = "bias_add"} : tensor<1x2x4x4x!q3> to tensor<1x2x4x4xf32>
// TARGET-NEXT: func.return [[V5]] : tensor<1x2x4x4xf32>
// NARROW: error: 'nn.add' op (cv/bias_add) the bias does not fit i4 with the scale of its accumulator, !quant.uniform<i32:f32
// SLOT: rule 1 (slot = 'output'): bias_scale is only for the bias, but the rule is for slot 'output'
// ASKED: error: 'nn.add' op (cv/bias_add) its rules ask for bias storage i8 (by '{{.*}}asked.toml', rule 1 (slot = 'bias')), but target 'npu' supports i16
