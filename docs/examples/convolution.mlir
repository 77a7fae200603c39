// A convolution with a bias and a relu: what `make tour` takes through all levels.
func.func @main(%image: tensor<1x2x4x4xf32> {nn.name = "image"}) -> (tensor<1x3x4x4xf32> {nn.name = "features"}) {
  %weight = nn.constant dense<[[[[0.5, -0.25], [0.0, 0.75]], [[0.125, 0.5], [-0.5, 0.25]]], [[[1.0, -1.0], [0.5, 0.5]], [[0.25, -0.75], [0.0, 0.5]]], [[[-0.5, 0.25], [0.75, 0.0]], [[1.0, 0.5], [-0.25, -0.5]]]]> : tensor<3x2x2x2xf32> {origin = "conv1.weight"}
  %bias = nn.constant dense<[0.125, -0.25, 0.5]> : tensor<3xf32> {origin = "conv1.bias"}
  %0 = nn.conv %image, %weight, %bias {pads = array<i64: 0, 0, 1, 1>} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32> {origin = "conv1", op_type = "Conv"}
  %features = nn.relu %0 : tensor<1x3x4x4xf32> {origin = "relu1", op_type = "Relu"}
  func.return %features : tensor<1x3x4x4xf32>
}
