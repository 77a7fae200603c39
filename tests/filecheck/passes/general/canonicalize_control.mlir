// RUN: qmlir-opt %s -p canonicalize | filecheck %s

// A condition that is known is no choice.
// CHECK-LABEL: @known(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.exp [[V0]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32>
func.func @known(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = nn.constant dense<true> : tensor<i1>
  %holds = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %holds -> (tensor<2xf32>) {
    %1 = nn.exp %x : tensor<2xf32>
    scf.yield %1 : tensor<2xf32>
  } else {
    %2 = nn.abs %x : tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}

// Few steps are no loop: each knows its number, and what they write side by side is a concatenation.
// CHECK-LABEL: @steps(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0> : tensor<i64>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.gather [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<i64>) -> tensor<3xf32> {origin = "loop", role = "x"}
// CHECK-NEXT: [[V4:%.+]] = nn.sub [[V3]], [[V2]] : tensor<3xf32> {origin = "loop", role = "sub"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<1> : tensor<i64> {origin = "loop"}
// CHECK-NEXT: [[V6:%.+]] = nn.gather [[V0]], [[V5]] : (tensor<2x3xf32>, tensor<i64>) -> tensor<3xf32> {origin = "loop", role = "x"}
// CHECK-NEXT: [[V7:%.+]] = nn.sub [[V6]], [[V4]] : tensor<3xf32> {origin = "loop", role = "sub"}
// CHECK-NEXT: [[V8:%.+]] = nn.reshape [[V4]] : (tensor<3xf32>) -> tensor<1x3xf32> {origin = "loop"}
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V7]] : (tensor<3xf32>) -> tensor<1x3xf32> {origin = "loop"}
// CHECK-NEXT: [[V10:%.+]] = nn.concat [[V8]], [[V9]] {axis = 0} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32> {origin = "loop"}
// CHECK-NEXT: func.return [[V7]], [[V10]] : tensor<3xf32>, tensor<2x3xf32>
func.func @steps(%x: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %first = nn.constant dense<0> : tensor<i64>
  %next = nn.constant dense<1> : tensor<i64>
  %state = nn.constant dense<0.0> : tensor<3xf32>
  %empty = nn.constant dense<0.0> : tensor<2x3xf32>
  %0, %1, %2 = scf.for %i = %zero to %two step %one iter_args(%n = %first, %s = %state, %all = %empty) -> (tensor<i64>, tensor<3xf32>, tensor<2x3xf32>) {
    %3 = nn.gather %x, %n : (tensor<2x3xf32>, tensor<i64>) -> tensor<3xf32> {origin = "loop", role = "x"}
    %4 = nn.sub %3, %s : tensor<3xf32> {origin = "loop", role = "sub"}
    %place = nn.reshape %n : (tensor<i64>) -> tensor<1xi64>
    %5 = nn.scatter_nd %all, %place, %4 : (tensor<2x3xf32>, tensor<1xi64>, tensor<3xf32>) -> tensor<2x3xf32>
    %6 = nn.add %n, %next : tensor<i64>
    scf.yield %6, %4, %5 : tensor<i64>, tensor<3xf32>, tensor<2x3xf32>
  } {origin = "loop"}
  func.return %1, %2 : tensor<3xf32>, tensor<2x3xf32>
}

// Many are, and so is a loop of which nobody knows how many.
// CHECK-LABEL: @loops(
// CHECK-SAME: [[V0:%.+]]: tensor<3xf32>, [[V1:%.+]]: tensor<i64>) -> (tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 65 : index
// CHECK-NEXT: [[V5:%.+]] = scf.for [[V6:%.+]] = [[V2]] to [[V4]] step [[V3]] iter_args([[V7:%.+]] = [[V0]]) -> (tensor<3xf32>) {
// CHECK-NEXT: [[V8:%.+]] = nn.tanh [[V7]] : tensor<3xf32>
// CHECK-NEXT: scf.yield [[V8]] : tensor<3xf32>
// CHECK: [[V9:%.+]] = tensor.extract [[V1]][] : tensor<i64>
// CHECK-NEXT: [[V10:%.+]] = arith.index_cast [[V9]] : i64 to index
// CHECK-NEXT: [[V11:%.+]] = scf.for [[V12:%.+]] = [[V2]] to [[V10]] step [[V3]] iter_args([[V13:%.+]] = [[V0]]) -> (tensor<3xf32>) {
// CHECK-NEXT: [[V14:%.+]] = nn.tanh [[V13]] : tensor<3xf32>
// CHECK-NEXT: scf.yield [[V14]] : tensor<3xf32>
// CHECK: func.return [[V5]], [[V11]] : tensor<3xf32>, tensor<3xf32>
func.func @loops(%x: tensor<3xf32>, %count: tensor<i64>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 65 : index
  %0 = scf.for %i = %zero to %many step %one iter_args(%s = %x) -> (tensor<3xf32>) {
    %1 = nn.tanh %s : tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  %number = tensor.extract %count[] : tensor<i64>
  %steps = arith.index_cast %number : i64 to index
  %2 = scf.for %i = %zero to %steps step %one iter_args(%s = %x) -> (tensor<3xf32>) {
    %3 = nn.tanh %s : tensor<3xf32>
    scf.yield %3 : tensor<3xf32>
  }
  func.return %0, %2 : tensor<3xf32>, tensor<3xf32>
}

// A number of steps that is known is one of the loop, and none is no loop.
// CHECK-LABEL: @none(
// CHECK-SAME: [[V0:%.+]]: tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<3xf32>
func.func @none(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = nn.constant dense<0> : tensor<i64>
  %number = tensor.extract %count[] : tensor<i64>
  %steps = arith.index_cast %number : i64 to index
  %0 = scf.for %i = %zero to %steps step %one iter_args(%s = %x) -> (tensor<3xf32>) {
    %1 = nn.tanh %s : tensor<3xf32>
    scf.yield %1 : tensor<3xf32>
  }
  func.return %0 : tensor<3xf32>
}
