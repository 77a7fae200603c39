// RUN: not qmlir-opt %s -p 'func.func(cse,verify-level{level=loops})' --crash-reproducer=%t.repro 2> %t.err
// RUN: cat %t.repro | filecheck %s
// RUN: not qmlir-opt %t.repro --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not qmlir-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// CHECK: // qmlir-opt reproducer: -p builtin.module(func.func(verify-level{level="loops"}))
// CHECK: func.func @main
// AGAIN: at level 'loops'
// NONE: error: the input is no reproducer
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
