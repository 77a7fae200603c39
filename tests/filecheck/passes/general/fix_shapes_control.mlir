// RUN: qmlir-opt %s -p 'fix-shapes{shapes="x=2x3"}' | filecheck %s

// The sizes of what enters a loop or a choice are those inside, and those of what leaves it.
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<i1> {nn.name = "c"}) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V5:%.+]] = scf.for [[V6:%.+]] = [[V2]] to [[V4]] step [[V3]] iter_args([[V7:%.+]] = [[V0]]) -> (tensor<2x3xf32>) {
// CHECK-NEXT: [[V8:%.+]] = nn.relu [[V7]] : tensor<2x3xf32>
// CHECK-NEXT: scf.yield [[V8]] : tensor<2x3xf32>
// CHECK: [[V9:%.+]] = tensor.extract [[V1]][] : tensor<i1>
// CHECK-NEXT: [[V10:%.+]] = scf.if [[V9]] -> (tensor<2x3xf32>) {
// CHECK-NEXT: [[V11:%.+]] = nn.add [[V5]], [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: scf.yield [[V11]] : tensor<2x3xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield [[V0]] : tensor<2x3xf32>
// CHECK: [[V12:%.+]], [[V13:%.+]] = scf.while ([[V14:%.+]] = [[V1]], [[V15:%.+]] = [[V10]]) : (tensor<i1>, tensor<2x3xf32>) -> (tensor<i1>, tensor<2x3xf32>) {
// CHECK-NEXT: [[V16:%.+]] = tensor.extract [[V14]][] : tensor<i1>
// CHECK-NEXT: scf.condition([[V16]]) [[V14]], [[V15]] : tensor<i1>, tensor<2x3xf32>
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0([[V17:%.+]]: tensor<i1>, [[V18:%.+]]: tensor<2x3xf32>):
// CHECK-NEXT: [[V19:%.+]] = nn.not [[V17]] : tensor<i1>
// CHECK-NEXT: [[V20:%.+]] = nn.abs [[V18]] : tensor<2x3xf32>
// CHECK-NEXT: scf.yield [[V19]], [[V20]] : tensor<i1>, tensor<2x3xf32>
// CHECK: func.return [[V5]], [[V10]], [[V13]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
func.func @main(%x: tensor<?x3xf32> {nn.name = "x"}, %c: tensor<i1> {nn.name = "c"}) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 4 : index
  %0 = scf.for %i = %zero to %many step %one iter_args(%state = %x) -> (tensor<?x3xf32>) {
    %1 = nn.relu %state : tensor<?x3xf32>
    scf.yield %1 : tensor<?x3xf32>
  }
  %holds = tensor.extract %c[] : tensor<i1>
  %2 = scf.if %holds -> (tensor<?x3xf32>) {
    %3 = nn.add %0, %x : tensor<?x3xf32>
    scf.yield %3 : tensor<?x3xf32>
  } else {
    scf.yield %x : tensor<?x3xf32>
  }
  %4, %5 = scf.while (%go = %c, %now = %2) : (tensor<i1>, tensor<?x3xf32>) -> (tensor<i1>, tensor<?x3xf32>) {
    %goes = tensor.extract %go[] : tensor<i1>
    scf.condition(%goes) %go, %now : tensor<i1>, tensor<?x3xf32>
  } do {
  ^bb0(%before: tensor<i1>, %then: tensor<?x3xf32>):
    %6 = nn.not %before : tensor<i1>
    %7 = nn.abs %then : tensor<?x3xf32>
    scf.yield %6, %7 : tensor<i1>, tensor<?x3xf32>
  }
  func.return %0, %2, %5 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}
