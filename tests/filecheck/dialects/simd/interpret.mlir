// RUN: qmlir run %s

func.func @memory() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = memref.alloc() : memref<2x4xi8>
  %v = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : vector<8xi8>
  // From the first row into the second.
  simd.store %v, %m[%c0, %c0] : vector<8xi8>, memref<2x4xi8>
  %l = simd.load %m[%c0, %c3] : memref<2x4xi8> to vector<4xi8>
  %0 = simd.reduce_add %l : vector<4xi8> to i8
  // 6 + 7, nothing behind them.
  %p = simd.load_partial %m[%c1, %c1], %c1 : memref<2x4xi8> to vector<4xi8>
  %1 = simd.reduce_add %p : vector<4xi8> to i8
  %g = simd.load_group_splat %m[%c0, %c1] : memref<2x4xi8> to vector<8xi8>
  %2 = simd.reduce_add %g : vector<8xi8> to i8
  simd.store_partial %v, %m[%c1, %c3], %c1 : vector<8xi8>, memref<2x4xi8>
  %3 = memref.load %m[%c1, %c3] : memref<2x4xi8>
  %t = memref.alloc() : memref<8xi8>
  simd.store %v, %t[%c0] : vector<8xi8>, memref<8xi8>
  %places = arith.constant dense<[7, 0, 0, 2]> : vector<4xi32>
  %found_at = simd.gather %t[%places] : memref<8xi8>, vector<4xi32> to vector<4xi8>
  %4 = simd.reduce_add %found_at : vector<4xi8> to i8
  %found = tensor.from_elements %0, %1, %2, %3, %4 : tensor<5xi8>
  %expected = arith.constant dense<[22, 6, 28, 1, 13]> : tensor<5xi8>
  check.expect_eq %found, %expected : tensor<5xi8>
  func.return
}

func.func @dots() {
  %acc = arith.constant dense<[100, -2147483648]> : vector<2xi32>
  %x = arith.constant dense<[-1, 1, 2, 3, 0, 0, 0, -1]> : vector<8xi8>
  %w = arith.constant dense<[1, 10, 100, -128, 1, 1, 1, -1]> : vector<8xi8>
  // 100 + 255 + 10 + 200 - 384; the smallest integer - 255 wraps.
  %us = simd.dot_accumulate %acc, %x, %w {signs = "us"} : vector<2xi32>, vector<8xi8>, vector<8xi8> -> vector<2xi32>
  %0 = vector.extract %us[0] : i32 from vector<2xi32>
  %1 = vector.extract %us[1] : i32 from vector<2xi32>
  // 100 - 1 + 10 + 200 - 384
  %ss = simd.dot_accumulate %acc, %x, %w : vector<2xi32>, vector<8xi8>, vector<8xi8> -> vector<2xi32>
  %2 = vector.extract %ss[0] : i32 from vector<2xi32>
  %h = arith.constant dense<[-32768, 3, 1, 0]> : vector<4xi16>
  %pairs = simd.dot_accumulate %acc, %h, %h : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
  %3 = vector.extract %pairs[0] : i32 from vector<2xi32>
  %found = tensor.from_elements %0, %1, %2, %3 : tensor<4xi32>
  %expected = arith.constant dense<[181, 2147483393, -75, 1073741933]> : tensor<4xi32>
  check.expect_eq %found, %expected : tensor<4xi32>
  func.return
}

func.func @short_dots() {
  %x = arith.constant dense<[-1, 1, -1, -1, -1, -1]> : vector<6xi8>
  %w = arith.constant dense<[-2, 10, -128, -128, 127, 127]> : vector<6xi8>
  // 255 * -2 + 10; what 16 bits don't hold stops at their limits.
  %0 = simd.multiply_pairs %x, %w : vector<6xi8>, vector<6xi8> -> vector<3xi16>
  %1 = vector.extract %0[0] : i16 from vector<3xi16>
  %2 = vector.extract %0[1] : i16 from vector<3xi16>
  %3 = vector.extract %0[2] : i16 from vector<3xi16>
  %found = tensor.from_elements %1, %2, %3 : tensor<3xi16>
  %expected = arith.constant dense<[-500, -32768, 32767]> : tensor<3xi16>
  check.expect_eq %found, %expected : tensor<3xi16>
  func.return
}

func.func @lanes() {
  %f = arith.constant dense<[0.5, 1.5, -2.5, 300.0]> : vector<4xf32>
  %r = simd.round_to_int %f : vector<4xf32> to vector<4xi32>
  // 0 + 2 - 2 + 127, and without sign 0 + 2 + 0 - 1 (255); two vectors behind each other.
  %n = simd.narrow %r : vector<4xi32> to vector<4xi8>
  %0 = simd.reduce_add %n : vector<4xi8> to i8
  %u = simd.narrow %r {unsigned} : vector<4xi32> to vector<4xi8>
  %1 = simd.reduce_add %u : vector<4xi8> to i8
  %two = simd.narrow %r, %r : vector<4xi32>, vector<4xi32> to vector<8xi8>
  %6 = vector.extract %two[6] : i8 from vector<8xi8>
  %zero = arith.constant dense<0> : vector<4xi32>
  %c = simd.compare %r, %zero {predicate = "slt"} : vector<4xi32> -> vector<4xi1>
  %b = simd.convert %c {kind = "extui"} : vector<4xi1> to vector<4xi8>
  %2 = simd.reduce_add %b : vector<4xi8> to i8
  %s = simd.select %c, %n, %b : vector<4xi1>, vector<4xi8>
  %3 = simd.reduce_add %s : vector<4xi8> to i8
  %x = arith.constant dense<[1, 2, 3, 4]> : vector<4xi8>
  %y = arith.constant dense<[5, 6, 7, 8]> : vector<4xi8>
  %low = simd.interleave_low %x, %y : vector<4xi8>
  %4 = vector.extract %low[3] : i8 from vector<4xi8>
  %high = simd.interleave_high %x, %y {block = 2 : i64} : vector<4xi8>
  %5 = vector.extract %high[2] : i8 from vector<4xi8>
  %found = tensor.from_elements %0, %1, %2, %3, %4, %5, %6 : tensor<7xi8>
  %expected = arith.constant dense<[127, 1, 1, -2, 6, 4, -2]> : tensor<7xi8>
  check.expect_eq %found, %expected : tensor<7xi8>
  func.return
}

// A byte of a table of 256 for each byte, read as unsigned: the table is twice its place, modulo 256.
func.func @look_up() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %t = memref.alloc() : memref<256xi8>
  scf.for %i = %c0 to %c256 step %c1 {
    %n = arith.index_cast %i : index to i32
    %two = arith.addi %n, %n : i32
    %b = arith.trunci %two : i32 to i8
    memref.store %b, %t[%i] : memref<256xi8>
  }
  %places = arith.constant dense<[3, 127, -1, -128]> : vector<4xi8>
  %v = simd.look_up %t[%places] : memref<256xi8>, vector<4xi8> to vector<4xi8>
  %0 = vector.extract %v[0] : i8 from vector<4xi8>
  %1 = vector.extract %v[1] : i8 from vector<4xi8>
  %2 = vector.extract %v[2] : i8 from vector<4xi8>
  %3 = vector.extract %v[3] : i8 from vector<4xi8>
  %found = tensor.from_elements %0, %1, %2, %3 : tensor<4xi8>
  // 2 * 3, 2 * 127, 2 * 255 - 256, 2 * 128 - 256
  %expected = arith.constant dense<[6, -2, -2, 0]> : tensor<4xi8>
  check.expect_eq %found, %expected : tensor<4xi8>
  func.return
}

// Lanes that nothing stores may hold what has no result: here those behind the end of a row, where a load gives 0.
func.func @lanes_behind_a_row() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %one = arith.constant dense<1> : vector<4xi32>
  %numbers = arith.constant dense<[6, 3]> : vector<2xi32>
  %row = memref.alloc() : memref<2xi32>
  vector.store %numbers, %row[%c0] : memref<2xi32>, vector<2xi32>
  %x = simd.load_partial %row[%c0], %c2 : memref<2xi32> to vector<4xi32>
  // 1 << 5, 1 << 2, and 1 << -1 twice.
  %less = arith.subi %x, %one : vector<4xi32>
  %power = arith.shli %one, %less : vector<4xi32>
  // 32 / 6, 4 / 3, and what is over 0.
  %lhs = simd.convert %power {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
  %rhs = simd.convert %x {kind = "sitofp"} : vector<4xi32> to vector<4xf32>
  %quotient = arith.divf %lhs, %rhs : vector<4xf32>
  %rounded = simd.round_to_int %quotient : vector<4xf32> to vector<4xi32>
  %cut = simd.convert %quotient {kind = "fptosi"} : vector<4xf32> to vector<4xi32>
  %sum = arith.addi %rounded, %cut : vector<4xi32>
  // Of the first vector all lanes are stored, of the second one two.
  %bytes = simd.narrow %one, %sum : vector<4xi32>, vector<4xi32> to vector<8xi8>
  %stored = memref.alloc() : memref<6xi8>
  simd.store_partial %bytes, %stored[%c0], %c6 : vector<8xi8>, memref<6xi8>
  %0 = memref.load %stored[%c3] : memref<6xi8>
  %1 = memref.load %stored[%c4] : memref<6xi8>
  %2 = memref.load %stored[%c5] : memref<6xi8>
  %found = tensor.from_elements %0, %1, %2 : tensor<3xi8>
  %expected = arith.constant dense<[1, 10, 2]> : tensor<3xi8>
  check.expect_eq %found, %expected : tensor<3xi8>
  func.return
}
