func.func @main(%x: tensor<4xf32>) -> tensor<1x?xi64> {
  %0 = nn.non_zero %x : (tensor<4xf32>) -> tensor<1x?xi64> {origin = "found"}
  func.return %0 : tensor<1x?xi64>
}
