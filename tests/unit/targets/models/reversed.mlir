func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["s"]}) -> (tensor<?xf32> {nn.name = "y", nn.dims = ["s"]}) {
  %0 = nn.slice %x {starts = [-1], ends = [-2147483648], axes = [0], steps = [-1]} : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
