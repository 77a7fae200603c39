// RUN: qmlir-opt %s --split-input-file -p quant-assign-types | filecheck %s

// What is known to want 16 bits, the sums of gates, has them where the target has them, although it prefers 8, and
// otherwise what the target has: a rule of that kind gives way.
!x = !quant.calibrated<f32<-1.0:1.0>>
builtin.module attributes {target.specs = [#target.spec<"both", supports = [{op = "*", input = {storages = [i8, i16]}, output = {storages = [i8, i16]}}]>]} {
  func.func @has_both(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.add %x, %x : tensor<2x!x> {origin = "lstm", role = "forget_gate/sum"}
    %1 = nn.neg %0 : tensor<2x!x> {origin = "after"}
    func.return %1 : tensor<2x!x>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
builtin.module attributes {target.specs = [#target.spec<"narrow", supports = [{op = "*", input = {storages = [i8]}, output = {storages = [i8]}}]>]} {
  func.func @has_one(%x: tensor<2x!x>) -> tensor<2x!x> {
    %0 = nn.add %x, %x : tensor<2x!x> {origin = "lstm", role = "forget_gate/sum"}
    %1 = nn.neg %0 : tensor<2x!x> {origin = "after"}
    func.return %1 : tensor<2x!x>
  }
}

// CHECK: #t0 = #target.spec<"both", supports = [{op = "*", input = {storages = [i8, i16]}, output = {storages = [i8, i16]}}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<i16:f32, 3.051804378628731e-05>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @has_both(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V1]], [[V1]] : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q1> {origin = "lstm", role = "forget_gate/sum"}
// CHECK-NEXT: [[V3:%.+]] = nn.neg [[V2]] : (tensor<2x!q1>) -> tensor<2x!q0> {origin = "after"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] {origin = "after"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2xf32>
// CHECK: // -----
// CHECK-NEXT: #t0 = #target.spec<"narrow", supports = [{op = "*", input = {storages = [i8]}, output = {storages = [i8]}}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @has_one(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V1]], [[V1]] : tensor<2x!q0> {origin = "lstm", role = "forget_gate/sum"}
// CHECK-NEXT: [[V3:%.+]] = nn.neg [[V2]] : tensor<2x!q0> {origin = "after"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] {origin = "after"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2xf32>
