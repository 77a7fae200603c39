// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// The steps that a chunk has are those of some range, and all of them have each step once.
func.func private @sums(%x: memref<10xi32>, %y: memref<10xi32>) {
  %one = arith.constant 1 : index
  team.chunks (%begin, %end) of 10 in 3 {
    scf.for %i = %begin to %end step %one {
      %a = memref.load %x[%i] : memref<10xi32>
      %b = memref.load %y[%i] : memref<10xi32>
      %c = arith.addi %a, %b : i32
      memref.store %c, %y[%i] : memref<10xi32>
    }
  } {note = "as any operation"}
  func.return
}

func.func @main(%x: memref<10xi32>, %y: memref<10xi32>) attributes {team.threads = 2 : i64} {
  func.call @sums(%x, %y) : (memref<10xi32>, memref<10xi32>) -> ()
  team.single {
    "memref.copy"(%x, %y) : (memref<10xi32>, memref<10xi32>) -> ()
  }
  team.single first {
    "memref.copy"(%x, %y) : (memref<10xi32>, memref<10xi32>) -> ()
  }
  func.return
}

// CHECK: team.chunks ([[BEGIN:%.+]], [[END:%.+]]) of 10 in 3 {
// CHECK-NEXT: scf.for [[I:%.+]] = [[BEGIN]] to [[END]] step
// CHECK: } {note = "as any operation"}
// CHECK: attributes {team.threads = 2 : i64}
// CHECK: team.single {
// CHECK-NEXT: "memref.copy"
// CHECK-NEXT: }
// CHECK-NEXT: team.single first {
// CHECK-NEXT: "memref.copy"
// CHECK-NEXT: }
