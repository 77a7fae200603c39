// RUN: qmlir-opt %s -p quant-simulate | filecheck %s

// The constant holds codes whose rounding is learned: they are neither divided by the scale nor rounded.
// CHECK: func.func @main(%[[x:.*]]: tensor<2xf32> {nn.name = "x"}, %[[w:.*]]: tensor<2xf32> {nn.name = "w", nn.trainable = dense<[1.500000e+00, 2.000000e+00]> : tensor<2xf32>})
// CHECK-NOT: nn.round
// CHECK: %[[codes:.*]] = nn.add %[[w]], %{{.*}} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: %[[y:.*]] = nn.mul %{{.*}}, %[[codes]] : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: nn.add %[[x]], %[[y]]
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> tensor<2xf32> {
  %w = nn.constant dense<[1.5, 2.0]> : tensor<2xf32> {origin = "w", nn.trainable}
  %0 = quant.qcast %w {quant.soft} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
  %1 = quant.dcast %0 : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  %2 = nn.add %x, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
