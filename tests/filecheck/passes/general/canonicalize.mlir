// RUN: qmlir-opt %s -p canonicalize | filecheck %s
// RUN: not qmlir-opt %s -p 'canonicalize{budget=x}' 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: in the pass pipeline: column 14: option 'budget' of pass 'canonicalize' must be int, but got x

// Operations of upstream dialects fold as well, and what nothing uses goes.
func.func @upstream(%x: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %x, %c0 : i32
  %1 = nn.constant dense<1.0> : tensor<2xf32>
  func.return %0 : i32
}

// CHECK-LABEL: @upstream(
// CHECK-SAME: [[V0:%.+]]: i32) -> i32
// CHECK-NEXT: func.return [[V0]] : i32
