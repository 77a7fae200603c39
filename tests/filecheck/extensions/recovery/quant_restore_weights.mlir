// RUN: qmlir-opt %s -p quant-restore-weights --print-local-scope | filecheck %s
// RUN: qmlir-opt %s -p 'quant-restore-weights{layers="/b*"}' --print-local-scope | filecheck %s --check-prefix=SOME
// RUN: not qmlir-opt %s -p 'quant-restore-weights{layers=/c/MatMul}' 2>&1 | filecheck %s --check-prefix=NONE
// A repair after it begins anew.
// RUN: qmlir-opt %s -p 'quant-restore-weights,quant-gptq{data="%S/Inputs/alike.npy"}' --print-local-scope 2>/dev/null | filecheck %s --check-prefix=AGAIN
// Where a recipe said so, no other passes repair the weights.
// RUN: qmlir-opt %s -p 'quant-correct-bias{data="%S/Inputs/alike.npy"}' --print-local-scope | filecheck %s --check-prefix=SAID

// NONE: error: 'func.func' op no layer with float weights matches '/c/MatMul'; did you mean '/b/MatMul'?

// CHECK: nn.constant dense<0.7> : tensor<1x2xf32> {nn.trainable}
// CHECK: nn.constant dense<[0.000000e+00]> : tensor<1xf32> {nn.trainable}
// CHECK: nn.constant dense<0.7> : tensor<1x2xf32> {nn.trainable, quant.repair = "quant-gptq"}

// SOME: nn.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00]]> {{.*}}quant.unrounded
// SOME: nn.constant dense<[-1.250000e-01]> {{.*}}quant.unrounded
// SOME: nn.constant dense<0.7> : tensor<1x2xf32> {nn.trainable, quant.repair = "quant-gptq"}

// AGAIN: %w = nn.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00]]> {{.*}}quant.unrounded = dense<0.7>
// AGAIN: %v = nn.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00]]> {{.*}}quant.unrounded = dense<0.7>

// SAID: nn.constant dense<[2.500000e-01]> : tensor<1xf32> {nn.trainable}

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.5, 1.0]]> : tensor<1x2xf32> {nn.trainable, quant.unrounded = dense<0.7> : tensor<1x2xf32>}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "/a/MatMul"}
  %b = nn.constant dense<-0.125> : tensor<1xf32> {nn.trainable, quant.unrounded = dense<0.0> : tensor<1xf32>}
  %3 = quant.qcast %b : tensor<1xf32> to tensor<1x!s>
  %4 = nn.add %2, %3 : (tensor<?x1x!s>, tensor<1x!s>) -> tensor<?x1x!s> {origin = "/a/MatMul"}
  %5 = quant.dcast %4 : tensor<?x1x!s> to tensor<?x1xf32>
  %v = nn.constant dense<[[0.5, 1.0]]> : tensor<1x2xf32> {nn.trainable, quant.repair = "quant-gptq", quant.unrounded = dense<0.7> : tensor<1x2xf32>}
  %6 = quant.qcast %v : tensor<1x2xf32> to tensor<1x2x!w>
  %7 = nn.matmul %0, %6 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "/b/MatMul"}
  %c = nn.constant dense<0.25> : tensor<1xf32> {nn.trainable}
  %8 = quant.qcast %c : tensor<1xf32> to tensor<1x!s>
  %9 = nn.add %7, %8 : (tensor<?x1x!s>, tensor<1x!s>) -> tensor<?x1x!s> {origin = "/b/MatMul"}
  %10 = quant.dcast %9 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %5, %10 : tensor<?x1xf32>, tensor<?x1xf32>
}
