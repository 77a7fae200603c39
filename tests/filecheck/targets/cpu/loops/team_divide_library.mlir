// RUN: qmlir-opt %s --split-input-file -p team-divide | filecheck %s

// What no main calls is not divided.

builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
  // CHECK-LABEL: @kernel(
  // CHECK-NOT: team.
  // CHECK: func.return
  func.func @kernel(%x: memref<4xi32> {nn.result}) {
    %0 = arith.constant 0 : index
    %4 = arith.constant 4 : index
    %1 = arith.constant 1 : index
    scf.for %i = %0 to %4 step %1 {
      %n = arith.constant 7 : i32
      memref.store %n, %x[%i] : memref<4xi32>
    }
    func.return
  }
}
// -----
// Threads of a main that reads memory would not all choose alike.
builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
  // CHECK-LABEL: @sevens(
  // CHECK: "scf.parallel"
  func.func private @sevens(%x: memref<64xi32>) {
    %0 = arith.constant 0 : index
    %64 = arith.constant 64 : index
    %1 = arith.constant 1 : index
    "scf.parallel"(%0, %64, %1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %n = arith.constant 7 : i32
      memref.store %n, %x[%i] : memref<64xi32>
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }
  // CHECK-LABEL: @main(
  // CHECK-NOT: team.
  // CHECK: func.return
  func.func @main(%c: memref<1xi1>, %x: memref<64xi32> {nn.result}) {
    %0 = arith.constant 0 : index
    %b = memref.load %c[%0] : memref<1xi1>
    scf.if %b {
      func.call @sevens(%x) : (memref<64xi32>) -> ()
    }
    func.return
  }
}
