// RUN: qmlir-opt %s -p quant-assign-types,quant-propagate-types | filecheck %s

!x = !quant.uniform<u8:f32, 0.05:128>
!y = !quant.uniform<i8:f32, 0.03:4>
!seen = !quant.calibrated<f32<0.0:4.0>>

// What the model came with stays: the type that the operand was dequantized from, and the one that the result is
// quantized to. Only the value in between, which was profiled, is decided.
func.func @part(%x: tensor<4x!x>) -> tensor<4x!y> {
  %0 = quant.dcast %x : tensor<4x!x> to tensor<4xf32>
  %1 = nn.abs %0 : (tensor<4xf32>) -> tensor<4x!seen> {origin = "abs"}
  %2 = nn.sqrt %1 : (tensor<4x!seen>) -> tensor<4xf32> {origin = "root"}
  %3 = quant.qcast %2 : tensor<4xf32> to tensor<4x!y>
  func.return %3 : tensor<4x!y>
}

// CHECK: !q0 = !quant.uniform<u8:f32, 5.000000e-02:128>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 3.000000e-02:4>
// CHECK-NEXT: !q2 = !quant.uniform<i16:f32, 6.103608757257462e-05:-32768>
// CHECK-LABEL: @part(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]] : (tensor<4x!q0>) -> tensor<4x!q2> {origin = "abs"}
// CHECK-NEXT: [[V2:%.+]] = nn.sqrt [[V1]] : (tensor<4x!q2>) -> tensor<4x!q1> {origin = "root"}
// CHECK-NEXT: func.return [[V2]] : tensor<4x!q1>
