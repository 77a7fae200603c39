// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @lanes(%y: memref<4xi8>, %v: i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' op kernel.schedule of a loop must set only threads = true, but got #kernel.schedule<variant = "scalar">}}
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %y[%i] : memref<4xi8>
  } {kernel.schedule = #kernel.schedule<variant = "scalar">}
  func.return
}

// -----

func.func @handed_on(%y: memref<1xi8>, %v: i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' op has loop-carried values, but threads require independent iterations}}
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %v) -> (i8) {
    scf.yield %a : i8
  } {kernel.schedule = #kernel.schedule<variant = "scalar", threads = true>}
  memref.store %0, %y[%c0] : memref<1xi8>
  func.return
}
