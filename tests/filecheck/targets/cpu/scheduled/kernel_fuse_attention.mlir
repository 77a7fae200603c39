// RUN: qmlir-opt %s -p kernel-fuse-attention | filecheck %s
// RUN: qmlir-opt %s -p "kernel-fuse-attention,kernel-bufferize" | filecheck %s --check-prefix=LOOPS
// RUN: qmlir-opt %s -p 'kernel-fuse-attention,kernel-fuse-attention' -o %t.twice && qmlir-opt %s -p kernel-fuse-attention | diff %t.twice -
// RUN: qmlir-opt %s -p 'kernel-fuse-attention,kernel-bufferize,kernel-outline,kernel-plan-memory' --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#head = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>

// An attention: each product has a matrix for each of two heads, and nothing else needs what is between them. The first
// product joins in front, the second behind; what it needs of its own is computed before all of them.
func.func @attention(%q: tensor<1x2x16x8xi8>, %k: tensor<2x1x8x16xi32>, %v: tensor<1x2x8xi32>, %w: tensor<2x1x16x8xi32>) -> tensor<1x2x16x8xi8> {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<1x2x16xi8>
  %y = tensor.empty() : tensor<1x2x16x16xi8>
  %scores = kernel.packed_matmul ins(%q, %k : tensor<1x2x16x8xi8>, tensor<2x1x8x16xi32>) -> tensor<1x2x16x16xi8> attributes {origin = "scores", schedule = #kernel.schedule<rows = 4, threads = true>, layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<1x2x16x16xi8>) -> tensor<1x2x16x16xi8> attributes {rows = array<i64: 2, 16>} {
  ^bb0(%z: tensor<1x2x16x16xi8>):
    %f = linalg.fill ins(%least : i8) outs(%e : tensor<1x2x16xi8>) -> tensor<1x2x16xi8>
    %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%scores : tensor<1x2x16x16xi8>) outs(%f : tensor<1x2x16xi8>) attrs = {origin = "softmax"} {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.maxsi %a, %o : i8
      linalg.yield %1 : i8
    } -> tensor<1x2x16xi8>
    %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores, %m : tensor<1x2x16x16xi8>, tensor<1x2x16xi8>) outs(%z : tensor<1x2x16x16xi8>) attrs = {origin = "softmax"} {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %1 = arith.subi %a, %b : i8
      linalg.yield %1 : i8
    } -> tensor<1x2x16x16xi8>
    kernel.yield %d : tensor<1x2x16x16xi8>
  }
  %u = tensor.empty() : tensor<1x2x8xi32>
  %twice = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : tensor<1x2x8xi32>) outs(%u : tensor<1x2x8xi32>) attrs = {origin = "bias"} {
  ^bb0(%a: i32, %o: i32):
    %2 = arith.addi %a, %a : i32
    linalg.yield %2 : i32
  } -> tensor<1x2x8xi32>
  %p = kernel.packed_matmul ins(%r, %w : tensor<1x2x16x16xi8>, tensor<2x1x16x8xi32>) epilogue(%twice : tensor<1x2x8xi32>) -> tensor<1x2x16x8xi8> attributes {origin = "context", epilogue_maps = [#head], schedule = #kernel.schedule<rows = 4>, layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 8>} {
  ^bb0(%sum: i32, %b: i32):
    %3 = arith.addi %sum, %b : i32
    %4 = arith.trunci %3 : i32 to i8
    kernel.yield %4 : i8
  }
  func.return %p : tensor<1x2x16x8xi8>
}
// CHECK-LABEL: func.func @attention
// CHECK: %twice = linalg.generic
// CHECK: %[[OWN:.*]] = tensor.empty() : tensor<1x2x16x8xi8>
// CHECK-NEXT: %[[ALL:.*]] = kernel.row_fusion outs(%[[OWN]] : tensor<1x2x16x8xi8>) -> tensor<1x2x16x8xi8> attributes {rows = array<i64: 2, 16>}
// CHECK: %scores = kernel.packed_matmul ins(%q, %k
// CHECK: linalg.fill
// CHECK: %m = linalg.generic {{.*}} ins(%scores
// CHECK: %d = linalg.generic {{.*}} ins(%scores, %m : {{.*}} outs(%y
// CHECK: %[[LAST:.*]] = kernel.packed_matmul ins(%d, %w : {{.*}} epilogue(%twice
// CHECK: kernel.yield %[[LAST]] : tensor<1x2x16x8xi8>
// CHECK: func.return %[[ALL]]

// By constants, which all rows share, a product stays where it is; so does what two operations read.
func.func @shared(%q: tensor<2x16x8xi8>, %k: tensor<2x1x8x16xi32>) -> (tensor<2x16x16xi8>, tensor<2x16x4xi32>) {
  %w = arith.constant dense<3> : tensor<1x1x16x4xi32>
  %y = tensor.empty() : tensor<2x16x16xi8>
  %scores = kernel.packed_matmul ins(%q, %k : tensor<2x16x8xi8>, tensor<2x1x8x16xi32>) -> tensor<2x16x16xi8> attributes {layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<2x16x16xi8>) -> tensor<2x16x16xi8> attributes {rows = array<i64: 2, 16>} {
  ^bb0(%z: tensor<2x16x16xi8>):
    %d = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scores : tensor<2x16x16xi8>) outs(%z : tensor<2x16x16xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<2x16x16xi8>
    kernel.yield %d : tensor<2x16x16xi8>
  }
  %p = kernel.packed_matmul ins(%r, %w : tensor<2x16x16xi8>, tensor<1x1x16x4xi32>) -> tensor<2x16x4xi32> attributes {layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %scores, %p : tensor<2x16x16xi8>, tensor<2x16x4xi32>
}
// CHECK-LABEL: func.func @shared
// CHECK: kernel.packed_matmul ins(%q, %k
// CHECK: %r = kernel.row_fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: linalg.generic
// CHECK: %p = kernel.packed_matmul ins(%r

// Batches and heads are numbered through where matrices are packed: the matrix of a head is found by both.
func.func @batches(%q: tensor<2x3x16x4xi8>, %k: tensor<6x1x4x16xi32>) -> tensor<2x3x16x16xi8> {
  %y = tensor.empty() : tensor<2x3x16x16xi8>
  %scores = kernel.packed_matmul ins(%q, %k : tensor<2x3x16x4xi8>, tensor<6x1x4x16xi32>) -> tensor<2x3x16x16xi8> attributes {layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<2x3x16x16xi8>) -> tensor<2x3x16x16xi8> attributes {rows = array<i64: 2, 3, 16>} {
  ^bb0(%z: tensor<2x3x16x16xi8>):
    %d = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores : tensor<2x3x16x16xi8>) outs(%z : tensor<2x3x16x16xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<2x3x16x16xi8>
    kernel.yield %d : tensor<2x3x16x16xi8>
  }
  func.return %r : tensor<2x3x16x16xi8>
}
// CHECK-LABEL: func.func @batches
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: kernel.row_fusion {{.*}}rows = array<i64: 2, 3, 16>
// CHECK: packed_matmul ins(%q, %k
// CHECK: linalg.generic

// Three heads share the matrix of their keys: the place of a matrix does not depend on them.
func.func @groups(%q: tensor<2x3x16x4xi8>, %k: tensor<2x1x4x16xi32>) -> tensor<2x3x16x16xi8> {
  %y = tensor.empty() : tensor<2x3x16x16xi8>
  %scores = kernel.packed_matmul ins(%q, %k : tensor<2x3x16x4xi8>, tensor<2x1x4x16xi32>) -> tensor<2x3x16x16xi8> attributes {layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<2x3x16x16xi8>) -> tensor<2x3x16x16xi8> attributes {rows = array<i64: 2, 3, 16>} {
  ^bb0(%z: tensor<2x3x16x16xi8>):
    %d = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores : tensor<2x3x16x16xi8>) outs(%z : tensor<2x3x16x16xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<2x3x16x16xi8>
    kernel.yield %d : tensor<2x3x16x16xi8>
  }
  func.return %r : tensor<2x3x16x16xi8>
}
// CHECK-LABEL: func.func @groups
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: kernel.row_fusion {{.*}}rows = array<i64: 2, 3, 16>
// CHECK: packed_matmul ins(%q, %k

// LOOPS-LABEL: func.func @batches
// LOOPS: scf.for %[[BATCH:.*]] =
// LOOPS: scf.for %[[HEAD:.*]] =
// LOOPS: %[[HEADS:.*]] = arith.constant 3 : index
// LOOPS-NEXT: %[[BEFORE:.*]] = arith.muli %[[BATCH]], %[[HEADS]] : index
// LOOPS-NEXT: %[[PLACE:.*]] = arith.addi %[[BEFORE]], %[[HEAD]] : index
// LOOPS-NEXT: memref.subview %k[%[[PLACE]], 0, 0, 0] [1, 1, 4, 16]
// LOOPS-LABEL: func.func @groups
// LOOPS: scf.for %[[SHARED:.*]] =
// LOOPS: memref.subview %k[%[[SHARED]], 0, 0, 0] [1, 1, 4, 16]
