// RUN: qmlir-opt --show-dialects | filecheck %s
// CHECK: arith  [xdsl]
// CHECK: calib  [qmlir]
// CHECK: check  [qmlir]
// CHECK: nn  [qmlir]
// CHECK: quant  [qmlir]
