// RUN: qmlir-opt %s -p 'quant-assign-types{states="h=h_next"},quant-store-states{states="h=h_next"},cse' | filecheck %s
// RUN: not qmlir-opt %s -p 'quant-assign-types,quant-store-states{states="h=h_next"}' 2>&1 | filecheck %s --check-prefix=APART

// What leaves to enter again has one type of 16 bits, for the ranges of both: -2 to 1 and 0 to 3.1. Without that each has its own.
// APART: error: 'func.func' op state must have one type, but input 'h' is 'tensor<2x!quant.uniform<i8:f32, 0.0117647061124444:42>>' and output 'h_next' is 'tensor<2x!quant.uniform<i8:f32, 0.012156862765550613:-128>>'
func.func @main(%h: tensor<2x!quant.calibrated<f32<-2.0:1.0>>> {nn.name = "h"}, %x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>> {nn.name = "x"}) -> (tensor<2x!quant.calibrated<f32<0.0:3.1>>> {nn.name = "h_next"}) {
  %0 = nn.mul %h, %x : (tensor<2x!quant.calibrated<f32<-2.0:1.0>>>, tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:3.1>>>
  func.return %0 : tensor<2x!quant.calibrated<f32<0.0:3.1>>>
}
// CHECK: !q0 = !quant.uniform<i16:f32, 7.782100874464959e-05:-7068>
// CHECK: @main(%h: tensor<2x!q0> {nn.name = "h"}, %x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2x!q0> {nn.name = "h_next"})
// CHECK-NEXT: [[X:%.+]] = quant.qcast %x
// CHECK-NEXT: [[H:%.+]] = nn.mul %h, [[X]]
// CHECK-NEXT: func.return [[H]] : tensor<2x!q0>
