// RUN: qmlir-opt %s -p kernel-bufferize | filecheck %s
// RUN: qmlir-opt %s --verify-each=exec --exec-function '*' -p kernel-bufferize,verify-level{level=scheduled}

// A result is written straight into the caller's memory, under another shape too; an argument that is returned is
// copied, and what is returned twice is copied once.
func.func @results(%x: tensor<2x2xi8> {nn.name = "image", nn.element = ui8}) -> (tensor<4xi8> {nn.name = "flat"}, tensor<2x2xi8>, tensor<4xi8>) {
  %e = tensor.empty() : tensor<2x2xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (b, a)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x2xi8>) outs(%e : tensor<2x2xi8>) {
  ^bb0(%a: i8, %old: i8):
    linalg.yield %a : i8
  } -> tensor<2x2xi8>
  %1 = kernel.reshape %0 : tensor<2x2xi8> to tensor<4xi8>
  func.return %1, %x, %1 : tensor<4xi8>, tensor<2x2xi8>, tensor<4xi8>
}

// Equal constants are one global. An operation of `kernel` gets `outs`, a table in its epilogue is loaded from.
func.func @contraction(%x: tensor<1x3x4xi8>, %residual: tensor<1x3x2xi8>) -> tensor<1x3x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %again = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %table = arith.constant dense<[7, 8, 9, 10]> : tensor<4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x3x4xi8>, tensor<2x4xi8>) -> tensor<1x3x2xi8> {
  ^bb0(%acc: i32):
    %three = arith.constant 3 : i32
    %low = arith.andi %acc, %three : i32
    %place = arith.index_cast %low : i32 to index
    %r = tensor.extract %table[%place] : tensor<4xi8>
    kernel.yield %r : i8
  }
  %wide = kernel.reshape %0 : tensor<1x3x2xi8> to tensor<3x2xi8>
  %e = tensor.empty() : tensor<3x4xi8>
  %padded = tensor.insert_slice %wide into %e[0, 0] [3, 2] [1, 1] : tensor<3x2xi8> into tensor<3x4xi8>
  %full = tensor.insert_slice %wide into %padded[0, 2] [3, 2] [1, 1] : tensor<3x2xi8> into tensor<3x4xi8>
  %1 = kernel.reshape %full : tensor<3x4xi8> to tensor<1x3x4xi8>
  %2 = kernel.matmul ins(%1, %again : tensor<1x3x4xi8>, tensor<2x4xi8>) epilogue(%residual : tensor<1x3x2xi8>) -> tensor<1x3x2xi8> attributes {epilogue_maps = [affine_map<(b, m, n) -> (b, m, n)>]} {
  ^bb0(%acc: i32, %other: i8):
    %low = arith.trunci %acc : i32 to i8
    %r = arith.addi %low, %other : i8
    kernel.yield %r : i8
  }
  func.return %2 : tensor<1x3x2xi8>
}

// Both parts of a concatenation, and the border around it, are written where they are to lie: nothing is copied.
func.func @concat_in_a_border(%x: tensor<2x3xi8>) -> tensor<6x4xi8> {
  %zero = arith.constant 0 : i8
  %e0 = tensor.empty() : tensor<2x3xi8>
  %a = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi8>) outs(%e0 : tensor<2x3xi8>) {
  ^bb0(%p: i8, %old: i8):
    %r = arith.addi %p, %p : i8
    linalg.yield %r : i8
  } -> tensor<2x3xi8>
  %b = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x3xi8>) outs(%e0 : tensor<2x3xi8>) {
  ^bb0(%p: i8, %old: i8):
    %r = arith.muli %p, %p : i8
    linalg.yield %r : i8
  } -> tensor<2x3xi8>
  %e1 = tensor.empty() : tensor<4x3xi8>
  %0 = tensor.insert_slice %a into %e1[0, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x3xi8>
  %1 = tensor.insert_slice %b into %0[2, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x3xi8>
  %e2 = tensor.empty() : tensor<6x4xi8>
  %2 = linalg.fill ins(%zero : i8) outs(%e2 : tensor<6x4xi8>) -> tensor<6x4xi8>
  %3 = tensor.insert_slice %1 into %2[1, 1] [4, 3] [1, 1] : tensor<4x3xi8> into tensor<6x4xi8>
  func.return %3 : tensor<6x4xi8>
}

// Every third element: the slices begin and end between each other, and have no element in common. Nothing is copied.
func.func @in_turn(%x: tensor<4xi8>) -> tensor<12xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %a = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%p: i8, %old: i8):
    %r = arith.addi %p, %p : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  %b = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%p: i8, %old: i8):
    %r = arith.muli %p, %p : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  %c = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%p: i8, %old: i8):
    %r = arith.subi %p, %p : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  %all = tensor.empty() : tensor<12xi8>
  %0 = tensor.insert_slice %a into %all[0] [4] [3] : tensor<4xi8> into tensor<12xi8>
  %1 = tensor.insert_slice %b into %0[1] [4] [3] : tensor<4xi8> into tensor<12xi8>
  %2 = tensor.insert_slice %c into %1[2] [4] [3] : tensor<4xi8> into tensor<12xi8>
  func.return %2 : tensor<12xi8>
}

// The old value of %0 is wanted behind the insertion, so that is made elsewhere: a fill is made again, not copied.
func.func @old_value_is_used(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %v = arith.constant 7 : i8
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.fill ins(%v : i8) outs(%e : tensor<4xi8>) -> tensor<4xi8>
  %s = tensor.extract %x[%c1] : tensor<4xi8>
  %1 = tensor.insert %s into %0[%c1] : tensor<4xi8>
  func.return %1, %0 : tensor<4xi8>, tensor<4xi8>
}

// A destination whose old elements nobody reads is not copied where the result needs memory of its own.
func.func @unread_destination(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%0 : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.muli %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  func.return %0, %1 : tensor<4xi8>, tensor<4xi8>
}

// Over what the operation reads itself: element by element at one place, but not one place beside it.
func.func @over_what_is_read(%x: tensor<8xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<8xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xi8>) outs(%e : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<8xi8>
  %low = tensor.extract_slice %0[0] [4] [1] : tensor<8xi8> to tensor<4xi8>
  %high = tensor.extract_slice %0[1] [4] [1] : tensor<8xi8> to tensor<4xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%low : tensor<4xi8>) outs(%high : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.muli %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<4xi8>) outs(%1 : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.muli %a, %o : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// A sum begins in the memory that was filled. A slice is a view, and is copied only where it must be reshaped.
func.func @reduction_and_slices(%x: tensor<4x6xi8>) -> (tensor<4xi8>, tensor<12xi8>) {
  %zero = arith.constant 0 : i8
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.fill ins(%zero : i8) outs(%e : tensor<4xi8>) -> tensor<4xi8>
  %half = tensor.extract_slice %x[0, 3] [4, 3] [1, 1] : tensor<4x6xi8> to tensor<4x3xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>], iterator_types = ["parallel", "reduction"]} ins(%half : tensor<4x3xi8>) outs(%0 : tensor<4xi8>) {
  ^bb0(%p: i8, %sum: i8):
    %r = arith.addi %p, %sum : i8
    linalg.yield %r : i8
  } -> tensor<4xi8>
  %2 = kernel.reshape %half : tensor<4x3xi8> to tensor<12xi8>
  func.return %1, %2 : tensor<4xi8>, tensor<12xi8>
}

// A recurrence: the old state is read in another order than the next is written, so that is copied at the end; each step
// puts its output where it belongs. The branch that changes nothing costs nothing.
func.func @recurrence(%x: tensor<3x4xi8>, %h: tensor<4xi8>) -> (tensor<3x4xi8>, tensor<4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x4xi8>
  %0:2 = scf.for %t = %c0 to %c3 step %c1 iter_args(%all = %e, %state = %h) -> (tensor<3x4xi8>, tensor<4xi8>) {
    %row = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<3x4xi8> to tensor<4xi8>
    %e1 = tensor.empty() : tensor<4xi8>
    %next = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (3 - a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%row, %state : tensor<4xi8>, tensor<4xi8>) outs(%e1 : tensor<4xi8>) {
    ^bb0(%p: i8, %q: i8, %old: i8):
      %r = arith.addi %p, %q : i8
      linalg.yield %r : i8
    } -> tensor<4xi8>
    %first = arith.cmpi eq, %t, %c0 : index
    %kept = scf.if %first -> (tensor<4xi8>) {
      %v = tensor.extract %next[%c1] : tensor<4xi8>
      %changed = tensor.insert %v into %next[%c0] : tensor<4xi8>
      scf.yield %changed : tensor<4xi8>
    } else {
      scf.yield %next : tensor<4xi8>
    }
    %more = tensor.insert_slice %kept into %all[%t, 0] [1, 4] [1, 1] : tensor<4xi8> into tensor<3x4xi8>
    scf.yield %more, %kept : tensor<3x4xi8>, tensor<4xi8>
  }
  func.return %0#0, %0#1 : tensor<3x4xi8>, tensor<4xi8>
}

// The next state is written over this one, element by element: nothing is copied but the first state.
func.func @carried(%x: tensor<3x4xi8>, %h: tensor<4xi8>) -> tensor<4xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = scf.for %t = %c0 to %c3 step %c1 iter_args(%state = %h) -> (tensor<4xi8>) {
    %row = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<3x4xi8> to tensor<4xi8>
    %e1 = tensor.empty() : tensor<4xi8>
    %next = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%row, %state : tensor<4xi8>, tensor<4xi8>) outs(%e1 : tensor<4xi8>) {
    ^bb0(%p: i8, %q: i8, %old: i8):
      %r = arith.addi %p, %q : i8
      linalg.yield %r : i8
    } -> tensor<4xi8>
    scf.yield %next : tensor<4xi8>
  }
  func.return %0 : tensor<4xi8>
}

// Two states that change places go through memory of their own, as if both were copied at once.
func.func @swap(%x: tensor<4xi8>, %y: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:2 = scf.for %t = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xi8>, tensor<4xi8>) {
    scf.yield %b, %a : tensor<4xi8>, tensor<4xi8>
  }
  func.return %0#0, %0#1 : tensor<4xi8>, tensor<4xi8>
}

// A function that is called writes into memory of its caller; scalars are returned. A test reads memory.
func.func private @callee(%x: tensor<4xi8>) -> (tensor<4xi8>, i8) {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0] : tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %1 = linalg.fill ins(%0 : i8) outs(%e : tensor<4xi8>) -> tensor<4xi8>
  func.return %1, %0 : tensor<4xi8>, i8
}
func.func @caller() -> tensor<4xi8> {
  %x = arith.constant dense<5> : tensor<4xi8>
  %0, %1 = func.call @callee(%x) : (tensor<4xi8>) -> (tensor<4xi8>, i8)
  check.expect_eq %0, %x : tensor<4xi8>
  %2 = linalg.fill ins(%1 : i8) outs(%0 : tensor<4xi8>) -> tensor<4xi8>
  func.return %2 : tensor<4xi8>
}

// CHECK: "memref.global"() <{sym_name = "w", type = memref<2x4xi8>, initial_value = dense<{{\[\[}}1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "table", type = memref<4xi8>, initial_value = dense<[7, 8, 9, 10]> : tensor<4xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "x", type = memref<4xi8>, initial_value = dense<5> : tensor<4xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-LABEL: @results(
// CHECK-SAME: [[V0:%.+]]: memref<2x2xi8> {nn.name = "image", nn.element = ui8}, [[V1:%.+]]: memref<4xi8> {nn.result, nn.name = "flat"}, [[V2:%.+]]: memref<2x2xi8> {nn.result}, [[V3:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V4:%.+]] = kernel.reshape [[V1]] : memref<4xi8> to memref<2x2xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<2x2xi8>) outs([[V4]] : memref<2x2xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK: [[V7:%.+]] = kernel.reshape [[V4]] : memref<2x2xi8> to memref<4xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<2x2xi8>) outs([[V2]] : memref<2x2xi8>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V8]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V7]] : memref<4xi8>) outs([[V3]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK: func.return
// CHECK-LABEL: @contraction(
// CHECK-SAME: [[V0:%.+]]: memref<1x3x4xi8>, [[V1:%.+]]: memref<1x3x2xi8>, [[V2:%.+]]: memref<1x3x2xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = memref.get_global @w : memref<2x4xi8>
// CHECK-NEXT: [[V4:%.+]] = memref.get_global @w : memref<2x4xi8>
// CHECK-NEXT: [[V5:%.+]] = memref.get_global @table : memref<4xi8>
// CHECK-NEXT: [[V6:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x3x2xi8>
// CHECK-NEXT: kernel.matmul ins([[V0]], [[V3]] : memref<1x3x4xi8>, memref<2x4xi8>) outs([[V6]] : memref<1x3x2xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V9:%.+]] = arith.andi [[V7]], [[V8]] : i32
// CHECK-NEXT: [[V10:%.+]] = arith.index_cast [[V9]] : i32 to index
// CHECK-NEXT: [[V11:%.+]] = memref.load [[V5]][[[V10]]] : memref<4xi8>
// CHECK-NEXT: kernel.yield [[V11]] : i8
// CHECK: [[V12:%.+]] = kernel.reshape [[V6]] : memref<1x3x2xi8> to memref<3x2xi8>
// CHECK-NEXT: [[V13:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<3x4xi8>
// CHECK-NEXT: [[V14:%.+]] = memref.subview [[V13]][0, 0] [3, 2] [1, 1] : memref<3x4xi8> to memref<3x2xi8, strided<[4, 1]>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V12]] : memref<3x2xi8>) outs([[V14]] : memref<3x2xi8, strided<[4, 1]>>) {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i8, [[V16:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK: [[V17:%.+]] = memref.subview [[V13]][0, 2] [3, 2] [1, 1] : memref<3x4xi8> to memref<3x2xi8, strided<[4, 1], offset: 2>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V12]] : memref<3x2xi8>) outs([[V17]] : memref<3x2xi8, strided<[4, 1], offset: 2>>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK: [[V20:%.+]] = kernel.reshape [[V13]] : memref<3x4xi8> to memref<1x3x4xi8>
// CHECK-NEXT: kernel.matmul ins([[V20]], [[V4]] : memref<1x3x4xi8>, memref<2x4xi8>) epilogue([[V1]] : memref<1x3x2xi8>) outs([[V2]] : memref<1x3x2xi8>) attributes {epilogue_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>]} {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i32, [[V22:%.+]]: i8):
// CHECK-NEXT: [[V23:%.+]] = arith.trunci [[V21]] : i32 to i8
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V23]], [[V22]] : i8
// CHECK-NEXT: kernel.yield [[V24]] : i8
// CHECK: func.return
// CHECK-LABEL: @concat_in_a_border(
// CHECK-SAME: [[V0:%.+]]: memref<2x3xi8>, [[V1:%.+]]: memref<6x4xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V1]] : memref<6x4xi8>)
// CHECK-NEXT: [[V3:%.+]] = memref.subview [[V1]][1, 1] [4, 3] [1, 1] : memref<6x4xi8> to memref<4x3xi8, strided<[4, 1], offset: 5>>
// CHECK-NEXT: [[V4:%.+]] = memref.subview [[V3]][0, 0] [2, 3] [1, 1] : memref<4x3xi8, strided<[4, 1], offset: 5>> to memref<2x3xi8, strided<[4, 1], offset: 5>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<2x3xi8>) outs([[V4]] : memref<2x3xi8, strided<[4, 1], offset: 5>>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = memref.subview [[V3]][2, 0] [2, 3] [1, 1] : memref<4x3xi8, strided<[4, 1], offset: 5>> to memref<2x3xi8, strided<[4, 1], offset: 13>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]] : memref<2x3xi8, strided<[4, 1], offset: 5>>) outs([[V8]] : memref<2x3xi8, strided<[4, 1], offset: 13>>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: [[V11:%.+]] = arith.muli [[V9]], [[V9]] : i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK: func.return
// CHECK-LABEL: @in_turn(
// CHECK-SAME: memref<4xi8>, [[V1:%.+]]: memref<12xi8> {nn.result})
// CHECK-NOT: memref.alloc
// CHECK: memref.subview [[V1]][0] [4] [3]
// CHECK-NOT: memref.alloc
// CHECK: memref.subview [[V1]][1] [4] [3]
// CHECK-NOT: memref.alloc
// CHECK: memref.subview [[V1]][2] [4] [3]
// CHECK: arith.subi
// CHECK-NOT: linalg.generic
// CHECK: func.return
// CHECK-LABEL: @old_value_is_used(
// CHECK-SAME: [[V0:%.+]]: memref<4xi8>, [[V1:%.+]]: memref<4xi8> {nn.result}, [[V2:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant 7 : i8
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V2]] : memref<4xi8>)
// CHECK-NEXT: [[V5:%.+]] = memref.load [[V0]][[[V4]]] : memref<4xi8>
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V1]] : memref<4xi8>)
// CHECK-NEXT: memref.store [[V5]], [[V1]][[[V4]]] : memref<4xi8>
// CHECK-NEXT: func.return
// CHECK-LABEL: @unread_destination(
// CHECK-SAME: [[V0:%.+]]: memref<4xi8>, [[V1:%.+]]: memref<4xi8> {nn.result}, [[V2:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<4xi8>) outs([[V1]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: arith.addi
// CHECK-NEXT: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<4xi8>) outs([[V2]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: arith.muli
// CHECK-NEXT: linalg.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return
// CHECK-LABEL: @over_what_is_read(
// CHECK-SAME: [[V0:%.+]]: memref<8xi8>, [[V1:%.+]]: memref<4xi8> {nn.result})
// CHECK: [[V2:%.+]] = memref.subview {{.+}}[0] [4] [1]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V2]] : memref<4xi8, strided<[1]>>) outs([[V1]] : memref<4xi8>) {
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]] : memref<4xi8>) outs([[V1]] : memref<4xi8>) {
// CHECK-NOT: linalg.generic
// CHECK: func.return
// CHECK-LABEL: @reduction_and_slices(
// CHECK-SAME: [[V0:%.+]]: memref<4x6xi8>, [[V1:%.+]]: memref<4xi8> {nn.result}, [[V2:%.+]]: memref<12xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V1]] : memref<4xi8>)
// CHECK-NEXT: [[V4:%.+]] = memref.subview [[V0]][0, 3] [4, 3] [1, 1] : memref<4x6xi8> to memref<4x3xi8, strided<[6, 1], offset: 3>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : memref<4x3xi8, strided<[6, 1], offset: 3>>) outs([[V1]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V6]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4x3xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]] : memref<4x3xi8, strided<[6, 1], offset: 3>>) outs([[V8]] : memref<4x3xi8>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK: [[V11:%.+]] = kernel.reshape [[V8]] : memref<4x3xi8> to memref<12xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]] : memref<12xi8>) outs([[V2]] : memref<12xi8>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK: func.return
// CHECK-LABEL: @recurrence(
// CHECK-SAME: [[V0:%.+]]: memref<3x4xi8>, [[V1:%.+]]: memref<4xi8>, [[V2:%.+]]: memref<3x4xi8> {nn.result}, [[V3:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]] : memref<4xi8>) outs([[V3]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: [[V9:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: scf.for [[V10:%.+]] = [[V4]] to [[V6]] step [[V5]] {
// CHECK-NEXT: [[V11:%.+]] = memref.subview [[V0]][[[V10]], 0] [1, 4] [1, 1] : memref<3x4xi8> to memref<4xi8, strided<[1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (((d0 * -1) + 3))>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]], [[V3]] : memref<4xi8, strided<[1], offset: ?>>, memref<4xi8>) outs([[V9]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.addi [[V12]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK: [[V16:%.+]] = arith.cmpi eq, [[V10]], [[V4]] : index
// CHECK-NEXT: scf.if [[V16]] {
// CHECK-NEXT: [[V17:%.+]] = memref.load [[V9]][[[V5]]] : memref<4xi8>
// CHECK-NEXT: memref.store [[V17]], [[V9]][[[V4]]] : memref<4xi8>
// CHECK-NEXT: } else {
// CHECK: [[V18:%.+]] = memref.subview [[V2]][[[V10]], 0] [1, 4] [1, 1] : memref<3x4xi8> to memref<4xi8, strided<[1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V9]] : memref<4xi8>) outs([[V18]] : memref<4xi8, strided<[1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V9]] : memref<4xi8>) outs([[V3]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i8, [[V22:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V21]] : i8
// CHECK: func.return
// CHECK-LABEL: @carried(
// CHECK-SAME: [[V0:%.+]]: memref<3x4xi8>, [[V1:%.+]]: memref<4xi8>, [[V2:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 3 : index
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]] : memref<4xi8>) outs([[V2]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK: scf.for [[V8:%.+]] = [[V3]] to [[V5]] step [[V4]] {
// CHECK-NEXT: [[V9:%.+]] = memref.subview [[V0]][[[V8]], 0] [1, 4] [1, 1] : memref<3x4xi8> to memref<4xi8, strided<[1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V9]], [[V2]] : memref<4xi8, strided<[1], offset: ?>>, memref<4xi8>) outs([[V2]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.addi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK: func.return
// CHECK-LABEL: @swap(
// CHECK-SAME: [[V0:%.+]]: memref<4xi8>, [[V1:%.+]]: memref<4xi8>, [[V2:%.+]]: memref<4xi8> {nn.result}, [[V3:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<4xi8>) outs([[V2]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]] : memref<4xi8>) outs([[V3]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK: [[V11:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: [[V12:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: scf.for [[V13:%.+]] = [[V4]] to [[V6]] step [[V5]] {
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V3]] : memref<4xi8>) outs([[V11]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V14]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V2]] : memref<4xi8>) outs([[V12]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V16:%.+]]: i8, [[V17:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V16]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]] : memref<4xi8>) outs([[V2]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V12]] : memref<4xi8>) outs([[V3]] : memref<4xi8>) {
// CHECK-NEXT: ^bb0([[V20:%.+]]: i8, [[V21:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK: func.return
// CHECK-LABEL: @callee(
// CHECK-SAME: [[V0:%.+]]: memref<4xi8>, [[V1:%.+]]: memref<4xi8> {nn.result}) -> i8
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = memref.load [[V0]][[[V2]]] : memref<4xi8>
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V1]] : memref<4xi8>)
// CHECK-NEXT: func.return [[V3]] : i8
// CHECK-LABEL: @caller(
// CHECK-SAME: [[V0:%.+]]: memref<4xi8> {nn.result})
// CHECK-NEXT: [[V1:%.+]] = memref.get_global @x : memref<4xi8>
// CHECK-NEXT: [[V2:%.+]] = func.call @callee([[V1]], [[V0]]) : (memref<4xi8>, memref<4xi8>) -> i8
// CHECK-NEXT: check.expect_eq [[V0]], [[V1]] : memref<4xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V0]] : memref<4xi8>)
// CHECK-NEXT: func.return
