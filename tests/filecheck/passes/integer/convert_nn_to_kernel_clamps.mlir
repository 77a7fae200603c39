// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce --verify-each=exec --exec-function="*" -o %t

!x = !quant.uniform<i8:f32, 0.5:3>
!wide = !quant.uniform<i16<-264:260>:f32, 0.5:-2>
!above = !quant.uniform<i16<-263:300>:f32, 0.5:-2>
!below = !quant.uniform<i16<-300:259>:f32, 0.5:-2>

// A sum of two numbers in [-131, 124], taken as one up to 262 with or without sign, with the zero point -2: [-264, 260].
// CHECK-LABEL: @inside(
// CHECK-NOT: arith.maxsi
// CHECK-NOT: arith.minsi
// CHECK: func.return
func.func @inside(%a: tensor<4x!x>, %b: tensor<4x!x>) -> tensor<4x!wide> {
  %0 = nn.add %a, %b : (tensor<4x!x>, tensor<4x!x>) -> tensor<4x!wide>
  func.return %0 : tensor<4x!wide>
}

// One number short at either end.
// CHECK-LABEL: @ends_above(
// CHECK: arith.maxsi
// CHECK: func.return
func.func @ends_above(%a: tensor<4x!x>, %b: tensor<4x!x>) -> tensor<4x!above> {
  %0 = nn.add %a, %b : (tensor<4x!x>, tensor<4x!x>) -> tensor<4x!above>
  func.return %0 : tensor<4x!above>
}
// CHECK-LABEL: @ends_below(
// CHECK: arith.minsi
// CHECK: func.return
func.func @ends_below(%a: tensor<4x!x>, %b: tensor<4x!x>) -> tensor<4x!below> {
  %0 = nn.add %a, %b : (tensor<4x!x>, tensor<4x!x>) -> tensor<4x!below>
  func.return %0 : tensor<4x!below>
}
