// RUN: qmlir-opt %s -p cse --verify-roundtrip | filecheck %s
// RUN: not qmlir-opt %s --load-plugin tests.support.unreadable_pass:UnreadablePass -p make-unreadable --verify-roundtrip 2>&1 | filecheck %s --check-prefix=UNREADABLE
// CHECK: nn.relu
// UNREADABLE: error: 'builtin.module' op the text that it prints does not round-trip: parsing it returns another module (after pass 'make-unreadable')

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
