// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel --verify-each=exec --exec-function '*' --exec-draws 6 -o %t.checked

!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.0625:3>
!fine = !quant.uniform<i32:f32, 0.0009765625>
!wide = !quant.uniform<i32:f32, 4.0>

// Operands whose scales differ by a power of two: the coarser one is shifted, the other stays.
// CHECK-LABEL: @sum(
// CHECK: ^bb0([[A:%.+]]: i8, [[B:%.+]]: i8, [[O:%.+]]: i8):
// CHECK-NEXT: [[V0:%.+]] = arith.extsi [[A]] : i8 to i32
// CHECK-NEXT: [[V1:%.+]] = arith.constant 2 : i32
// CHECK-NEXT: [[V2:%.+]] = arith.shli [[V0]], [[V1]] : i32
// CHECK-NEXT: [[V3:%.+]] = arith.extsi [[B]] : i8 to i32
// CHECK-NEXT: [[V4:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V5:%.+]] = arith.subi [[V3]], [[V4]] : i32
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V2]], [[V5]] : i32
// CHECK-NEXT: [[V7:%.+]] = arith.constant 2 : i8
// CHECK-NEXT: [[V8:%.+]] = kernel.requantize [[V6]], [[V7]] {mode = {{#.+}}, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, i8 -> i8
// CHECK-NEXT: linalg.yield [[V8]] : i8
func.func @sum(%a: tensor<4x!x>, %b: tensor<4x!y>) -> tensor<4x!x> {
  %0 = nn.add %a, %b {requantize = #kernel.requantize<shift, up>} : (tensor<4x!x>, tensor<4x!y>) -> tensor<4x!x>
  func.return %0 : tensor<4x!x>
}

// 32 bits do not hold what is shifted.
// CHECK-LABEL: @wide(
// CHECK-COUNT-2: arith.extsi {{.*}} to i64
func.func @wide(%a: tensor<4x!wide>, %b: tensor<4x!x>) -> tensor<4x!x> {
  %0 = nn.sub %a, %b {requantize = #kernel.requantize<shift, up>} : (tensor<4x!wide>, tensor<4x!x>) -> tensor<4x!x>
  func.return %0 : tensor<4x!x>
}

// With ties up, a sum does not depend on the bits below the half: the finer operand is rounded down to the coarser scale.
// CHECK-LABEL: @coarser(
// CHECK: ^bb0([[A:%.+]]: i32, [[B:%.+]]: i8, {{.*}}):
// CHECK-NEXT: [[V0:%.+]] = arith.extsi [[A]] : i32 to i64
// CHECK-NEXT: [[V1:%.+]] = arith.constant 8 : i8
// CHECK-NEXT: [[V2:%.+]] = arith.extsi [[V1]] : i8 to i64
// CHECK-NEXT: [[V3:%.+]] = arith.shrsi [[V0]], [[V2]] : i64
// CHECK-NEXT: [[V4:%.+]] = arith.extsi [[B]] : i8 to i32
// CHECK-NEXT: [[V5:%.+]] = arith.extsi [[V4]] : i32 to i64
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V3]], [[V5]] : i64
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: kernel.requantize [[V6]], [[V7]] {{.*}} : i64, i8 -> i32
func.func @coarser(%a: tensor<4x!fine>, %b: tensor<4x!x>) -> tensor<4x!wide> {
  %0 = nn.add %a, %b {requantize = #kernel.requantize<shift, up>} : (tensor<4x!fine>, tensor<4x!x>) -> tensor<4x!wide>
  func.return %0 : tensor<4x!wide>
}

// The scale of the result is the coarser one: the finer operand is rounded.
// CHECK-LABEL: @as_coarse(
// CHECK: [[V0:%.+]] = arith.constant 8 : i8
// CHECK-NEXT: [[V1:%.+]] = kernel.requantize {{.*}}, [[V0]] {{.*}} : i64, i8 -> i64
// CHECK: [[V2:%.+]] = arith.addi [[V1]], {{.*}} : i64
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: kernel.requantize [[V2]], [[V3]] {{.*}} : i64, i8 -> i8
func.func @as_coarse(%a: tensor<4x!fine>, %b: tensor<4x!x>) -> tensor<4x!x> {
  %0 = nn.add %a, %b {requantize = #kernel.requantize<shift, up>} : (tensor<4x!fine>, tensor<4x!x>) -> tensor<4x!x>
  func.return %0 : tensor<4x!x>
}

// Equal scales: nothing is rescaled, whatever the mode.
// CHECK-LABEL: @equal(
// CHECK-NOT: kernel.requantize
// CHECK: func.return
func.func @equal(%a: tensor<4x!x>) -> (tensor<4x!x>, tensor<4x!x>, tensor<4x!x>) {
  %0 = nn.relu %a {requantize = #kernel.requantize<shift, up>} : tensor<4x!x>
  %1 = nn.relu %a {requantize = #kernel.requantize<single_round>} : tensor<4x!x>
  %2 = nn.add %a, %a {requantize = #kernel.requantize<double_round>} : tensor<4x!x>
  func.return %0, %1, %2 : tensor<4x!x>, tensor<4x!x>, tensor<4x!x>
}
