// RUN: qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy"}' 2>&1 | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" bits=3}' | filecheck %s --check-prefix=NARROW
// NARROW-NOT: quant.unrounded
// What is learned already is not changed again.
// RUN: qmlir-opt %s --split-input-file -p 'quant-gptq{data="%S/Inputs/alike.npy"},quant-adaround{data="%S/Inputs/alike.npy"}' 2>&1 | filecheck %s --check-prefix=SETTLED
// SETTLED-NOT: are learned
// RUN: not qmlir-opt %s --split-input-file -p quant-adaround 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: 'func.func' op quant-adaround requires samples; pass data, a file or a folder of arrays

// Both columns are alike, and the error counts behind the activation.
// CHECK: remark: 'nn.matmul' op (fc) weights are rounded to minimize the error after its activation
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "fc"}
  %3 = nn.relu %2 : tensor<?x1x!s>
  %4 = quant.dcast %3 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %4 : tensor<?x1xf32>
}

// -----

// A sum reads the layer, too: the error is that of the sums.
// CHECK: remark: 'nn.matmul' op (two) weights are rounded to minimize the error of its accumulator
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "two"}
  %3 = nn.relu %2 : tensor<?x1x!s>
  %4 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
  %5 = quant.dcast %3 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %4, %5 : tensor<?x1xf32>, tensor<?x1xf32>
}

// CHECK: dense<{{\[\[}}1.000000e+00, 5.000000e-01]]> : tensor<1x2xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}0.7, 0.6]]> : tensor<1x2xf32>}
// CHECK: // -----
// CHECK: dense<{{\[\[}}1.000000e+00, 5.000000e-01]]> : tensor<1x2xf32> {nn.trainable, quant.unrounded = dense<{{\[\[}}0.7, 0.6]]> : tensor<1x2xf32>}
