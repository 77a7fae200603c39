// RUN: qmlir run %s

// Places inside the memory and behind its end: no element changes.
func.func @nothing_changes() {
  %w = memref.alloc() : memref<2xi16>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %far = arith.constant 1000 : index
  %3 = arith.constant 3 : i16
  %7 = arith.constant 7 : i16
  memref.store %3, %w[%c0] : memref<2xi16>
  memref.store %7, %w[%c1] : memref<2xi16>
  simd.prefetch %w[%c1] : memref<2xi16>
  simd.prefetch %w[%far] : memref<2xi16>
  %0 = memref.load %w[%c0] : memref<2xi16>
  %1 = memref.load %w[%c1] : memref<2xi16>
  %found = tensor.from_elements %0, %1 : tensor<2xi16>
  %expected = arith.constant dense<[3, 7]> : tensor<2xi16>
  check.expect_eq %found, %expected : tensor<2xi16>
  func.return
}
