// RUN: not qmlir-opt %s -p apply-pdl 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not qmlir-opt %s -p 'apply-pdl{named=nobody}' 2>&1 | filecheck %s --check-prefix=NAMED
// RUN: not qmlir-opt %s -p 'apply-pdl{file=%s}' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not qmlir-opt %s -p 'apply-pdl{file=no.mlir}' 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not qmlir-opt %s -p 'apply-pdl{keeps=all}' 2>&1 | filecheck %s --check-prefix=KEEPS
// RUN: not qmlir-opt %s --verify-each=exec --pdl-file %S/../../tools/qmlir_opt/Inputs/relu_to_abs.pdl.mlir 2>&1 | filecheck %s --check-prefix=EXEC
// RUN: qmlir-opt %s --verify-each=exec -p 'apply-pdl{keeps=meaning file="%S/../../tools/qmlir_opt/Inputs/relu_to_abs.pdl.mlir"}' | filecheck %s
// RUN: not qmlir-opt %s --pdl-file %S/Inputs/endless.pdl.mlir 2>&1 | filecheck %s --check-prefix=ENDLESS
// NONE: error: apply-pdl: pass `file` or `named`, or put patterns into the module
// NAMED: error: no patterns named 'nobody' (available: none; no installed package provides patterns)
// EMPTY: error: '{{.*}}apply_pdl_errors.mlir' contains no pdl.pattern
// FILE: error: cannot read 'no.mlir': No such file or directory
// KEEPS: error: apply-pdl: keeps must be one of bits, rounded, meaning, but got 'all'
// ENDLESS: error: 'builtin.module' op rewriting did not converge within 4096 rewrites; most frequent patterns: '@again' (4097 times)

// A pattern that changes a number is caught, unless it says that it means to.
// EXEC: error: {{.*}}'apply-pdl'
// CHECK: nn.abs
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  func.return %0 : tensor<2xf32>
}
