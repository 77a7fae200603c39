// RUN: qmlir-opt %s --split-input-file -p 'quant-fit-accumulators{bits=17}' 2>&1 | filecheck %s
// RUN: not qmlir-opt %s --split-input-file -p 'quant-fit-accumulators{bits=33}' 2>&1 | filecheck %s --check-prefix=WIDTH
// WIDTH: error: 'func.func' op bits must be 2 to 32, but got 33
// RUN: not qmlir-opt %s --split-input-file -p 'quant-fit-accumulators{bits=13}' 2>&1 | filecheck %s --check-prefix=NARROW
// NARROW: error: 'nn.matmul' op (both) has sums in [-5610, 2040], which overflow a 13-bit accumulator with any weights; help: use more bits, or exclude the layer

// Sums of the first channel reach 255 * 300: 65535 holds 257. Those of the second one fit, but a scale for both
// is better.
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<?x4x!x> {nn.name = "x"}) -> tensor<?x2xf32> {
  %w = nn.constant dense<[[110.0, 100.0, -71.0, 90.0], [127.0, -127.0, 1.0, -1.0]]> : tensor<2x4xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<2x4xf32> to tensor<2x4x!w>
  %1 = nn.matmul %x, %0 {transpose_b = true} : (tensor<?x4x!x>, tensor<2x4x!w>) -> tensor<?x2x!s> {origin = "fc"}
  %2 = quant.dcast %1 : tensor<?x2x!s> to tensor<?x2xf32>
  func.return %2 : tensor<?x2xf32>
}

// -----

// A bias takes part of the room: with data centered in [-100, 155], 155 * 127 + 100 * 120 + 40000 exceeds 65535.
!x = !quant.uniform<u8:f32, 0.25:100>
!w = !quant.uniform<i8:f32, 1.0>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x1xf32> {
  %w = nn.constant dense<[[127.0], [-120.0]]> : tensor<2x1xf32> {nn.trainable}
  %0 = quant.qcast %w : tensor<2x1xf32> to tensor<2x1x!w>
  %1 = nn.matmul %x, %0 : (tensor<1x2x!x>, tensor<2x1x!w>) -> tensor<1x1x!s> {origin = "biased"}
  %b = nn.constant dense<10000.0> : tensor<1xf32> {nn.trainable}
  %2 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
  %3 = nn.add %1, %2 : (tensor<1x1x!s>, tensor<1x!s>) -> tensor<1x1x!s> {origin = "biased"}
  %4 = quant.dcast %3 : tensor<1x1x!s> to tensor<1x1xf32>
  func.return %4 : tensor<1x1xf32>
}

// -----

// Two inputs: nothing can change. Two products reach from 255 * 2 * -11 to 255 * 2 * 4.
!x = !quant.uniform<u8:f32, 0.25>
!y = !quant.uniform<i4:f32, 1.0:3>
!s = !quant.uniform<i32:f32, 0.25>
func.func @main(%x: tensor<1x2x!x>, %y: tensor<2x1x!y>) -> tensor<1x1x!s> {
  %0 = nn.matmul %x, %y : (tensor<1x2x!x>, tensor<2x1x!y>) -> tensor<1x1x!s> {origin = "both"}
  func.return %0 : tensor<1x1x!s>
}

// CHECK: remark: 'nn.matmul' op (fc) its weights are changed to fit sums in 17 bits
// CHECK: remark: 'nn.matmul' op (biased) its weights are changed to fit sums in 17 bits
// CHECK: !q1 = !quant.uniform<i8:f32, 2.000000e+00>
// CHECK-LABEL: @main(
// CHECK-SAME: quant.fitted = {bits = 17 : i64, layers = 1 : i64, changed = 1 : i64}
// CHECK-NEXT: nn.constant dense<{{\[\[}}1.100000e+02, 1.000000e+02, -7.200000e+01, 9.000000e+01], [1.280000e+02, -1.280000e+02, 0.000000e+00, 0.000000e+00]]> : tensor<2x4xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}1.100000e+02, 1.000000e+02, -7.100000e+01, 9.000000e+01], [1.270000e+02, -1.270000e+02, 1.000000e+00, -1.000000e+00]]> : tensor<2x4xf32>}
// CHECK: // -----
// CHECK: !q1 = !quant.uniform<i8:f32, 2.000000e+00>
// CHECK-LABEL: @main(
// CHECK-NEXT: nn.constant dense<{{\[\[}}1.280000e+02], [-1.200000e+02]]> : tensor<2x1xf32>
// CHECK: nn.constant dense<[1.000000e+04]> : tensor<1xf32> {nn.trainable}
// CHECK-NEXT: quant.qcast {{.*}} to tensor<1x!q2>
// CHECK: // -----
// CHECK-LABEL: @main(
// CHECK-SAME: quant.fitted = {bits = 17 : i64, layers = 0 : i64, changed = 0 : i64}
