// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p kernel-mark-read-only,team-divide | qmlir-translate --emit-numba --load-plugin tests.support.custom_kernels | filecheck %s

builtin.module attributes {kernel.target = #kernel.target<isa = "generic", threads = 2>} {
// Threads take chunks of parallel loops. What a kernel reads but does not write, each reads where it has something to
// do: a thread that comes too late must not look at memory that is gone.
func.func private @read_by_all(%x: memref<64xi32>, %p: memref<1xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : index
  %s = memref.load %p[%c0] : memref<1xi32>
  %t = arith.muli %s, %c2 : i32
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<64xi32>
    %w = arith.addi %v, %t : i32
    memref.store %w, %y[%i] : memref<64xi32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// What writes, or reads what the kernel writes, one thread does: the first of them that is there.
func.func private @done_by_one(%x: memref<64xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = memref.load %x[%c1] : memref<64xi32>
  %w = memref.load %y[%c1] : memref<64xi32>
  %u = arith.addi %v, %w : i32
  memref.store %u, %y[%c0] : memref<64xi32>
  "scf.parallel"(%c1, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = memref.load %y[%c0] : memref<64xi32>
    memref.store %a, %y[%i] : memref<64xi32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// The loop needs what stood in memory before it began: only one thread knows that.
func.func private @not_divided(%x: memref<64xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %w = memref.load %y[%c0] : memref<64xi32>
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %w, %y[%i] : memref<64xi32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// So does one that writes the same memory by another name.
func.func private @by_another_name(%x: memref<64xi32>, %y: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %w = memref.load %x[%c0] : memref<64xi32>
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %w, %y[%i] : memref<64xi32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// What a person wrote is for the first thread: it may keep something for each.
func.func private @by_hand(%x: memref<64xi32>, %y: memref<64xi32>) {
  kernel.custom "tests.support.custom_kernels:off_by_one" ins(%x : memref<64xi32>) outs(%y : memref<64xi32>) computes {op = "wrong.off_by_one", operands = [tensor<64xi32>], results = [tensor<64xi32>]}
  func.return
}

func.func @main(%x: memref<64xi32> {nn.name = "x"}, %p: memref<1xi32> {nn.name = "p"},
                %y: memref<64xi32> {nn.result, nn.name = "y"}) {
  func.call @read_by_all(%x, %p, %y) : (memref<64xi32>, memref<1xi32>, memref<64xi32>) -> ()
  func.call @not_divided(%x, %y) : (memref<64xi32>, memref<64xi32>) -> ()
  func.call @not_divided(%y, %y) : (memref<64xi32>, memref<64xi32>) -> ()
  %z = memref.collapse_shape %y [[0]] : memref<64xi32> into memref<64xi32>
  func.call @by_another_name(%y, %z) : (memref<64xi32>, memref<64xi32>) -> ()
  func.call @done_by_one(%x, %y) : (memref<64xi32>, memref<64xi32>) -> ()
  func.call @by_hand(%x, %y) : (memref<64xi32>, memref<64xi32>) -> ()
  func.return
}

}

// CHECK: @kernel("int64", "value index", "const int32", "const int32", "int32")
// CHECK-NEXT: def read_by_all(team, number, x, p, y):
// CHECK-NEXT: chunk = taken(team, number, -1, 5)
// CHECK-NEXT: while chunk >= 0:
// CHECK-NEXT: begin = chunk_begin(team, chunk, 5, 64)
// CHECK-NEXT: end = chunk_end(team, chunk, 5, 64)
// CHECK-NEXT: s = load(p, 0)
// CHECK-NEXT: t = s * i32(2)
// CHECK-NEXT: for i in range(begin, end):
// CHECK-NEXT: v = load(x, i)
// CHECK-NEXT: store(y, i, v + t)
// CHECK-NEXT: chunk = taken(team, number, chunk, 5)
// CHECK-NEXT: finished(team, number, 5)
// CHECK: @kernel("int64", "value index", "const int32", "int32")
// CHECK-NEXT: def done_by_one(team, number, x, y):
// CHECK-NEXT: if alone(team, number):
// CHECK-NEXT: v = load(x, 1)
// CHECK-NEXT: w = load(y, 1)
// CHECK-NEXT: store(y, 0, v + w)
// CHECK-NEXT: finished(team, number, 0)
// CHECK-NEXT: chunk = taken(team, number, -1, 5)
// CHECK-NEXT: while chunk >= 0:
// CHECK-NEXT: begin = chunk_begin(team, chunk, 5, 63)
// CHECK-NEXT: end = chunk_end(team, chunk, 5, 63)
// CHECK-NEXT: for i in range(begin, end):
// CHECK-NEXT: a = load(y, 0)
// CHECK-NEXT: store(y, i + 1, a)
// CHECK-NEXT: chunk = taken(team, number, chunk, 5)
// CHECK-NEXT: finished(team, number, 5)
// CHECK: @kernel("const int32", "int32")
// CHECK-NEXT: def not_divided(x, y):
// CHECK-NEXT: w = load(y, 0)
// CHECK-NEXT: for i in range(64):
// CHECK-NEXT: store(y, i, w)
// CHECK: @kernel("const int32", "int32")
// CHECK-NEXT: def by_another_name(x, y):
// CHECK-NEXT: w = load(x, 0)
// CHECK-NEXT: for i in range(64):
// CHECK-NEXT: store(y, i, w)
// CHECK: @kernel("const int32", "int32", by_hand=True)
// CHECK-NEXT: def by_hand(x, y):
// CHECK-NEXT: by_hand_0_off_by_one(array(x, "int32", "C", 64, 1), array(y, "int32", "C", 64, 1))
// CHECK: @kernel("int64", "value index", "const int64")
// CHECK-NEXT: def steps(team, number, job):
// CHECK-NEXT: kernels = array_at(job, 0, 5, "int64")
// CHECK-NEXT: arena = array_at(job, 1, 64, "int8")
// CHECK-NEXT: constants = array_at(job, 2, 0, "int64")
// CHECK-NEXT: x = array_at(job, 3, 64, "int32")
// CHECK-NEXT: p = array_at(job, 4, 1, "int32")
// CHECK-NEXT: y = array_at(job, 5, 64, "int32")
// CHECK-NEXT: call(kernels, 0, team, number, x, p, y)  # read_by_all
// CHECK-NEXT: if alone(team, number):
// CHECK-NEXT: call(kernels, 2, x, y)  # not_divided
// CHECK-NEXT: call(kernels, 2, y, y)  # not_divided
// CHECK-NEXT: call(kernels, 3, y, y)  # by_another_name
// CHECK-NEXT: finished(team, number, 0)
// CHECK-NEXT: call(kernels, 1, team, number, x, y)  # done_by_one
// CHECK-NEXT: if number == 0 and alone(team, number):
// CHECK-NEXT: call(kernels, 4, x, y)  # by_hand
// CHECK-NEXT: finished(team, number, 0)
