// RUN: qmlir-opt %s -p quant-assign-types,quant-propagate-types,nn-raise,canonicalize,cse,dce | filecheck %s

// Weights that the model stores in 4 bits by block (MatMulNBits) keep their integers and scales, where activations are
// quantized; so do those that have a scale for each channel.
!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-8.0:8.0>>
!blocks = !quant.uniform<u4:f32:{0:1, 1:2}, {{0.5:8, 0.25:8}, {1.0:7, 2.0:8}}>
!channels = !quant.uniform<i4:f32:0, {0.5, 0.25}>
func.func @main(%x: tensor<3x4x!x>) -> (tensor<3x2x!y>, tensor<3x2x!y>) {
  %w = nn.constant dense<[[1, 2, 3, 4], [15, 6, 7, 0]]> : tensor<2x4xui4> -> tensor<2x4x!blocks> {origin = "w"}
  %f = quant.dcast %w : tensor<2x4x!blocks> to tensor<2x4xf32>
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "b"}
  %0 = nn.matmul %x, %f {transpose_b = true} : (tensor<3x4x!x>, tensor<2x4xf32>) -> tensor<3x2x!y> {origin = "p"}
  %1 = nn.add %0, %b : (tensor<3x2x!y>, tensor<2xf32>) -> tensor<3x2x!y> {origin = "plus"}
  %v = nn.constant dense<[[1, 2, 3, 4], [-8, 6, 7, 0]]> : tensor<2x4xi4> -> tensor<2x4x!channels> {origin = "v"}
  %g = quant.dcast %v : tensor<2x4x!channels> to tensor<2x4xf32>
  %2 = nn.matmul %x, %g {transpose_b = true} : (tensor<3x4x!x>, tensor<2x4xf32>) -> tensor<3x2x!y> {origin = "q"}
  func.return %1, %2 : tensor<3x2x!y>, tensor<3x2x!y>
}
// CHECK: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<u4:f32:{0:1, 1:2}, {{[{][{]}}5.000000e-01:8, 2.500000e-01:8}, {1.000000e+00:7, 2.000000e+00:8{{[}][}]}}>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 4.76837158203125e-07>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 0.062745101749897>
// CHECK-NEXT: !q4 = !quant.uniform<i4:f32:0, {5.000000e-01, 2.500000e-01}>
// CHECK: [[X:%.+]] = quant.qcast %x : tensor<3x4xf32> to tensor<3x4x!q0>
// CHECK-NEXT: [[W:%.+]] = nn.constant dense<{{\[\[}}1, 2, 3, 4], [15, 6, 7, 0]]> : tensor<2x4xui4> -> tensor<2x4x!q1> {origin = "w"}
// CHECK: nn.fully_connected [[X]], [[W]], {{%.+}} {components = {matmul = !q2}} : (tensor<3x4x!q0>, tensor<2x4x!q1>, tensor<2x!q2>) -> tensor<3x2x!q3> {origin = ["p", "plus"], tensor = "plus"}
// CHECK: [[V:%.+]] = nn.constant dense<{{\[\[}}1, 2, 3, 4], [-8, 6, 7, 0]]> : tensor<2x4xi4> -> tensor<2x4x!q4> {origin = "v"}
// CHECK-NEXT: nn.matmul [[X]], [[V]] {transpose_b = true} : (tensor<3x4x!q0>, tensor<2x4x!q4>) -> tensor<3x2x!q3> {origin = "q"}
