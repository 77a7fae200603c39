// RUN: qmlir-opt %s --inline-weights -p 'quant-assign-types{scheme=symmetric_pow2 weight_scheme=symmetric_pow2}' | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-assign-types{scheme=symmetric_pow2 weight_scheme=symmetric_pow2},quant-assign-types,quant-propagate-types' | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-assign-types{scheme=symmetric_pow2 weight_scheme=symmetric_pow2},fix-shapes{shapes="x=3x1x1"},nn-decompose' | filecheck %s --check-prefix=APART

!x = !quant.calibrated<f32<-1.0:1.0>>
!h = !quant.calibrated<f32<-2.0:2.0>>
!s = !quant.calibrated<f32<-4.0:4.0>>

// A layer of any length: its parts have types. The range of 1 takes steps of 1/64, that of 2 takes 1/32. The state has
// one type from its zeros to the result, which the relu gives to its sum; products are accumulators.
// CHECK-DAG: [[X:![0-9a-z]+]] = !quant.uniform<i8:f32, 1.562500e-02>
// CHECK-DAG: [[H:![0-9a-z]+]] = !quant.uniform<i8:f32, 3.125000e-02>
// CHECK: nn.rnn {{.*}} {hidden_size = 1, activations = ["Relu"], components = {"hidden/input_weight" = [[W:![0-9a-z]+]], "hidden/recurrence_weight" = [[R:![0-9a-z]+]], "hidden/initial" = [[H]], "hidden/sum" = [[H]], "hidden/relu" = [[H]]}} : (tensor<?x1x1x[[X]]>, tensor<1x1x1x[[W]]>, tensor<1x1x1x[[R]]>) -> (tensor<?x1x1x1x[[H]]>, tensor<1x1x1x[[H]]>)
// APART-COUNT-3: nn.relu {{.*}}role = "hidden/relu"
// APART: nn.concat {{.*}}role = "hidden/sequence"
func.func @main(%x: tensor<?x1x1x!x> {nn.name = "x"}) -> tensor<?x1x1x1x!h> {
  %w = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %r = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 1, activations = ["Relu"], components = {"hidden/input_matmul" = !x, "hidden/recurrence_matmul" = !h, "hidden/sum" = !s, "hidden/relu" = !h}} : (tensor<?x1x1x!x>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<?x1x1x1x!h>, tensor<1x1x1x!h>) {origin = "rnn1"}
  func.return %0 : tensor<?x1x1x1x!h>
}
