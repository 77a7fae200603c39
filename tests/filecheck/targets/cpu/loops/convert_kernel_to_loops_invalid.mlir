// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @unknown_size(%x: memref<?xi8>, %v: i8) {
  // expected-error @+1 {{'linalg.fill' op requires static shapes, but got memref<?xi8>}}
  linalg.fill ins(%v : i8) outs(%x : memref<?xi8>)
  func.return
}

// -----

func.func @tensors(%x: tensor<2xi8>, %v: i8) -> tensor<2xi8> {
  // expected-error @+1 {{'linalg.fill' op (relu1) is not legal here, and no pattern converts it; expected structured operations on memory, after kernel-bufferize}}
  %0 = linalg.fill {origin = "relu1"} ins(%v : i8) outs(%x : tensor<2xi8>) -> tensor<2xi8>
  func.return %0 : tensor<2xi8>
}

// -----

func.func @wide_accumulator(%a: i64, %m: i32, %s: i8) -> i8 {
  // expected-error @+1 {{'kernel.requantize' op an integer multiplier requires accumulators of at most 32 bits}}
  %0 = kernel.requantize %a, %m, %s {mode = #kernel.requantize<single_round>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i64, i32, i8 -> i8
  func.return %0 : i8
}

// -----

// At the first and at the last step it is inside: 0 and 0. Upstream looks no further.
func.func @leaves_between(%x: memref<17xi8>, %y: memref<17xi8>) {
  // expected-error @+1 {{'linalg.generic' op accesses operand 0 out of bounds: ((d0 mod 8) * 3) must be less than 17 along axis 0}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 mod 8) * 3)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<17xi8>) outs(%y : memref<17xi8>) {
  ^bb0(%a: i8, %b: i8):
    linalg.yield %a : i8
  }
  func.return
}
