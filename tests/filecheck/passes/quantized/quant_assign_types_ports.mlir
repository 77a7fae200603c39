// RUN: qmlir-opt %s --split-input-file -p 'quant-assign-types{inputs_as=u8 outputs_as=i16}' | filecheck %s

// A range of 255 steps from 0 is u8 with zero point 0. A reader in float takes the rounded value, too: callers have no
// other. 16 bits divide the range of the output into 65535 steps, of which the first is 0.
func.func @main(%x: tensor<2x!quant.calibrated<f32<0.0:255.0>>> {nn.name = "x"}) -> (tensor<2x!quant.calibrated<f32<0.0:65535.0>>> {nn.name = "y"}, tensor<2xi1> {nn.name = "above"}) {
  %0 = nn.add %x, %x : (tensor<2x!quant.calibrated<f32<0.0:255.0>>>, tensor<2x!quant.calibrated<f32<0.0:255.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:65535.0>>> {origin = "sum"}
  %1 = nn.is_nan %x : (tensor<2x!quant.calibrated<f32<0.0:255.0>>>) -> tensor<2xi1> {origin = "nan"}
  func.return %0, %1 : tensor<2x!quant.calibrated<f32<0.0:65535.0>>>, tensor<2xi1>
}
// CHECK: !q0 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK: !q1 = !quant.uniform<i16:f32, 1.000000e+00:-32768>
// CHECK: [[X:%.+]] = quant.qcast %x : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[REAL:%.+]] = quant.dcast [[X]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[SUM:%.+]] = nn.add [[X]], [[X]] : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q1>
// CHECK-NEXT: [[Y:%.+]] = quant.dcast [[SUM]] {origin = "sum"} : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: nn.is_nan [[REAL]] : (tensor<2xf32>) -> tensor<2xi1>
