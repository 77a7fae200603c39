// RUN: qmlir-opt %s -p team-divide | filecheck %s

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
