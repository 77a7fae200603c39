func.func @main(%x: tensor<2x8xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25, 0.0, 1.5, -0.5, 1.0], [0.0, 3.0, -1.5, 2.0, 1.0, -1.0, 0.5, 0.75]]> : tensor<2x8xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = "fc1.bias"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>) -> tensor<2x2xf32> {origin = "fc1"}
  %1 = nn.relu %0 : tensor<2x2xf32> {origin = "relu1"}
  func.return %1 : tensor<2x2xf32>
}
