// RUN: not qmlir-opt %s -p 'func.func(cse,verify-level{level=loops})' --crash-reproducer=%t.repro 2> %t.err
// RUN: filecheck %s --input-file=%t.repro
// RUN: not qmlir-opt %t.repro --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not qmlir-opt %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module --crash-reproducer=%t.broken 2> %t.err
// RUN: filecheck %s --input-file=%t.broken --check-prefix=BROKEN
// CHECK: // qmlir-opt reproducer: -p builtin.module(func.func(verify-level{level="loops"}))
// CHECK: func.func @main
// AGAIN: error: 'func.func' op level 'loops' allows only values of type memref, unranked_memref, vector, but got tensor<2xf32>
// What the verifier refuses has a reproducer too, with the module as it was before the pass.
// BROKEN: // qmlir-opt reproducer: -p builtin.module(break-module)
// BROKEN: nn.relu {{.*}} : tensor<2xf32>
// NONE: error: the input is not a reproducer
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  func.return %x : tensor<2xf32>
}
