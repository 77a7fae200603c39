// RUN: qmlir-opt %s -p 'quant-assign-types{weights=ternary granularity=channel}' | filecheck %s --check-prefix=TERNARY
// RUN: qmlir-opt %s -p 'quant-assign-types{weights=binary granularity=block:2}' | filecheck %s --check-prefix=BINARY
// RUN: qmlir-opt %s -p 'quant-assign-types{weights=bipolar weight_scheme=symmetric_pow2 float_constants}' | filecheck %s --check-prefix=TRAINED
// RUN: qmlir-opt %s -p 'quant-assign-types{weights=binary float_constants},quant-gptq{data="%S/Inputs/four.npy"},quant-store-constants' | filecheck %s --check-prefix=STORED
// RUN: not qmlir-opt %s -p 'quant-assign-types{activations=binary}' 2>&1 | filecheck %s --check-prefix=DATA

// The first row is best as 1.5 * [1, 1, 0, 0], its largest two; the second as .5 * [1, -1, 1, -1].
// TERNARY: !q{{[0-9]+}} = !quant.uniform<i2<-1:1>:f32:0, {1.500000e+00, 5.000000e-01}>
// TERNARY: nn.constant dense<{{\[\[}}1, 1, 0, 0], [1, -1, 1, -1]]> : tensor<2x4xi2>

// A mean of magnitudes for each block, and no code is 0: the sign of 0 is that of 1.
// BINARY: !q{{[0-9]+}} = !quant.uniform<i2<-1:1>:f32:{0:1, 1:2}, {{\{\{}}1.500000e+00, 1.250000e-01}, {5.000000e-01, 5.000000e-01}}>
// BINARY: nn.constant dense<{{\[\[}}1, 1, -1, 1], [1, -1, 1, -1]]> : tensor<2x4xi2>

// What is trained keeps its floats beside those that the cast takes. Of .65625, the mean, the nearest power is .5.
// TRAINED: !q{{[0-9]+}} = !quant.uniform<i2<-1:1>:f32, 5.000000e-01>
// TRAINED: nn.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, -5.000000e-01, 5.000000e-01], [5.000000e-01, -5.000000e-01, 5.000000e-01, -5.000000e-01]]> : tensor<2x4xf32> {origin = "w", nn.trainable, quant.unrounded = dense<{{\[\[}}1.000000e+00, 2.000000e+00, -2.500000e-01, 0.000000e+00], [5.000000e-01, -5.000000e-01, 5.000000e-01, -5.000000e-01]]> : tensor<2x4xf32>}
// TRAINED: quant.qcast {{%.+}} {origin = "w", quant.signed} : tensor<2x4xf32> to tensor<2x4x!q

// Codes that are chosen by the error of sums are signs, too; stored, nothing is marked.
// STORED-NOT: quant.unrounded
// STORED-NOT: quant.signed
// STORED: nn.constant dense<{{\[\[}}{{-?}}1, {{-?}}1, {{-?}}1, {{-?}}1], [{{-?}}1, {{-?}}1, {{-?}}1, {{-?}}1]]> : tensor<2x4xi2>

// DATA: error: 'nn.matmul' op (fc) storage 'binary' is only supported for weights, but it is set for slot 'input'

!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-4.0:4.0>>
func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x2x!y> {
  %w = nn.constant dense<[[1.0, 2.0, -0.25, 0.0], [0.5, -0.5, 0.5, -0.5]]> : tensor<2x4xf32> {origin = "w"}
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<?x4x!x>, tensor<2x4xf32>) -> tensor<?x2x!y> {origin = "fc"}
  func.return %0 : tensor<?x2x!y>
}
