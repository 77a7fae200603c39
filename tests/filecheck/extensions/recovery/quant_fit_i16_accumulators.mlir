// RUN: qmlir-opt %s --split-input-file -p quant-fit-i16-accumulators 2>&1 | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-fit-i16-accumulators{steps=2},quant-store-constants' | filecheck %s --check-prefix=TWO
// RUN: qmlir-opt %s --split-input-file -p 'quant-fit-i16-accumulators{windows=true}' 2>&1 | filecheck %s --check-prefix=WINDOWS
// RUN: not qmlir-opt %s --split-input-file -p 'quant-fit-i16-accumulators{steps=3}' 2>&1 | filecheck %s --check-prefix=THREE
// THREE: error: 'func.func' op steps must be one of 1, 2, 4, but got 3
// RUN: not qmlir-opt %s --split-input-file -p 'quant-fit-i16-accumulators{data="%t.gone.npy"}' 2>&1 | filecheck %s --check-prefix=GONE
// GONE: gone.npy
// WINDOWS: remark: 'nn.conv' op (window) the sums of its weights fit now

// One pair of the first channel is 3 too large, another one 1; the second channel is short. With two steps a scale twice
// as large is better.
// TWO: dense<{{\[\[}}33, 32, 0, -64, 16, 14, 0, 2], [64, -64, -64, 0, 0, 0, 0, 2]]> : tensor<2x8xi8>
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<?x8x!x> {nn.name = "x"}) -> tensor<?x2xf32> {
  %w = nn.constant dense<[[66.0, 65.0, -1.0, -128.0, 32.0, 29.0, 1.0, 3.0],
                          [127.0, -127.0, -127.0, 0.0, 1.0, 0.0, -1.0, 3.0]]> : tensor<2x8xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<2x8xf32> to tensor<2x8x!w>
  %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x8x!x>, tensor<2x8x!w>) -> tensor<?x2x!s> {origin = "fc"}
  %2 = quant.dcast %1 : tensor<?x2x!s> to tensor<?x2xf32>
  func.return %2 : tensor<?x2xf32>
}

// -----

// Channels lie beside each other, then taps: these pairs are of 2 channels, those of a tap of 3 channels go on in the
// next one.
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<1x2x1x5x!x>, %y: tensor<1x3x1x5x!x>) -> (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>) {
  %w = nn.constant dense<[[[[66.0, 3.0]], [[64.0, 71.0]]]]> : tensor<1x2x1x2xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<1x2x1x2xf32> to tensor<1x2x1x2x!w>
  %1 = nn.conv %x, %0 : (tensor<1x2x1x5x!x>, tensor<1x2x1x2x!w>) -> tensor<1x1x1x4x!s> {origin = "two"}
  %v = nn.constant dense<[[[[67.0, 65.0]], [[1.0, 71.0]], [[65.0, 3.0]]]]> : tensor<1x3x1x2xf32> {nn.trainable}
  %2 = quant.qcast %v : tensor<1x3x1x2xf32> to tensor<1x3x1x2x!w>
  %3 = nn.conv %y, %2 : (tensor<1x3x1x5x!x>, tensor<1x3x1x2x!w>) -> tensor<1x1x1x4x!s> {origin = "three"}
  %4 = quant.dcast %1 : tensor<1x1x1x4x!s> to tensor<1x1x1x4xf32>
  %5 = quant.dcast %3 : tensor<1x1x1x4x!s> to tensor<1x1x1x4xf32>
  func.return %4, %5 : tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>
}

// -----

// A larger scale has the smaller error; sums and biases follow.
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8<-127:127>:f32, 0.1>
!s = !quant.uniform<i32:f32, 0.025>
func.func @main(%x: tensor<?x4x!x>) -> tensor<?x2xf32> {
  %w = nn.constant dense<[[12.66, 12.66, 0.0, 1.0], [12.66, 12.66, 0.0, 1.0]]> : tensor<2x4xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<2x4xf32> to tensor<2x4x!w>
  %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x4x!x>, tensor<2x4x!w>) -> tensor<?x2x!s> {origin = "fc"}
  %b = nn.constant dense<0.5> : tensor<2xf32> {nn.trainable}
  %2 = quant.qcast %b : tensor<2xf32> to tensor<2x!s>
  %3 = nn.add %1, %2 : (tensor<?x2x!s>, tensor<2x!s>) -> tensor<?x2x!s> {origin = "fc"}
  %4 = quant.dcast %3 : tensor<?x2x!s> to tensor<?x2xf32>
  func.return %4 : tensor<?x2xf32>
}

// -----

// These stay: a depthwise convolution, data of 16 bits, a transposed convolution, and a window that Winograd's
// algorithms take, unless it is asked for.
!x = !quant.uniform<u8:f32, 0.25>
!y = !quant.uniform<i16:f32, 0.25>
!w = !quant.uniform<i8:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<1x2x1x5x!x>, %y: tensor<?x2x!y>, %z: tensor<1x8x3x3x!x>)
    -> (tensor<1x2x1x4x!s>, tensor<?x1x!s>, tensor<1x1x1x6x!s>, tensor<1x8x1x1xf32>) {
  %w = nn.constant dense<100.0> : tensor<2x1x1x2xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<2x1x1x2xf32> to tensor<2x1x1x2x!w>
  %1 = nn.conv %x, %0 {groups = 2 : i64} : (tensor<1x2x1x5x!x>, tensor<2x1x1x2x!w>) -> tensor<1x2x1x4x!s>
  %v = nn.constant dense<100.0> : tensor<1x2xf32> {nn.trainable}
  %2 = quant.qcast %v : tensor<1x2xf32> to tensor<1x2x!w>
  %3 = nn.matmul %y, %2 {transpose_b = true} : (tensor<?x2x!y>, tensor<1x2x!w>) -> tensor<?x1x!s>
  %u = nn.constant dense<100.0> : tensor<2x1x1x2xf32> {nn.trainable}
  %4 = quant.qcast %u : tensor<2x1x1x2xf32> to tensor<2x1x1x2x!w>
  %5 = nn.conv_transpose %x, %4 : (tensor<1x2x1x5x!x>, tensor<2x1x1x2x!w>) -> tensor<1x1x1x6x!s>
  %t = nn.constant dense<100.0> : tensor<8x8x3x3xf32> {nn.trainable}
  %6 = quant.qcast %t : tensor<8x8x3x3xf32> to tensor<8x8x3x3x!w>
  %7 = nn.conv %z, %6 : (tensor<1x8x3x3x!x>, tensor<8x8x3x3x!w>) -> tensor<1x8x1x1x!s> {origin = "window"}
  %8 = quant.dcast %7 : tensor<1x8x1x1x!s> to tensor<1x8x1x1xf32>
  func.return %1, %3, %5, %8 : tensor<1x2x1x4x!s>, tensor<?x1x!s>, tensor<1x1x1x6x!s>, tensor<1x8x1x1xf32>
}

// CHECK: {{.*}}quant_fit_i16_accumulators.mlir:20:3: remark: 'nn.matmul' op (fc) the sums of its weights fit now: the error of its result was 0
// CHECK-NEXT: [[V0:%.+]] = nn.matmul [[V1:%.+]], [[V2:%.+]] {transpose_b = true} : (tensor<?x8x!x>, tensor<2x8x!w>) -> tensor<?x2x!s> {origin = "fc"}
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}quant_fit_i16_accumulators.mlir:35:3: remark: 'nn.conv' op (two) the sums of its weights fit now: the error of its result was 0
// CHECK-NEXT: [[V0]] = nn.conv [[V1]], [[V2]] : (tensor<1x2x1x5x!x>, tensor<1x2x1x2x!w>) -> tensor<1x1x1x4x!s> {origin = "two"}
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}quant_fit_i16_accumulators.mlir:38:3: remark: 'nn.conv' op (three) the sums of its weights fit now: the error of its result was 0
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V4:%.+]], [[V5:%.+]] : (tensor<1x3x1x5x!x>, tensor<1x3x1x2x!w>) -> tensor<1x1x1x4x!s> {origin = "three"}
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}quant_fit_i16_accumulators.mlir:53:3: remark: 'nn.matmul' op (fc) the sums of its weights fit now: the error of its result changes by +3.5 dB
// CHECK-NEXT: [[V0]] = nn.matmul [[V1]], [[V2]] {transpose_b = true} : (tensor<?x4x!x>, tensor<2x4x!w>) -> tensor<?x2x!s> {origin = "fc"}
// CHECK-NEXT: ^
// CHECK-NEXT: warning: 2304 bytes of weights are left out of the text; -o FILE keeps them beside it, --inline-weights prints them, --elide-weights silences this
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 2.500000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x8x!q0> {nn.name = "x"}) -> tensor<?x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}6.400000e+01, 6.400000e+01, 0.000000e+00, -1.280000e+02, 3.200000e+01, 2.900000e+01, 1.000000e+00, 3.000000e+00], [1.270000e+02, -1.270000e+02, -1.270000e+02, 0.000000e+00, 1.000000e+00, 0.000000e+00, -1.000000e+00, 3.000000e+00]]> : tensor<2x8xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}6.600000e+01, 6.500000e+01, -1.000000e+00, -1.280000e+02, 3.200000e+01, 2.900000e+01, 1.000000e+00, 3.000000e+00], [1.270000e+02, -1.270000e+02, -1.270000e+02, 0.000000e+00, 1.000000e+00, 0.000000e+00, -1.000000e+00, 3.000000e+00]]> : tensor<2x8xf32>}
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2x8xf32> to tensor<2x8x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V2]] {transpose_b = true} : (tensor<?x8x!q0>, tensor<2x8x!q1>) -> tensor<?x2x!q2> {origin = "fc"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : tensor<?x2x!q2> to tensor<?x2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<?x2xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 2.500000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x1x5x!q0>, [[V1:%.+]]: tensor<1x3x1x5x!q0>) -> (tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}6.500000e+01, 3.000000e+00]], {{\[\[}}6.300000e+01, 7.100000e+01]]]]> : tensor<1x2x1x2xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}{{\[\[}}6.600000e+01, 3.000000e+00]], {{\[\[}}6.400000e+01, 7.100000e+01]]]]> : tensor<1x2x1x2xf32>}
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<1x2x1x2xf32> to tensor<1x2x1x2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.conv [[V0]], [[V3]] : (tensor<1x2x1x5x!q0>, tensor<1x2x1x2x!q1>) -> tensor<1x1x1x4x!q2> {origin = "two"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}6.700000e+01, 6.400000e+01]], {{\[\[}}1.000000e+00, 7.100000e+01]], {{\[\[}}6.400000e+01, 3.000000e+00]]]]> : tensor<1x3x1x2xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}{{\[\[}}6.700000e+01, 6.500000e+01]], {{\[\[}}1.000000e+00, 7.100000e+01]], {{\[\[}}6.500000e+01, 3.000000e+00]]]]> : tensor<1x3x1x2xf32>}
// CHECK-NEXT: [[V6:%.+]] = quant.qcast [[V5]] : tensor<1x3x1x2xf32> to tensor<1x3x1x2x!q1>
// CHECK-NEXT: [[V7:%.+]] = nn.conv [[V1]], [[V6]] : (tensor<1x3x1x5x!q0>, tensor<1x3x1x2x!q1>) -> tensor<1x1x1x4x!q2> {origin = "three"}
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V4]] : tensor<1x1x1x4x!q2> to tensor<1x1x1x4xf32>
// CHECK-NEXT: [[V9:%.+]] = quant.dcast [[V7]] : tensor<1x1x1x4x!q2> to tensor<1x1x1x4xf32>
// CHECK-NEXT: func.return [[V8]], [[V9]] : tensor<1x1x1x4xf32>, tensor<1x1x1x4xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32, 0.20000000298023224>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 0.05000000074505806>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x!q0>) -> tensor<?x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}12.6, 12.6, 0.000000e+00, 1.000000e+00], [12.6, 12.6, 0.000000e+00, 1.000000e+00]]> : tensor<2x4xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}12.66, 12.66, 0.000000e+00, 1.000000e+00], [12.66, 12.66, 0.000000e+00, 1.000000e+00]]> : tensor<2x4xf32>}
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2x4xf32> to tensor<2x4x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V2]] {transpose_b = true} : (tensor<?x4x!q0>, tensor<2x4x!q1>) -> tensor<?x2x!q2> {origin = "fc"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<5.000000e-01> : tensor<2xf32> {nn.trainable}
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<2xf32> to tensor<2x!q2>
// CHECK-NEXT: [[V6:%.+]] = nn.add [[V3]], [[V5]] : (tensor<?x2x!q2>, tensor<2x!q2>) -> tensor<?x2x!q2> {origin = "fc"}
// CHECK-NEXT: [[V7:%.+]] = quant.dcast [[V6]] : tensor<?x2x!q2> to tensor<?x2xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<?x2xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i16:f32, 2.500000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 2.500000e-01>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: #w0 = #nn.weights<elided> : tensor<8x8x3x3xf32>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x1x5x!q0>, [[V1:%.+]]: tensor<?x2x!q1>, [[V2:%.+]]: tensor<1x8x3x3x!q0>) -> (tensor<1x2x1x4x!q2>, tensor<?x1x!q2>, tensor<1x1x1x6x!q2>, tensor<1x8x1x1xf32>)
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+02> : tensor<2x1x1x2xf32> {nn.trainable}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<2x1x1x2xf32> to tensor<2x1x1x2x!q3>
// CHECK-NEXT: [[V5:%.+]] = nn.conv [[V0]], [[V4]] {groups = 2} : (tensor<1x2x1x5x!q0>, tensor<2x1x1x2x!q3>) -> tensor<1x2x1x4x!q2>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<1.000000e+02> : tensor<1x2xf32> {nn.trainable}
// CHECK-NEXT: [[V7:%.+]] = quant.qcast [[V6]] : tensor<1x2xf32> to tensor<1x2x!q3>
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V1]], [[V7]] {transpose_b = true} : (tensor<?x2x!q1>, tensor<1x2x!q3>) -> tensor<?x1x!q2>
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<1.000000e+02> : tensor<2x1x1x2xf32> {nn.trainable}
// CHECK-NEXT: [[V10:%.+]] = quant.qcast [[V9]] : tensor<2x1x1x2xf32> to tensor<2x1x1x2x!q3>
// CHECK-NEXT: [[V11:%.+]] = nn.conv_transpose [[V0]], [[V10]] : (tensor<1x2x1x5x!q0>, tensor<2x1x1x2x!q3>) -> tensor<1x1x1x6x!q2>
// CHECK-NEXT: [[V12:%.+]] = nn.constant #w0 {nn.trainable}
// CHECK-NEXT: [[V13:%.+]] = quant.qcast [[V12]] : tensor<8x8x3x3xf32> to tensor<8x8x3x3x!q3>
// CHECK-NEXT: [[V14:%.+]] = nn.conv [[V2]], [[V13]] : (tensor<1x8x3x3x!q0>, tensor<8x8x3x3x!q3>) -> tensor<1x8x1x1x!q2> {origin = "window"}
// CHECK-NEXT: [[V15:%.+]] = quant.dcast [[V14]] : tensor<1x8x1x1x!q2> to tensor<1x8x1x1xf32>
// CHECK-NEXT: func.return [[V5]], [[V8]], [[V11]], [[V15]] : tensor<1x2x1x4x!q2>, tensor<?x1x!q2>, tensor<1x1x1x6x!q2>, tensor<1x8x1x1xf32>
