// RUN: qmlir-opt %s -p 'func.func(cse,dce)' --print-ir-before=cse 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-after=dce 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-before-all --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ALL
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: not qmlir-opt %s -p 'verify-level{level=loops}' --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FAILURE
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-after-all --print-ir-tree-dir=%t.tree && filecheck %s --input-file=%t.tree/000_after_cse.mlir --check-prefix=TREE
// RUN: qmlir-opt %s -p 'func.func(cse)' --print-ir-tree-dir=%t.nested && filecheck %s --input-file=%t.nested/func_func_main/000_after_cse.mlir --check-prefix=TREE
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-before=cse,dce 2>&1 | filecheck %s --check-prefix=SEVERAL
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p break-module --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: qmlir-opt %s -p 'cse,dce' --print-ir-after-all 2> %t.log | filecheck %s --check-prefix=STDOUT

// BEFORE: // -----// IR dump before cse //----- //
// BEFORE-NEXT: func.func @main
// AFTER-NOT: after cse
// AFTER: IR dump after dce
// ALL: before cse
// ALL: after cse
// ALL: before dce
// ALL: after dce
// CHANGE: after cse
// CHANGE-NOT: after dce
// FAILURE: after failure of verify-level{level="loops"}
// SEVERAL: before cse
// SEVERAL: before dce
// REFUSED: after failure of break-module
// REFUSED: tensor<3xf32>
// TREE: IR dump after cse
// STDOUT-NOT: IR dump

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
