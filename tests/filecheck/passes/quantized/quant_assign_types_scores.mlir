// RUN: qmlir-opt %s -p quant-assign-types,quant-propagate-types,cse,dce | filecheck %s
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/scores_bytes.toml},quant-propagate-types,cse,dce' | filecheck %s --check-prefix=BYTES

// BYTES-NOT: i16

// What a softmax reads has 16 bits where 8 would have steps above 1/4, and so has what computes it, from the product
// on; queries and keys before the product have 8. Scores that are closer together, 63.5 here, keep 8 bits.
!q = !quant.calibrated<f32<-1.27:1.27>>
!wide = !quant.calibrated<f32<-400.0:240.0>>
!scores = !quant.calibrated<f32<-40.0:24.0>>
!near = !quant.calibrated<f32<-40.0:23.5>>
!p = !quant.calibrated<f32<0.0:1.0>>
func.func @wide(%q: tensor<2x4x8x!q>, %k: tensor<2x8x4x!q>) -> tensor<2x4x4x!p> {
  %scale = nn.constant dense<0.1> : tensor<f32>
  %0 = nn.matmul %q, %k : (tensor<2x4x8x!q>, tensor<2x8x4x!q>) -> tensor<2x4x4x!wide> {origin = "qk"}
  %1 = nn.mul %0, %scale : (tensor<2x4x4x!wide>, tensor<f32>) -> tensor<2x4x4x!scores> {origin = "scaled"}
  %2 = nn.softmax %1 : (tensor<2x4x4x!scores>) -> tensor<2x4x4x!p> {origin = "softmax"}
  func.return %2 : tensor<2x4x4x!p>
}
func.func @near(%q: tensor<2x4x8x!q>, %k: tensor<2x8x4x!q>) -> tensor<2x4x4x!p> {
  %0 = nn.matmul %q, %k : (tensor<2x4x8x!q>, tensor<2x8x4x!q>) -> tensor<2x4x4x!near> {origin = "qk"}
  %1 = nn.softmax %0 : (tensor<2x4x4x!near>) -> tensor<2x4x4x!p> {origin = "softmax"}
  func.return %1 : tensor<2x4x4x!p>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 0.009960784576833248>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 0.0003921568568330258:-128>
// CHECK-NEXT: !q2 = !quant.uniform<i16:f32, 0.009765774011611938:8191>
// CHECK-NEXT: !q3 = !quant.uniform<i16:f32, 0.0009765774011611938:8191>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32, 3.906250e-03:-128>
// CHECK-NEXT: !q5 = !quant.uniform<i8:f32, 0.24901960790157318:33>
// CHECK-LABEL: @wide(
// CHECK: [[SUM:%.+]] = nn.matmul {{.*}} : (tensor<2x4x8x!q0>, tensor<2x8x4x!q0>) -> tensor<2x4x4x!q2> {origin = "qk"}
// CHECK-NEXT: [[SCORES:%.+]] = nn.mul [[SUM]], {{.*}} -> tensor<2x4x4x!q3> {origin = "scaled"}
// CHECK-NEXT: nn.softmax [[SCORES]] : (tensor<2x4x4x!q3>) -> tensor<2x4x4x!q4> {origin = "softmax"}
// CHECK-LABEL: @near(
// CHECK: [[NEAR:%.+]] = nn.matmul {{.*}} -> tensor<2x4x4x!q5> {origin = "qk"}
// CHECK-NEXT: nn.softmax [[NEAR]]
