// RUN: qmlir-opt %s -p quant-fuse-casts,canonicalize | filecheck %s

!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.25:3>

// What a loop carries is stored at both ends: no step casts it.
func.func @carried(%x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 99 : index
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1 = quant.dcast %y : tensor<2x!y> to tensor<2xf32>
  %2 = scf.for %i = %zero to %many step %one iter_args(%state = %0) -> (tensor<2xf32>) {
    %3 = quant.qcast %state : tensor<2xf32> to tensor<2x!x>
    %4 = quant.dcast %3 : tensor<2x!x> to tensor<2xf32>
    %5 = nn.add %4, %1 : tensor<2xf32> {origin = "sum"}
    %6 = quant.qcast %5 : tensor<2xf32> to tensor<2x!x>
    %7 = quant.dcast %6 : tensor<2x!x> to tensor<2xf32>
    scf.yield %7 : tensor<2xf32>
  }
  func.return %2 : tensor<2xf32>
}

// So is what a choice gives, where both branches give one type...
func.func @chosen(%c: i1, %x: tensor<2x!x>, %z: tensor<2x!x>) -> tensor<2xf32> {
  %0 = scf.if %c -> (tensor<2xf32>) {
    %1 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    %2 = quant.dcast %z : tensor<2x!x> to tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

// ...and only there.
func.func @differently(%c: i1, %x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2xf32> {
  %0 = scf.if %c -> (tensor<2xf32>) {
    %1 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    %2 = quant.dcast %y : tensor<2x!y> to tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

// The state of a loop with a condition, which also carries a number.
func.func @until(%x: tensor<2x!x>, %limit: i32) -> tensor<2xf32> {
  %one = arith.constant 1 : i32
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1, %2 = scf.while (%n = %one, %state = %0) : (i32, tensor<2xf32>) -> (i32, tensor<2xf32>) {
    %goes = arith.cmpi slt, %n, %limit : i32
    scf.condition(%goes) %n, %state : i32, tensor<2xf32>
  } do {
  ^bb0(%m: i32, %now: tensor<2xf32>):
    %next = arith.addi %m, %one : i32
    %3 = quant.qcast %now : tensor<2xf32> to tensor<2x!x>
    %4 = quant.dcast %3 : tensor<2x!x> to tensor<2xf32>
    scf.yield %next, %4 : i32, tensor<2xf32>
  }
  func.return %2 : tensor<2xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.500000e-01:3>
// CHECK-LABEL: @carried(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>, [[V1:%.+]]: tensor<2x!q1>) -> tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 99 : index
// CHECK-NEXT: [[V5:%.+]] = scf.for [[V6:%.+]] = [[V2]] to [[V4]] step [[V3]] iter_args([[V7:%.+]] = [[V0]]) -> (tensor<2x!q0>) {
// CHECK-NEXT: [[V8:%.+]] = nn.add [[V7]], [[V1]] : (tensor<2x!q0>, tensor<2x!q1>) -> tensor<2x!q0> {origin = "sum"}
// CHECK-NEXT: scf.yield [[V8]] : tensor<2x!q0>
// CHECK: [[V9:%.+]] = quant.dcast [[V5]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V9]] : tensor<2xf32>
// CHECK-LABEL: @chosen(
// CHECK-SAME: [[V0:%.+]]: i1, [[V1:%.+]]: tensor<2x!q0>, [[V2:%.+]]: tensor<2x!q0>) -> tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = scf.if [[V0]] -> (tensor<2x!q0>) {
// CHECK-NEXT: scf.yield [[V1]] : tensor<2x!q0>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield [[V2]] : tensor<2x!q0>
// CHECK: [[V4:%.+]] = quant.dcast [[V3]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V4]] : tensor<2xf32>
// CHECK-LABEL: @differently(
// CHECK-SAME: [[V0:%.+]]: i1, [[V1:%.+]]: tensor<2x!q0>, [[V2:%.+]]: tensor<2x!q1>) -> tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = scf.if [[V0]] -> (tensor<2xf32>) {
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: scf.yield [[V4]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V2]] : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: scf.yield [[V5]] : tensor<2xf32>
// CHECK: func.return [[V3]] : tensor<2xf32>
// CHECK-LABEL: @until(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>, [[V1:%.+]]: i32) -> tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = scf.while ([[V5:%.+]] = [[V2]], [[V6:%.+]] = [[V0]]) : (i32, tensor<2x!q0>) -> (i32, tensor<2x!q0>) {
// CHECK-NEXT: [[V7:%.+]] = arith.cmpi slt, [[V5]], [[V1]] : i32
// CHECK-NEXT: scf.condition([[V7]]) [[V5]], [[V6]] : i32, tensor<2x!q0>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32, [[V9:%.+]]: tensor<2x!q0>):
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V2]] : i32
// CHECK-NEXT: scf.yield [[V10]], [[V9]] : i32, tensor<2x!q0>
// CHECK: [[V11:%.+]] = quant.dcast [[V4]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<2xf32>

// What a loop only passes on stays stored, and an operation in it reads its floats.
// CHECK-LABEL: @passed_on(
// CHECK: scf.for {{.+}} iter_args([[STATE:%.+]] = {{%.+}}, {{.+}}) -> (tensor<2x!q0>, tensor<2xf32>) {
// CHECK-NEXT: [[REAL:%.+]] = quant.dcast [[STATE]]
// CHECK-NEXT: nn.sin [[REAL]]
// CHECK: scf.yield [[STATE]], {{.+}} : tensor<2x!q0>, tensor<2xf32>
func.func @passed_on(%x: tensor<2x!x>, %f: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 99 : index
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1, %2 = scf.for %i = %zero to %many step %one iter_args(%state = %0, %sum = %f) -> (tensor<2xf32>, tensor<2xf32>) {
    %3 = nn.sin %state : tensor<2xf32>
    %4 = nn.add %sum, %3 : tensor<2xf32>
    scf.yield %state, %4 : tensor<2xf32>, tensor<2xf32>
  }
  func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
}
