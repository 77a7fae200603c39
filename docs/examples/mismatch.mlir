func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32> {origin = "residual"}
  func.return
}
