// RUN: qmlir-opt %s -p 'builtin.module(func.func(cse,canonicalize{budget=10}),dce)' | filecheck %s
// RUN: qmlir-opt %s --pass-pipeline=cse | filecheck %s
// RUN: not qmlir-opt %s -p csee 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not qmlir-opt %s -p 'canonicalize{budgte=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not qmlir-opt %s -p 'func.func(cse' 2>&1 | filecheck %s --check-prefix=CUT
// RUN: not qmlir-opt %s -p 'cse)' 2>&1 | filecheck %s --check-prefix=CLOSE
// RUN: not qmlir-opt %s -p 'cse,,dce' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not qmlir-opt %s -p verify-level 2>&1 | filecheck %s --check-prefix=REQUIRED
// RUN: not qmlir-opt %s -p 'func.fun(cse)' 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not qmlir-opt %s -p 'canonicalize{budget=1 budget=2}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not qmlir-opt %s -p 'cse,builtin.module(dce)' 2>&1 | filecheck %s --check-prefix=OUTER

// NAME: error: in the pass pipeline: column 1: unknown pass 'csee'; did you mean 'cse'?
// OPTION: error: in the pass pipeline: column 14: pass 'canonicalize' has no option 'budgte'; did you mean 'budget'? (available: budget: int)
// CUT: error: in the pass pipeline: column 14: expected ',' or ')', but got the end
// CLOSE: error: in the pass pipeline: column 4: expected ',', but got ')'
// EMPTY: error: in the pass pipeline: column 5: expected a pass, but got ','
// REQUIRED: error: in the pass pipeline: column 1: pass 'verify-level' requires level: str
// ANCHOR: error: in the pass pipeline: unknown operation 'func.fun'; did you mean 'func.func'?
// TWICE: error: in the pass pipeline: column 23: duplicate option 'budget'
// OUTER: error: in the pass pipeline: column 5: 'builtin.module({{.*}})' must enclose the whole pipeline

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.add
