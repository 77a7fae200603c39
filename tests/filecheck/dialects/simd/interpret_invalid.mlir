// RUN: not qmlir run %s --function stored 2>&1 | filecheck %s --check-prefix STORED
// RUN: not qmlir run %s --function stored_whole 2>&1 | filecheck %s --check-prefix WHOLE
// RUN: not qmlir run %s --function summed 2>&1 | filecheck %s --check-prefix SUMMED
// RUN: not qmlir run %s --function narrowed 2>&1 | filecheck %s --check-prefix NARROWED
// RUN: not qmlir run %s --function in_a_loop 2>&1 | filecheck %s --check-prefix LOOP
// RUN: not qmlir run %s --function gathered 2>&1 | filecheck %s --check-prefix GATHERED

// A lane without a result is refused where something observes it: a store that has it, a sum, a loop.

// STORED: 'simd.round_to_int' op cannot be computed: nan does not fit 32 bits
func.func @stored() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %memory = memref.alloc() : memref<4xi32>
  %x = arith.constant dense<[1.0, 2.0, 0x7FC00000, 4.0]> : vector<4xf32>
  %whole = simd.round_to_int %x : vector<4xf32> to vector<4xi32>
  simd.store_partial %whole, %memory[%c0], %c3 : vector<4xi32>, memref<4xi32>
  func.return
}

// WHOLE: 'simd.convert' op cannot be computed: nan of type f32 cannot be represented as a signed value of type i32
func.func @stored_whole() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %memory = memref.alloc() : memref<4xi32>
  %x = arith.constant dense<[1.0, 2.0, 0x7FC00000, 4.0]> : vector<4xf32>
  %whole = simd.convert %x {kind = "fptosi"} : vector<4xf32> to vector<4xi32>
  simd.store_partial %whole, %memory[%c0], %c1 : vector<4xi32>, memref<4xi32>
  %twice = arith.addi %whole, %whole : vector<4xi32>
  simd.store %twice, %memory[%c0] : vector<4xi32>, memref<4xi32>
  func.return
}

// SUMMED: 'simd.round_to_int' op cannot be computed: nan does not fit 32 bits
func.func @summed() -> i32 {
  %x = arith.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : vector<4xf32>
  %whole = simd.round_to_int %x : vector<4xf32> to vector<4xi32>
  %sum = simd.reduce_add %whole : vector<4xi32> to i32
  func.return %sum : i32
}

// NARROWED: 'simd.round_to_int' op cannot be computed: nan does not fit 32 bits
func.func @narrowed() {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %memory = memref.alloc() : memref<8xi8>
  %y = arith.constant dense<5> : vector<4xi32>
  %x = arith.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : vector<4xf32>
  %whole = simd.round_to_int %x : vector<4xf32> to vector<4xi32>
  %bytes = simd.narrow %whole, %y : vector<4xi32>, vector<4xi32> to vector<8xi8>
  simd.store_partial %bytes, %memory[%c0], %c4 : vector<8xi8>, memref<8xi8>
  func.return
}

// LOOP: 'simd.round_to_int' op cannot be computed: nan does not fit 32 bits
func.func @in_a_loop() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %memory = memref.alloc() : memref<4xi32>
  %x = arith.constant dense<[1.0, 2.0, 3.0, 0x7FC00000]> : vector<4xf32>
  %whole = simd.round_to_int %x : vector<4xf32> to vector<4xi32>
  scf.for %i = %c0 to %c1 step %c1 {
    simd.store_partial %whole, %memory[%c0], %c1 : vector<4xi32>, memref<4xi32>
  }
  func.return
}

// Memory is read whatever becomes of the lane.
// GATHERED: 'simd.gather' op cannot be computed: index 9 is out of range for a table of 4 elements
func.func @gathered() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %memory = memref.alloc() : memref<4xi32>
  %places = arith.constant dense<[0, 1, 2, 9]> : vector<4xi32>
  %found = simd.gather %memory[%places] : memref<4xi32>, vector<4xi32> to vector<4xi32>
  simd.store_partial %found, %memory[%c0], %c2 : vector<4xi32>, memref<4xi32>
  func.return
}
