func.func @main(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]]> : tensor<2x4xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = "fc1.bias"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1", op_type = "Gemm"}
  %1 = nn.relu %0 : tensor<1x2xf32> {origin = "relu1", op_type = "Relu"}
  func.return %1 : tensor<1x2xf32>
}
