// RUN: not qmlir run %s --function shift 2>&1 | filecheck %s --check-prefix SHIFT
// RUN: not qmlir run %s --function shift_vector 2>&1 | filecheck %s --check-prefix VECTOR
// RUN: not qmlir run %s --function division 2>&1 | filecheck %s --check-prefix DIVISION
// RUN: not qmlir run %s --function overflow 2>&1 | filecheck %s --check-prefix OVERFLOW
// RUN: not qmlir run %s --function fptosi 2>&1 | filecheck %s --check-prefix FPTOSI
// RUN: not qmlir run %s --function fptoui 2>&1 | filecheck %s --check-prefix FPTOUI

// SHIFT: 'arith.shli' op cannot be computed: shift amount of i7 must be less than 7, but got 7
func.func @shift() {
  %a = arith.constant 7 : i7
  %b = arith.shli %a, %a : i7
  func.return
}

// VECTOR: 'arith.shrui' op cannot be computed: shift amount of i8 must be less than 8, but got 255
func.func @shift_vector() {
  %a = arith.constant dense<[1, -1]> : vector<2xi8>
  %b = arith.shrui %a, %a : vector<2xi8>
  func.return
}

// DIVISION: 'arith.remui' op (mod1) cannot be computed: division of i8 by 0
func.func @division() {
  %a = arith.constant 0 : i8
  %b = arith.remui %a, %a {origin = "mod1"} : i8
  func.return
}

// OVERFLOW: 'arith.divsi' op cannot be computed: -128 divided by -1 overflows i8
func.func @overflow() {
  %a = arith.constant dense<[1, -128]> : tensor<2xi8>
  %b = arith.constant dense<-1> : tensor<2xi8>
  %c = arith.divsi %a, %b : tensor<2xi8>
  func.return
}

// FPTOSI: 'arith.fptosi' op cannot be computed: 128.0 of type f32 cannot be represented as a signed value of type i8
func.func @fptosi() {
  %a = arith.constant 128.0 : f32
  %b = arith.fptosi %a : f32 to i8
  func.return
}

// FPTOUI: 'arith.fptoui' op cannot be computed: -1.0 of type f32 cannot be represented as an unsigned value of type i8
func.func @fptoui() {
  %a = arith.constant -1.0 : f32
  %b = arith.fptoui %a : f32 to i8
  func.return
}
