// RUN: qmlir-opt %s --split-input-file -p 'quant-store-ports{inputs_as=i8 outputs_as="i8","raw=f32"}' | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-store-ports{inputs_as=i8 outputs_as="i8","raw=f32"},cse' | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p quant-store-ports | filecheck %s --check-prefix=NONE

// NONE: quant.qcast %x

// Inputs and outputs of f32 are stored; a port that is named f32 and one of integers stay.
!x = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %n: tensor<i64> {nn.name = "n"}) -> (tensor<2xf32> {nn.name = "y"}, tensor<2xf32> {nn.name = "raw"}, tensor<i64> {nn.name = "n_out"}) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
  %1 = nn.relu %0 : (tensor<2x!x>) -> tensor<2x!x>
  %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
  func.return %2, %2, %n : tensor<2xf32>, tensor<2xf32>, tensor<i64>
}
// CHECK: @main(%x: tensor<2x!q0> {nn.name = "x"}, %n: tensor<i64> {nn.name = "n"}) -> (tensor<2x!q0> {nn.name = "y"}, tensor<2xf32> {nn.name = "raw"}, tensor<i64> {nn.name = "n_out"})
// CHECK-NEXT: [[Y:%.+]] = nn.relu %x : tensor<2x!q0>
// CHECK-NEXT: [[RAW:%.+]] = quant.dcast [[Y]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[Y]], [[RAW]], %n : tensor<2x!q0>, tensor<2xf32>, tensor<i64>

// -----

// An input that is returned, and whose readers all take it through casts to one type.
!x = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "raw"}, tensor<2xf32> {nn.name = "y"}) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
  %1 = quant.dcast %0 : tensor<2x!x> to tensor<2xf32>
  %2 = nn.exp %1 : tensor<2xf32>
  func.return %2, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK: @main(%x: tensor<2x!q0> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "raw"}, tensor<2x!q0> {nn.name = "y"})
// CHECK-NEXT: [[X:%.+]] = quant.dcast %x : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[E:%.+]] = nn.exp [[X]] : tensor<2xf32>
// CHECK-NEXT: func.return [[E]], %x : tensor<2xf32>, tensor<2x!q0>
