// RUN: qmlir-opt %s -p 'quant-set-target{targets=cpu}' | filecheck %s
// RUN: qmlir-opt %s -p 'quant-set-target{targets=cpu},quant-set-target' | filecheck %s --check-prefix=NONE
// RUN: not qmlir-opt %s -p 'quant-set-target{targets=cpu,gpu}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not qmlir-opt %s -p 'quant-set-target{targets=cpu,cpu}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not qmlir-opt --split-input-file %S/Inputs/wrong_targets.mlir -p nn-decompose 2>&1 | filecheck %s --check-prefix=WRONG

// UNKNOWN: error: unknown target 'gpu'; did you mean 'cpu'? (available: cpu, interpreter, litert)
// TWICE: error: duplicate target 'cpu'
// WRONG: error: 'builtin.module' op target.specs must be a list of #target.spec<…>, but got ["cpu"]
// WRONG: error: 'builtin.module' op target 'a' is listed twice in target.specs

// CHECK: #t0 = #target.spec<"cpu", keep = ["softmax"
// CHECK: builtin.module attributes {target.specs = [#t0]} {
// NONE: builtin.module {
// NONE-NEXT: func.func private @f()
func.func private @f()
