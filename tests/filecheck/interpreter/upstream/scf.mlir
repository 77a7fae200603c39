// RUN: qmlir run %s

// 1 + 3 + 5 + 7, and how many they are.
func.func @for() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum, %count = scf.for %i = %c1 to %c9 step %c2 iter_args(%s = %zero, %n = %zero) -> (i32, i32) {
    %k = arith.index_cast %i : index to i32
    %t = arith.addi %s, %k : i32
    %m = arith.addi %n, %one : i32
    scf.yield %t, %m : i32, i32
  }
  %none = scf.for %i = %c9 to %c9 step %c1 iter_args(%s = %one) -> (i32) {
    scf.yield %zero : i32
  }
  %found = tensor.from_elements %sum, %count, %none : tensor<3xi32>
  %expected = arith.constant dense<[16, 4, 1]> : tensor<3xi32>
  check.expect_eq %found, %expected : tensor<3xi32>
  func.return
}

// The induction variable of an integer loop is signed: from -3 on.
func.func @integer_for() {
  %lb = arith.constant -3 : i8
  %ub = arith.constant 2 : i8
  %step = arith.constant 2 : i8
  %zero = arith.constant 0 : i8
  %sum = scf.for %i = %lb to %ub step %step iter_args(%s = %zero) -> (i8) : i8 {
    %t = arith.addi %s, %i : i8
    scf.yield %t : i8
  }
  %found = tensor.from_elements %sum : tensor<1xi8>
  %expected = arith.constant dense<-3> : tensor<1xi8>
  check.expect_eq %found, %expected : tensor<1xi8>
  func.return
}

func.func @if() {
  %true = arith.constant true
  %false = arith.constant false
  %a = arith.constant 1 : i8
  %b = arith.constant 2 : i8
  %0 = scf.if %true -> (i8) {
    scf.yield %a : i8
  } else {
    scf.yield %b : i8
  }
  %1 = scf.if %false -> (i8) {
    scf.yield %a : i8
  } else {
    scf.yield %b : i8
  }
  // Never divided
  scf.if %false {
    %c0 = arith.constant 0 : i8
    %c = arith.divsi %a, %c0 : i8
  }
  %found = tensor.from_elements %0, %1 : tensor<2xi8>
  %expected = arith.constant dense<[1, 2]> : tensor<2xi8>
  check.expect_eq %found, %expected : tensor<2xi8>
  func.return
}

// Collatz from 7: 16 steps to 1.
func.func @while() {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %last, %steps = scf.while (%n = %seven, %k = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ne, %n, %one : i32
    scf.condition(%more) %n, %k : i32, i32
  } do {
  ^bb0(%n: i32, %k: i32):
    %odd = arith.remsi %n, %two : i32
    %is_odd = arith.cmpi eq, %odd, %one : i32
    %half = arith.divsi %n, %two : i32
    %triple = arith.muli %n, %three : i32
    %up = arith.addi %triple, %one : i32
    %next = arith.select %is_odd, %up, %half : i32
    %l = arith.addi %k, %one : i32
    scf.yield %next, %l : i32, i32
  }
  %found = tensor.from_elements %last, %steps : tensor<2xi32>
  %expected = arith.constant dense<[1, 16]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  func.return
}

func.func private @switch(%arg: index) -> i32 {
  %0 = scf.index_switch %arg -> i32
  case 2 {
    %a = arith.constant 20 : i32
    scf.yield %a : i32
  }
  case 5 {
    %a = arith.constant 50 : i32
    scf.yield %a : i32
  }
  default {
    %a = arith.constant -1 : i32
    scf.yield %a : i32
  }
  func.return %0 : i32
}

func.func @index_switch() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %0 = func.call @switch(%c2) : (index) -> i32
  %1 = func.call @switch(%c3) : (index) -> i32
  %2 = func.call @switch(%c5) : (index) -> i32
  %found = tensor.from_elements %0, %1, %2 : tensor<3xi32>
  %expected = arith.constant dense<[20, -1, 50]> : tensor<3xi32>
  check.expect_eq %found, %expected : tensor<3xi32>
  func.return
}

// Sum and product of (1 + i) over a grid of 2 by 3: i = 0, 0, 0, 1, 1, 1.
func.func @parallel() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum, %product = "scf.parallel"(%c0, %c0, %c2, %c3, %c1, %c1, %zero, %one) <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
  ^bb0(%i: index, %j: index):
    %k = arith.index_cast %i : index to i32
    %n = arith.addi %k, %one : i32
    scf.reduce(%n, %n : i32, i32) {
    ^bb1(%a: i32, %b: i32):
      %s = arith.addi %a, %b : i32
      scf.reduce.return %s : i32
    }, {
    ^bb2(%a: i32, %b: i32):
      %s = arith.muli %a, %b : i32
      scf.reduce.return %s : i32
    }
  }) : (index, index, index, index, index, index, i32, i32) -> (i32, i32)
  %found = tensor.from_elements %sum, %product : tensor<2xi32>
  %expected = arith.constant dense<[9, 8]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  func.return
}

func.func @execute_region() {
  %0 = scf.execute_region -> (i32) {
    %a = arith.constant 4 : i32
    scf.yield %a : i32
  }
  %found = tensor.from_elements %0 : tensor<1xi32>
  %expected = arith.constant dense<4> : tensor<1xi32>
  check.expect_eq %found, %expected : tensor<1xi32>
  func.return
}
