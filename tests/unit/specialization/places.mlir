func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["n", "s"]}) -> tensor<?x1x?xf32> {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %list = nn.constant dense<1> : tensor<1xi64>
  %wide = nn.constant dense<[-1, 1, -1]> : tensor<3xi64>
  %shape = nn.shape %x : (tensor<?x?xf32>) -> tensor<2xi64>
  %n = nn.gather %shape, %zero : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %s = nn.gather %shape, %one : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %rows = nn.range %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %columns = nn.range %zero, %s, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %0 = nn.unsqueeze %rows {axes = [1, 2]} : (tensor<?xi64>) -> tensor<?x1x1xi64>
  %1 = nn.mul %0, %s : (tensor<?x1x1xi64>, tensor<i64>) -> tensor<?x1x1xi64>
  %2 = nn.add %columns, %1 : (tensor<?xi64>, tensor<?x1x1xi64>) -> tensor<?x1x?xi64>
  %3 = nn.reshape %x : (tensor<?x?xf32>) -> tensor<?xf32>
  %4 = nn.gather %3, %2 : (tensor<?xf32>, tensor<?x1x?xi64>) -> tensor<?x1x?xf32>
  %5 = nn.unsqueeze %n {axes = [0]} : (tensor<i64>) -> tensor<1xi64>
  %6 = nn.unsqueeze %s {axes = [0]} : (tensor<i64>) -> tensor<1xi64>
  %7 = nn.concat %5, %list, %6 {axis = 0} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %8 = nn.equal %7, %wide : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  %9 = nn.where %8, %list, %7 : (tensor<3xi1>, tensor<1xi64>, tensor<3xi64>) -> tensor<3xi64>
  %10 = nn.expand %4, %9 : (tensor<?x1x?xf32>, tensor<3xi64>) -> tensor<?x1x?xf32>
  %11 = nn.softmax %10 : tensor<?x1x?xf32>
  func.return %11 : tensor<?x1x?xf32>
}
