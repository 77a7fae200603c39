// RUN: qmlir-opt %s --split-input-file -p 'quant-store-states{states="past_*=present_*"}' | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-store-states{states="past_*=present_*"},quant-store-states{states="past_*=present_*"}' | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p quant-store-states | filecheck %s --check-prefix=NONE

// NONE: quant.qcast %k

// Two states of two types; what is no state stays as it is. The star of both sides is the same text.
!k = !quant.uniform<i8:f32, 0.5:3>
!v = !quant.uniform<i16:f32, 0.25>
func.func @main(%k: tensor<2xf32> {nn.name = "past_key"}, %v: tensor<2xf32> {nn.name = "past_value"}, %x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "present_value"}, tensor<2xf32> {nn.name = "y"}, tensor<2xf32> {nn.name = "present_key"}) {
  %0 = quant.qcast %k : tensor<2xf32> to tensor<2x!k>
  %1 = quant.qcast %v : tensor<2xf32> to tensor<2x!v>
  %2 = quant.qcast %x : tensor<2xf32> to tensor<2x!k>
  %3 = nn.max %0, %2 : tensor<2x!k>
  %4 = quant.dcast %3 : tensor<2x!k> to tensor<2xf32>
  %5 = quant.dcast %1 : tensor<2x!v> to tensor<2xf32>
  func.return %5, %4, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// CHECK: @main(%k: tensor<2x!q0> {nn.name = "past_key"}, %v: tensor<2x!q1> {nn.name = "past_value"}, %x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2x!q1> {nn.name = "present_value"}, tensor<2xf32> {nn.name = "y"}, tensor<2x!q0> {nn.name = "present_key"})
// CHECK-NEXT: [[X:%.+]] = quant.qcast %x : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[MAX:%.+]] = nn.max %k, [[X]] : tensor<2x!q0>
// CHECK-NEXT: [[Y:%.+]] = quant.dcast [[MAX]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return %v, [[Y]], [[MAX]] : tensor<2x!q1>, tensor<2xf32>, tensor<2x!q0>

// -----

// What computes on the state in float gets the number that is stored; a state of integers is stored as it is.
!k = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%k: tensor<2xf32> {nn.name = "past_key"}, %n: tensor<i64> {nn.name = "past_length"}) -> (tensor<2xf32> {nn.name = "present_key"}, tensor<2xf32> {nn.name = "y"}, tensor<i64> {nn.name = "present_length"}) {
  %0 = quant.qcast %k : tensor<2xf32> to tensor<2x!k>
  %1 = nn.exp %k : tensor<2xf32>
  %2 = quant.dcast %0 : tensor<2x!k> to tensor<2xf32>
  func.return %2, %1, %n : tensor<2xf32>, tensor<2xf32>, tensor<i64>
}
// CHECK: @main(%k: tensor<2x!q0> {nn.name = "past_key"}, %n: tensor<i64> {nn.name = "past_length"})
// CHECK-NEXT: [[K:%.+]] = quant.dcast %k : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[E:%.+]] = nn.exp [[K]] : tensor<2xf32>
// CHECK-NEXT: func.return %k, [[E]], %n : tensor<2x!q0>, tensor<2xf32>, tensor<i64>
