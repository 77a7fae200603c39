func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["n", "s"]}) -> tensor<?x?xf32> {
  %0 = nn.softmax %x {axis = 1} : tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
