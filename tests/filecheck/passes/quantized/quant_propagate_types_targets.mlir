// RUN: qmlir-opt %s --split-input-file -p quant-propagate-types | filecheck %s

!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.25>
!u = !quant.uniform<i16:f32, 0.5>

// Between casts only what a target computes on these types becomes one operation on them, and casts go past only what
// it moves.
#dsp = #target.spec<"dsp", supports = [{op = "nn.relu", input = {storages = [i8]}}, {op = "nn.transpose", input = {storages = [i8]}}]>
builtin.module attributes {target.specs = [#dsp]} {
  func.func @main(%x: tensor<2x3x!x>, %u: tensor<2x3x!u>) -> (tensor<3x2x!y>, tensor<2x3x!y>, tensor<3x2xf32>, tensor<6xf32>) {
    %0 = quant.dcast %x : tensor<2x3x!x> to tensor<2x3xf32>
    %1 = nn.relu %0 : tensor<2x3xf32> {origin = "fused"}
    %2 = nn.transpose %1 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "moved"}
    %3 = quant.qcast %2 : tensor<3x2xf32> to tensor<3x2x!y>
    %4 = quant.dcast %u : tensor<2x3x!u> to tensor<2x3xf32>
    %5 = nn.relu %4 : tensor<2x3xf32> {origin = "wide"}
    %6 = quant.qcast %5 : tensor<2x3xf32> to tensor<2x3x!y>
    %7 = nn.transpose %4 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "wide_moved"}
    %8 = nn.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32> {origin = "nobody"}
    func.return %3, %6, %7, %8 : tensor<3x2x!y>, tensor<2x3x!y>, tensor<3x2xf32>, tensor<6xf32>
  }
}

// CHECK: #t0 = #target.spec<"dsp", supports = [{op = "nn.relu", input = {storages = [i8]}}, {op = "nn.transpose", input = {storages = [i8]}}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i16:f32, 5.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0]} {
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x!q0>, [[V1:%.+]]: tensor<2x3x!q1>) -> (tensor<3x2x!q2>, tensor<2x3x!q2>, tensor<3x2xf32>, tensor<6xf32>)
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V0]] : tensor<2x3x!q0> to tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V0]] : (tensor<2x3x!q0>) -> tensor<2x3x!q2> {origin = "fused"}
// CHECK-NEXT: [[V4:%.+]] = nn.transpose [[V3]] {permutation = [1, 0]} : (tensor<2x3x!q2>) -> tensor<3x2x!q2> {origin = "moved"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V1]] : tensor<2x3x!q1> to tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.relu [[V5]] : tensor<2x3xf32> {origin = "wide"}
// CHECK-NEXT: [[V7:%.+]] = quant.qcast [[V6]] : tensor<2x3xf32> to tensor<2x3x!q2>
// CHECK-NEXT: [[V8:%.+]] = nn.transpose [[V5]] {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "wide_moved"}
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V2]] : (tensor<2x3xf32>) -> tensor<6xf32> {origin = "nobody"}
// CHECK-NEXT: func.return [[V4]], [[V7]], [[V8]], [[V9]] : tensor<3x2x!q2>, tensor<2x3x!q2>, tensor<3x2xf32>, tensor<6xf32>

// -----
!x = !quant.uniform<i8:f32, 0.5>
!u = !quant.uniform<i16:f32, 0.5>
// Nor is a value that is limited made in the narrower type, where no target makes it there.
#limited = #target.spec<"limited", supports = [{op = "nn.relu", input = {storages = [i8, i16]}}, {op = "nn.neg", output = {storages = [i16]}}]>
builtin.module attributes {target.specs = [#limited]} {
  // CHECK-LABEL: @limited(
  // CHECK-NEXT: nn.neg {{.+}} : tensor<2x!q0>
  // CHECK-NEXT: nn.relu {{.+}} : (tensor<2x!q0>) -> tensor<2x!q1>
  // CHECK-NEXT: func.return
  func.func @limited(%x: tensor<2x!u>) -> tensor<2x!x> {
    %0 = nn.neg %x : tensor<2x!u>
    %1 = nn.relu %0 : (tensor<2x!u>) -> tensor<2x!x>
    func.return %1 : tensor<2x!x>
  }
}
