// RUN: qmlir-opt %s -p 'func.func(cse),dce' --timing 2>&1 | filecheck %s
// CHECK: ===== execution time =====
// CHECK: s {{.*}}%  parse
// CHECK-NEXT: s {{.*}}%  verify
// CHECK-NEXT: s {{.*}}%  'func.func' pipeline
// CHECK-NEXT: s {{.*}}%    cse
// CHECK-NEXT: s {{.*}}%  dce
// CHECK-NEXT: s {{.*}}%  write

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
