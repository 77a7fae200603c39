// A causal attention of two heads that share their keys, the first two columns.
func.func @main(%x: tensor<?x?x4xf32> {nn.name = "x", nn.dims = ["n", "s", ""]}) -> (tensor<?x2x?x2xf32> {nn.name = "y"}) {
  %head = nn.slice %x {starts = [0], ends = [2], axes = [2]} : (tensor<?x?x4xf32>) -> tensor<?x?x2xf32>
  %keys = nn.unsqueeze %head {axes = [1]} : (tensor<?x?x2xf32>) -> tensor<?x1x?x2xf32>
  %other = nn.slice %x {starts = [2], ends = [4], axes = [2]} : (tensor<?x?x4xf32>) -> tensor<?x?x2xf32>
  %second = nn.unsqueeze %other {axes = [1]} : (tensor<?x?x2xf32>) -> tensor<?x1x?x2xf32>
  %queries = nn.concat %keys, %second {axis = 1} : (tensor<?x1x?x2xf32>, tensor<?x1x?x2xf32>) -> tensor<?x2x?x2xf32>
  %y:4 = nn.attention %queries, %keys, %second {is_causal = true} : (tensor<?x2x?x2xf32>, tensor<?x1x?x2xf32>, tensor<?x1x?x2xf32>) -> (tensor<?x2x?x2xf32>, tensor<?x1x?x2xf32>, tensor<?x1x?x2xf32>, tensor<?x2x?x?xf32>) {origin = "attention"}
  func.return %y#0 : tensor<?x2x?x2xf32>
}
