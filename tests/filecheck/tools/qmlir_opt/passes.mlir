// RUN: qmlir-opt %s -p 'builtin.module(func.func(cse,canonicalize{budget=10}),dce)' | filecheck %s
// RUN: qmlir-opt %s --pass-pipeline=cse | filecheck %s
// RUN: not qmlir-opt %s -p csee 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not qmlir-opt %s -p 'canonicalize{budgte=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not qmlir-opt %s -p 'func.func(cse' 2>&1 | filecheck %s --check-prefix=CUT
// RUN: not qmlir-opt %s -p 'cse)' 2>&1 | filecheck %s --check-prefix=CLOSE
// RUN: not qmlir-opt %s -p 'cse,,dce' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not qmlir-opt %s -p verify-level 2>&1 | filecheck %s --check-prefix=REQUIRED

// NAME: error: in the pass pipeline: no pass 'csee', did you mean 'cse'?
// OPTION: error: in the pass pipeline: pass 'canonicalize' has no option 'budgte', did you mean 'budget'? (it has: budget: int)
// CUT: error: in the pass pipeline: 'func.func(cse' is cut off
// CLOSE: error: in the pass pipeline: column 4: ')' closes nothing in 'cse)'
// EMPTY: error: in the pass pipeline: a pass is missing between commas in 'cse,,dce'
// REQUIRED: error: in the pass pipeline: pass 'verify-level': {{.*}}level

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
// CHECK-LABEL: @main
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.add
