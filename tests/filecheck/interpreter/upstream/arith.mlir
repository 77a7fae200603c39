// RUN: qmlir run %s

// Integers wrap modulo 2^N, for every N.
func.func @wrap_around() {
  %a = arith.constant 7 : i4
  %b = arith.constant 1 : i4
  %sum = arith.addi %a, %b : i4
  %product = arith.muli %a, %a : i4
  %low, %high = arith.mulsi_extended %a, %a : i4
  %found = tensor.from_elements %sum, %product, %low, %high : tensor<4xi4>
  %expected = arith.constant dense<[-8, 1, 1, 3]> : tensor<4xi4>
  check.expect_eq %found, %expected : tensor<4xi4>

  %c = arith.constant -4194304 : i24
  %d = arith.constant 3 : i24
  %e = arith.muli %c, %d : i24
  %f = tensor.from_elements %e : tensor<1xi24>
  %g = arith.constant dense<[4194304]> : tensor<1xi24>
  check.expect_eq %f, %g : tensor<1xi24>

  %x = arith.constant dense<[127, -128, 100]> : tensor<3xi8>
  %y = arith.constant dense<[1, -1, 100]> : tensor<3xi8>
  %z = arith.addi %x, %y : tensor<3xi8>
  %w = arith.constant dense<[-128, 127, -56]> : tensor<3xi8>
  check.expect_eq %z, %w : tensor<3xi8>
  func.return
}

// One bit is held as 0 and 1; a true one reads as -1 where it is signed.
func.func @one_bit() {
  %true = arith.constant true
  %false = arith.constant false
  %sum = arith.addi %true, %true : i1
  %smallest = arith.minsi %true, %false : i1
  %largest = arith.maxui %true, %false : i1
  %less = arith.cmpi slt, %true, %false : i1
  %below = arith.cmpi ult, %true, %false : i1
  %found = tensor.from_elements %sum, %smallest, %largest, %less, %below : tensor<5xi1>
  %expected = arith.constant dense<[false, true, true, true, false]> : tensor<5xi1>
  check.expect_eq %found, %expected : tensor<5xi1>

  %signed = arith.extsi %true : i1 to i8
  %unsigned = arith.extui %true : i1 to i8
  %wide = tensor.from_elements %signed, %unsigned : tensor<2xi8>
  %bytes = arith.constant dense<[-1, 1]> : tensor<2xi8>
  check.expect_eq %wide, %bytes : tensor<2xi8>
  %s = arith.sitofp %true : i1 to f32
  %u = arith.uitofp %true : i1 to f32
  %f = tensor.from_elements %s, %u : tensor<2xf32>
  %g = arith.constant dense<[-1.0, 1.0]> : tensor<2xf32>
  check.expect_eq %f, %g : tensor<2xf32>
  func.return
}

func.func @division() {
  %a = arith.constant dense<[7, -7, 7, -7, 6, -128]> : tensor<6xi8>
  %b = arith.constant dense<[2, 2, -2, -2, 3, 127]> : tensor<6xi8>
  %0 = arith.divsi %a, %b : tensor<6xi8>
  %e0 = arith.constant dense<[3, -3, -3, 3, 2, -1]> : tensor<6xi8>
  check.expect_eq %0, %e0 : tensor<6xi8>
  %1 = arith.remsi %a, %b : tensor<6xi8>
  %e1 = arith.constant dense<[1, -1, 1, -1, 0, -1]> : tensor<6xi8>
  check.expect_eq %1, %e1 : tensor<6xi8>
  %2 = arith.floordivsi %a, %b : tensor<6xi8>
  %e2 = arith.constant dense<[3, -4, -4, 3, 2, -2]> : tensor<6xi8>
  check.expect_eq %2, %e2 : tensor<6xi8>
  %3 = arith.ceildivsi %a, %b : tensor<6xi8>
  %e3 = arith.constant dense<[4, -3, -3, 4, 2, -1]> : tensor<6xi8>
  check.expect_eq %3, %e3 : tensor<6xi8>

  // -7 is 249 where it has no sign, -2 is 254, -128 is 128
  %4 = arith.divui %a, %b : tensor<6xi8>
  %e4 = arith.constant dense<[3, 124, 0, 0, 2, 1]> : tensor<6xi8>
  check.expect_eq %4, %e4 : tensor<6xi8>
  %5 = arith.remui %a, %b : tensor<6xi8>
  %e5 = arith.constant dense<[1, 1, 7, -7, 0, 1]> : tensor<6xi8>
  check.expect_eq %5, %e5 : tensor<6xi8>
  %6 = arith.ceildivui %a, %b : tensor<6xi8>
  %e6 = arith.constant dense<[4, 125, 1, 1, 2, 2]> : tensor<6xi8>
  check.expect_eq %6, %e6 : tensor<6xi8>
  func.return
}

func.func @bits() {
  %a = arith.constant dense<[-64, 63, -1]> : tensor<3xi7>
  %b = arith.constant dense<[1, 6, 0]> : tensor<3xi7>
  %0 = arith.shli %a, %b : tensor<3xi7>
  %e0 = arith.constant dense<[0, -64, -1]> : tensor<3xi7>
  check.expect_eq %0, %e0 : tensor<3xi7>
  %1 = arith.shrsi %a, %b : tensor<3xi7>
  %e1 = arith.constant dense<[-32, 0, -1]> : tensor<3xi7>
  check.expect_eq %1, %e1 : tensor<3xi7>
  %2 = arith.shrui %a, %b : tensor<3xi7>
  %e2 = arith.constant dense<[32, 0, -1]> : tensor<3xi7>
  check.expect_eq %2, %e2 : tensor<3xi7>
  %3 = arith.xori %a, %b : tensor<3xi7>
  %e3 = arith.constant dense<[-63, 57, -1]> : tensor<3xi7>
  check.expect_eq %3, %e3 : tensor<3xi7>
  %4 = arith.andi %a, %b : tensor<3xi7>
  %e4 = arith.constant dense<[0, 6, 0]> : tensor<3xi7>
  check.expect_eq %4, %e4 : tensor<3xi7>
  %5 = arith.ori %a, %b : tensor<3xi7>
  %e5 = arith.constant dense<[-63, 63, -1]> : tensor<3xi7>
  check.expect_eq %5, %e5 : tensor<3xi7>
  func.return
}

func.func @extended() {
  %a = arith.constant dense<[-128, -1, 16]> : tensor<3xi8>
  %low, %high = arith.mului_extended %a, %a : tensor<3xi8>
  %e0 = arith.constant dense<[0, 1, 0]> : tensor<3xi8>
  %e1 = arith.constant dense<[64, -2, 1]> : tensor<3xi8>
  check.expect_eq %low, %e0 : tensor<3xi8>
  check.expect_eq %high, %e1 : tensor<3xi8>
  %sum, %carry = arith.addui_extended %a, %a : tensor<3xi8>, tensor<3xi1>
  %e2 = arith.constant dense<[0, -2, 32]> : tensor<3xi8>
  %e3 = arith.constant dense<[true, true, false]> : tensor<3xi1>
  check.expect_eq %sum, %e2 : tensor<3xi8>
  check.expect_eq %carry, %e3 : tensor<3xi1>
  func.return
}

// f32 rounds in each step: 2^24 + 1 is 2^24.
func.func @float_steps() {
  %big = arith.constant 16777216.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = arith.addf %big, %one : f32
  %1 = arith.addf %0, %one : f32
  %2 = arith.subf %1, %big : f32
  %3 = arith.divf %one, %2 : f32
  %4 = arith.negf %2 : f32
  %found = tensor.from_elements %0, %1, %2, %3, %4 : tensor<5xf32>
  %expected = arith.constant dense<[16777216.0, 16777216.0, 0.0, 0x7F800000, -0.0]> : tensor<5xf32>
  check.expect_eq %found, %expected : tensor<5xf32>
  func.return
}

func.func @minimum_and_maximum() {
  %a = arith.constant dense<[1.0, 0x7FC00000, 2.0, 0xFF800000]> : tensor<4xf32>
  %b = arith.constant dense<[-1.0, 3.0, 0x7FC00000, 5.0]> : tensor<4xf32>
  %0 = arith.minimumf %a, %b : tensor<4xf32>
  %e0 = arith.constant dense<[-1.0, 0x7FC00000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>
  check.expect_eq %0, %e0 : tensor<4xf32>
  %1 = arith.maxnumf %a, %b : tensor<4xf32>
  %e1 = arith.constant dense<[1.0, 3.0, 2.0, 5.0]> : tensor<4xf32>
  check.expect_eq %1, %e1 : tensor<4xf32>

  // -0 is less than 0
  %zero = arith.constant dense<0.0> : tensor<f32>
  %minus = arith.constant dense<-0.0> : tensor<f32>
  %2 = arith.minimumf %zero, %minus : tensor<f32>
  %3 = arith.maximumf %minus, %zero : tensor<f32>
  %4 = arith.bitcast %2 : tensor<f32> to tensor<i32>
  %5 = arith.bitcast %3 : tensor<f32> to tensor<i32>
  %e4 = arith.constant dense<-2147483648> : tensor<i32>
  %e5 = arith.constant dense<0> : tensor<i32>
  check.expect_eq %4, %e4 : tensor<i32>
  check.expect_eq %5, %e5 : tensor<i32>
  func.return
}

func.func @comparisons() {
  %nan = arith.constant 0x7FC00000 : f32
  %one = arith.constant 1.0 : f32
  %0 = arith.cmpf oeq, %nan, %nan : f32
  %1 = arith.cmpf une, %nan, %nan : f32
  %2 = arith.cmpf one, %nan, %one : f32
  %3 = arith.cmpf ult, %one, %nan : f32
  %4 = arith.cmpf ord, %one, %one : f32
  %5 = arith.cmpf uno, %one, %one : f32
  %found = tensor.from_elements %0, %1, %2, %3, %4, %5 : tensor<6xi1>
  %expected = arith.constant dense<[false, true, false, true, true, false]> : tensor<6xi1>
  check.expect_eq %found, %expected : tensor<6xi1>

  %a = arith.constant -1 : i8
  %b = arith.constant 1 : i8
  %slt = arith.cmpi slt, %a, %b : i8
  %ult = arith.cmpi ult, %a, %b : i8
  %6 = arith.select %slt, %a, %b : i8
  %7 = arith.select %ult, %a, %b : i8
  %chosen = tensor.from_elements %6, %7 : tensor<2xi8>
  %e7 = arith.constant dense<[-1, 1]> : tensor<2xi8>
  check.expect_eq %chosen, %e7 : tensor<2xi8>
  func.return
}

// Each conversion rounds once, ties to even.
func.func @conversions() {
  %i = arith.constant 16777217 : i32
  %j = arith.constant 16777219 : i32
  %0 = arith.sitofp %i : i32 to f32
  %1 = arith.sitofp %j : i32 to f32
  %f = tensor.from_elements %0, %1 : tensor<2xf32>
  %e0 = arith.constant dense<[16777216.0, 16777220.0]> : tensor<2xf32>
  check.expect_eq %f, %e0 : tensor<2xf32>

  %x = arith.constant dense<[1.00390625, 1.01171875, 1.0e-40, 3.4e38]> : tensor<4xf32>
  %2 = arith.truncf %x : tensor<4xf32> to tensor<4xbf16>
  %3 = arith.extf %2 : tensor<4xbf16> to tensor<4xf32>
  %e3 = arith.constant dense<[1.0, 1.015625, 0x00010000, 0x7F800000]> : tensor<4xf32>
  check.expect_eq %3, %e3 : tensor<4xf32>

  %y = arith.constant -2.75 : f32
  %4 = arith.fptosi %y : f32 to i8
  %z = arith.constant 200.5 : f32
  %5 = arith.fptoui %z : f32 to i8
  %k = arith.constant 511 : i16
  %6 = arith.trunci %k : i16 to i8
  %bytes = tensor.from_elements %4, %5, %6 : tensor<3xi8>
  %e6 = arith.constant dense<[-2, -56, -1]> : tensor<3xi8>
  check.expect_eq %bytes, %e6 : tensor<3xi8>

  %minus = arith.constant -1 : i8
  %index = arith.index_cast %minus : i8 to index
  %7 = arith.index_cast %index : index to i64
  %wide = tensor.from_elements %7 : tensor<1xi64>
  %e7 = arith.constant dense<-1> : tensor<1xi64>
  check.expect_eq %wide, %e7 : tensor<1xi64>
  func.return
}

// A vector computes as its elements do; what has no elements computes nothing.
func.func @containers() {
  %a = arith.constant dense<[100, -100]> : vector<2xi8>
  %b = arith.addi %a, %a : vector<2xi8>
  %first = vector.extract %b[0] : i8 from vector<2xi8>
  %last = vector.extract %b[1] : i8 from vector<2xi8>
  %found = tensor.from_elements %first, %last : tensor<2xi8>
  %expected = arith.constant dense<[-56, 56]> : tensor<2xi8>
  check.expect_eq %found, %expected : tensor<2xi8>

  %e = arith.constant dense<> : tensor<0x2xi8>
  %0 = arith.divsi %e, %e : tensor<0x2xi8>
  check.expect_eq %0, %e : tensor<0x2xi8>
  func.return
}
