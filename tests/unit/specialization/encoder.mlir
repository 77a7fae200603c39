// A layer of an encoder: a product, attention with a mask of -10000, a residual sum, a norm, and the mean of the rows.
func.func @main(%x: tensor<?x?x4xf32> {nn.name = "x", nn.dims = ["n", "s", ""]}) -> tensor<?x4xf32> {
  %w = nn.constant dense<[[0.5, -0.25, 0.125, 1.0], [0.75, 0.5, -1.0, 0.25], [-0.5, 0.5, 0.25, 0.5], [1.0, 0.25, 0.5, -0.75]]> : tensor<4x4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %low = nn.constant dense<-10000.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.fully_connected %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %1 = nn.transpose %0 {permutation = [0, 2, 1]} : (tensor<?x?x4xf32>) -> tensor<?x4x?xf32>
  %2 = nn.matmul %0, %1 : (tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  %3 = nn.reduce_max %x {axes = [2], keep_dims = false} : (tensor<?x?x4xf32>) -> tensor<?x?xf32>
  %4 = nn.greater %3, %zero : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xi1>
  %5 = nn.unsqueeze %4 {axes = [1]} : (tensor<?x?xi1>) -> tensor<?x1x?xi1>
  %6 = nn.where %5, %zero, %low : (tensor<?x1x?xi1>, tensor<f32>, tensor<f32>) -> tensor<?x1x?xf32>
  %7 = nn.add %2, %6 : (tensor<?x?x?xf32>, tensor<?x1x?xf32>) -> tensor<?x?x?xf32>
  %8 = nn.softmax %7 : tensor<?x?x?xf32>
  %9 = nn.matmul %8, %0 : (tensor<?x?x?xf32>, tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %10 = nn.add %9, %x : (tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %11 = nn.layer_norm %10, %one : (tensor<?x?x4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  %12 = nn.reduce_sum %11 {axes = [1], keep_dims = false} : (tensor<?x?x4xf32>) -> tensor<?x4xf32>
  func.return %12 : tensor<?x4xf32>
}
