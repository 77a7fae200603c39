// RUN: qmlir-opt %s -p 'nn-decompose{keep=fully_connected,softmax accumulator=i16}' | filecheck %s
// RUN: qmlir-opt %s -p 'nn-decompose{keep=fully_connected,softmax}' | filecheck %s --check-prefix=WHOLE

// What says how the product is held is about a part: the layer has parts. A softmax has no product.
// CHECK: nn.matmul
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.softmax
// WHOLE: nn.fully_connected
// WHOLE-NEXT: nn.softmax
func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<1x2xf32> {
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1"}
  %1 = nn.softmax %0 : tensor<1x2xf32> {origin = "sm1"}
  func.return %1 : tensor<1x2xf32>
}
