// RUN: qmlir-opt %s --print-upstream | filecheck %s
// RUN: qmlir-opt %s --print-upstream | qmlir-opt --print-upstream | filecheck %s

// Operations that upstream has print as it reads them, all others in the generic form; weights stay in the text.

!q = !quant.uniform<i8:f32, 0.5:3>

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!q>
  %1 = nn.clip %0 {minimum = 0.0} : (tensor<2x!q>) -> tensor<2x!q> {origin = "clip"}
  %2 = calib.observe %1 "clip" : tensor<2x!q>
  %3 = quant.dcast %2 : tensor<2x!q> to tensor<2xf32>
  func.return %3 : tensor<2xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01:3>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = "nn.clip"([[V1]]) <{minimum = 0.000000e+00 : f32}> {origin = "clip"} : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = "calib.observe"([[V2]]) <{key = "clip"}> : (tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2xf32>
