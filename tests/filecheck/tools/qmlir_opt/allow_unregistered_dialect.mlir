// RUN: qmlir-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not qmlir-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED
// CHECK: "strange.op"()
// REFUSED: allow_unregistered_dialect.mlir:5:{{[0-9]+}}: error: Operation strange.op is not registered
%0 = "strange.op"() : () -> i32
