// RUN: qmlir-opt --list-targets | filecheck %s
// RUN: qmlir-opt --load-plugin tests.support.targets:CONTRIBUTION --list-targets 2>&1 | filecheck %s --check-prefix=PLUGIN

// CHECK: cpu  [qmlir]
// CHECK-NEXT: this machine: loops over registers, compiled by numba
// CHECK-NEXT: keeps: softmax, log_softmax
// CHECK-NEXT: computes: *
// CHECK-NEXT: raises: *
// CHECK-NEXT: lowers by: compile
// CHECK-NEXT: emits: files *.py

// One that does not load is said to, and the others are listed all the same.
// PLUGIN: warning: {{.*}}'absent'
// PLUGIN: absent  [tests.support.targets:CONTRIBUTION]
// PLUGIN-NEXT: does not load
// PLUGIN: toy  [tests.support.targets:CONTRIBUTION]
// PLUGIN-NEXT: a device for tests
// PLUGIN-NEXT: computes: nn.matmul, nn.conv, nn.add, nn.relu, nn.max_pool
// PLUGIN-NEXT: rescales by: shift:even
// PLUGIN-NEXT: lowers by: canonicalize,dce
// PLUGIN-NEXT: emits: files *.toy
func.func private @f()
