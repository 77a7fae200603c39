// RUN: qmlir-opt %s -p 'func.func(cse,dce),canonicalize{budget=3}' --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=PIPELINE --match-full-lines
// RUN: qmlir-opt %s --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: qmlir-opt %s -p 'func.func(cse),dce' --opt-bisect-limit=1 2>&1 | filecheck %s --check-prefixes=ONE
// RUN: qmlir-opt %s -p 'func.func(cse),dce' --opt-bisect-limit=0 2>&1 | filecheck %s --check-prefixes=NONE
// RUN: qmlir-opt %s -p 'func.func(cse),dce' --opt-bisect-limit=-1 2>&1 | filecheck %s --check-prefixes=ALL
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p cse,break-module --opt-bisect-limit=2 2>&1 | filecheck %s --check-prefix=FAULT
// RUN: qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass -p cse,break-module --opt-bisect-limit=1 --verify-each=exec | filecheck %s --check-prefix=SOUND
// RUN: not qmlir-opt %s --opt-bisect-limit=-2 2>&1 | filecheck %s --check-prefix=NEGATIVE

//      PIPELINE:Pass Manager with 2 passes:
// PIPELINE-NEXT:builtin.module(
// PIPELINE-NEXT:  func.func(
// PIPELINE-NEXT:    cse,
// PIPELINE-NEXT:    dce
// PIPELINE-NEXT:  ),
// PIPELINE-NEXT:  canonicalize{budget=3}
// PIPELINE-NEXT:)
// NOTHING: Pass Manager with 0 passes:

//      ONE: BISECT: running pass (1) cse on 'func.func' operation: @main
// ONE-NEXT: BISECT: NOT running pass (2) cse on 'func.func' operation: @other
// ONE-NEXT: BISECT: NOT running pass (3) dce on 'builtin.module' operation
// ONE-LABEL: func.func @main
// ONE-NEXT: nn.relu
// ONE-NEXT: nn.add
// ONE-LABEL: func.func @other
// ONE-NEXT: nn.relu
// ONE-NEXT: nn.relu
// NONE-NOT: BISECT: running
// NONE-LABEL: func.func @main
// NONE-NEXT: nn.relu
// NONE-NEXT: nn.relu
// ALL-NOT: NOT running
// ALL: BISECT: running pass (3) dce on 'builtin.module' operation
// FAULT: BISECT: running pass (2) break-module on 'builtin.module' operation
// FAULT: error: {{.*}}(after pass 'break-module')
// SOUND-LABEL: func.func @main
// NEGATIVE: error: --opt-bisect-limit must be >= -1, but got -2

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
