func.func @main(%x: tensor<2xf32>) {
  %0 = nn.relu %x : tensor<2x