// RUN: qmlir-opt %s -p cse --pass-statistics 2>&1 | filecheck %s
// CHECK: ===== pass statistics =====
// CHECK-NEXT: cse: 1 operations merged

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
