// RUN: qmlir-opt %s -p team-divide | filecheck %s
// RUN: qmlir-opt %s -p team-divide,team-divide | filecheck %s
// RUN: qmlir-opt %s -p team-divide --verify-each=exec

builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 3>} {
  // Of several axes, threads divide the last one: the others are loops of each chunk.
  func.func private @axes(%x: memref<4x6xi32>, %y: memref<4x6xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    "scf.parallel"(%c1, %c0, %c4, %c6, %c1, %c2) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%i: index, %j: index):
      %a = memref.load %x[%i, %j] : memref<4x6xi32>
      memref.store %a, %y[%i, %j] : memref<4x6xi32>
      scf.reduce
    }) : (index, index, index, index, index, index) -> ()
    func.return
  }

  // Two nested loops are divided as one; what the outer one computes stays between them.
  func.func private @nested(%x: memref<3x5xi32>, %y: memref<3x5xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %n = arith.index_cast %i : index to i32
      "scf.parallel"(%c0, %c5, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
      ^bb0(%j: index):
        %a = memref.load %x[%i, %j] : memref<3x5xi32>
        %b = arith.addi %a, %n : i32
        memref.store %b, %y[%i, %j] : memref<3x5xi32>
        scf.reduce
      }) : (index, index, index) -> ()
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }

  // If the inner loop has one step, the steps of both are those of the outer one.
  func.func private @one_step(%x: memref<3x5xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      %n = arith.index_cast %i : index to i32
      "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
      ^bb0(%j: index):
        memref.store %n, %x[%i, %j] : memref<3x5xi32>
        scf.reduce
      }) : (index, index, index) -> ()
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }

  // Operations for one thread that follow each other are one region: threads wait once.
  func.func private @writes(%x: memref<3x5xi32>, %n: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    memref.store %n, %x[%c0, %c0] : memref<3x5xi32>
    memref.store %n, %x[%c1, %c0] : memref<3x5xi32>
    "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      memref.store %n, %x[%i, %c1] : memref<3x5xi32>
      scf.reduce
    }) : (index, index, index) -> ()
    func.return
  }

  func.func private @alone(%x: memref<3x5xi32>, %y: memref<3x5xi32>) {
    "memref.copy"(%x, %y) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
    func.return
  }

  // All threads run the loops of @main. Calls of kernels for one thread that follow each other are work of one.
  func.func @main(%x: memref<4x6xi32> {nn.name = "x"}, %u: memref<3x5xi32> {nn.name = "u"},
                  %y: memref<4x6xi32> {nn.result, nn.name = "y"}, %v: memref<3x5xi32> {nn.result, nn.name = "v"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    func.call @axes(%x, %y) : (memref<4x6xi32>, memref<4x6xi32>) -> ()
    scf.for %t = %c0 to %c2 step %c1 {
      func.call @alone(%u, %v) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
      func.call @alone(%u, %v) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
      func.call @nested(%u, %v) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
      func.call @alone(%v, %v) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
    }
    func.return
  }
}

// CHECK: #k0 = #kernel.target<isa = "generic", threads = 3>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @axes(
// CHECK-SAME: [[V0:%.+]]: memref<4x6xi32>, [[V1:%.+]]: memref<4x6xi32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 6 : index
// CHECK-NEXT: team.chunks ([[V7:%.+]], [[V8:%.+]]) of 3 in 1 {
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V9]] to [[V10]] step [[V11]] {
// CHECK-NEXT: [[V13:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V12]], [[V13]] : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V16:%.+]] = [[V7]] to [[V8]] step [[V15]] {
// CHECK-NEXT: [[V17:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V18:%.+]] = arith.muli [[V16]], [[V17]] : index
// CHECK-NEXT: [[V19:%.+]] = memref.load [[V0]][[[V14]], [[V18]]] : memref<4x6xi32>
// CHECK-NEXT: memref.store [[V19]], [[V1]][[[V14]], [[V18]]] : memref<4x6xi32>
// CHECK: func.return
// CHECK-LABEL: @nested(
// CHECK-SAME: [[V0:%.+]]: memref<3x5xi32>, [[V1:%.+]]: memref<3x5xi32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 5 : index
// CHECK-NEXT: team.chunks ([[V6:%.+]], [[V7:%.+]]) of 15 in 3 {
// CHECK-NEXT: [[V8:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V9:%.+]] = arith.ceildivsi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = arith.floordivsi [[V6]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V10]] to [[V9]] step [[V11]] {
// CHECK-NEXT: [[V13:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V12]], [[V13]] : index
// CHECK-NEXT: [[V15:%.+]] = arith.subi [[V6]], [[V14]] : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V17:%.+]] = arith.maxsi [[V15]], [[V16]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V7]], [[V14]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.constant 5 : index
// CHECK-NEXT: [[V20:%.+]] = arith.minsi [[V18]], [[V19]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.index_cast [[V12]] : index to i32
// CHECK-NEXT: [[V22:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V23:%.+]] = [[V17]] to [[V20]] step [[V22]] {
// CHECK-NEXT: [[V24:%.+]] = memref.load [[V0]][[[V12]], [[V23]]] : memref<3x5xi32>
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V24]], [[V21]] : i32
// CHECK-NEXT: memref.store [[V25]], [[V1]][[[V12]], [[V23]]] : memref<3x5xi32>
// CHECK: func.return
// CHECK-LABEL: @one_step(
// CHECK: team.chunks ([[V6:%.+]], [[V7:%.+]]) of 3 in 1 {
// CHECK-NEXT: [[V8:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for {{.+}} = [[V6]] to [[V7]] step [[V8]] {
// CHECK-LABEL: @writes(
// CHECK: team.single {
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.store
// CHECK-NOT: team.single
// CHECK: team.chunks
// CHECK-LABEL: @alone(
// CHECK-SAME: [[V0:%.+]]: memref<3x5xi32>, [[V1:%.+]]: memref<3x5xi32>)
// CHECK-NEXT: "memref.copy"([[V0]], [[V1]]) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
// CHECK-NEXT: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<4x6xi32> {nn.name = "x"}, [[V1:%.+]]: memref<3x5xi32> {nn.name = "u"}, [[V2:%.+]]: memref<4x6xi32> {nn.result, nn.name = "y"}, [[V3:%.+]]: memref<3x5xi32> {nn.result, nn.name = "v"}) attributes {team.threads = 3 : i64}
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: func.call @axes([[V0]], [[V2]]) : (memref<4x6xi32>, memref<4x6xi32>) -> ()
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V4]] to [[V6]] step [[V5]] {
// CHECK-NEXT: team.single {
// CHECK-NEXT: func.call @alone([[V1]], [[V3]]) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
// CHECK-NEXT: func.call @alone([[V1]], [[V3]]) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
// CHECK: func.call @nested([[V1]], [[V3]]) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
// CHECK-NEXT: team.single {
// CHECK-NEXT: func.call @alone([[V3]], [[V3]]) : (memref<3x5xi32>, memref<3x5xi32>) -> ()
// CHECK: func.return
