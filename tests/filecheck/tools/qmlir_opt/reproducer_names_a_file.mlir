// qmlir-opt reproducer: -p builtin.module(cse,kernel-plan-memory{plan_file="reproduced.txt"})
// RUN: not qmlir-opt %s --run-reproducer 2>&1 | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-plan-memory{plan_file="%t.txt"}' | filecheck %s --check-prefix=TYPED
// A file says what runs, and not where something is written; a command line does.
// CHECK: error: in the pass pipeline: option 'plan_file' of pass 'kernel-plan-memory' names a file to write, which a reproducer may not: pass it on the command line, with -p
// TYPED: func.func @main
func.func @main() {
  func.return
}
