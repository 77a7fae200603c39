// RUN: qmlir-opt %s --split-input-file -p 'quant-store-constants' | filecheck %s

func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  %0 = nn.constant dense<[1.0, -2.0]> : tensor<2xf32> {nn.trainable, origin = "w"}
  %1 = quant.qcast %0 {origin = "w"} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
  func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: ) -> tensor<2x!q0>
// CHECK-NEXT: [[V0:%.+]] = nn.constant dense<[2, -4]> : tensor<2xi8> -> tensor<2x!q0> {origin = "w"}
// CHECK-NEXT: func.return [[V0]] : tensor<2x!q0>
