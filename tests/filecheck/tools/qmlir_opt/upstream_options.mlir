// RUN: qmlir-opt %s -pass-pipeline='builtin.module(cse)' -mlir-print-ir-before-all --mlir-print-ir-after=cse -mlir-timing --mlir-pass-statistics --verify-each=0 2>&1 | filecheck %s
// RUN: qmlir-opt %s --pass-pipeline=cse --mlir-print-ir-after-change --mlir-print-ir-tree-dir=%t.tree && filecheck %s --input-file=%t.tree/000_after_cse.mlir --check-prefix=TREE
// RUN: not qmlir-opt %s -p 'verify-level{level=loops}' --mlir-print-ir-after-failure --mlir-pass-pipeline-crash-reproducer=%t.failed.mlir 2>&1 | filecheck %s --check-prefix=FAILURE
// RUN: filecheck %s --input-file=%t.failed.mlir --check-prefix=REPRODUCER
// RUN: not qmlir-opt %s -p cse --mlir-print-ir-after=cse,canonicalise 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not qmlir-opt %s -p cse --print-ir-before= 2>&1 | filecheck %s --check-prefix=NAMELESS
// RUN: qmlir-opt %s -p no-pass -p cse,dce -p cse --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=LAST
// RUN: qmlir-opt /dev/null | filecheck %s --check-prefix=EMPTY
// RUN: qmlir-opt /dev/null --split-input-file -p cse | filecheck %s --check-prefix=EMPTY

// CHECK: IR dump before cse
// CHECK: IR dump after cse
// CHECK: pass statistics
// CHECK: execution time
// TREE: IR dump after cse
// FAILURE: IR dump after failure of verify-level
// REPRODUCER: verify-level
// UNKNOWN: error: --print-ir-after: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// NAMELESS: error: --print-ir-before: unknown pass ''
// LAST: warning: --pass-pipeline is given 3 times; ignoring 'no-pass', 'cse,dce'
// LAST-NOT: dce //
// LAST: IR dump after cse
// EMPTY: builtin.module {
// EMPTY-NEXT: }
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
