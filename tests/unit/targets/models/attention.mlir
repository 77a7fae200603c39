// Attention of one head, with a mask that may leave a row empty, and the mean of what it gives beside each place.
!x = !quant.uniform<i8:f32, 0.03125:3>
!s = !quant.uniform<i8:f32, 0.0625:-9>
!p = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<?x?x4xf32> {nn.name = "x", nn.dims = ["n", "s", ""]}, %keep: tensor<?x?xi1> {nn.name = "keep", nn.dims = ["n", "s"]}) -> (tensor<?x?x4xf32> {nn.name = "y", nn.dims = ["n", "s", ""]}) {
  %0 = quant.qcast %x : tensor<?x?x4xf32> to tensor<?x?x4x!x>
  %1 = nn.transpose %0 {permutation = [0, 2, 1]} : (tensor<?x?x4x!x>) -> tensor<?x4x?x!x>
  %2 = nn.matmul %0, %1 : (tensor<?x?x4x!x>, tensor<?x4x?x!x>) -> tensor<?x?x?x!s>
  %3 = nn.unsqueeze %keep {axes = [1]} : (tensor<?x?xi1>) -> tensor<?x1x?xi1>
  %4 = nn.softmax %2, %3 {empty_rows = "uniform"} : (tensor<?x?x?x!s>, tensor<?x1x?xi1>) -> tensor<?x?x?x!p>
  %5 = nn.matmul %4, %0 : (tensor<?x?x?x!p>, tensor<?x?x4x!x>) -> tensor<?x?x4x!x>
  %6 = quant.dcast %5 : tensor<?x?x4x!x> to tensor<?x?x4xf32>
  %7 = nn.reduce_mean %6 {axes = [1]} : (tensor<?x?x4xf32>) -> tensor<?x1x4xf32>
  %8 = nn.add %6, %7 : (tensor<?x?x4xf32>, tensor<?x1x4xf32>) -> tensor<?x?x4xf32>
  func.return %8 : tensor<?x?x4xf32>
}
