// Convolutions, a pool and the mean of all places of an image, and its way back to the size that went in.
!x = !quant.uniform<i8:f32, 0.03125:3>
!w = !quant.uniform<i8:f32, 0.015625>
!y = !quant.uniform<i8:f32, 0.0625:-128>
!m = !quant.uniform<i8:f32, 0.03125:-100>
func.func @main(%x: tensor<?x2x?x?xf32> {nn.name = "x", nn.dims = ["n", "", "h", "w"]}) -> (tensor<?x2x?x?xf32> {nn.name = "y", nn.dims = ["n", "", "h", "w"]}) {
  %0 = nn.constant dense<[[[[3, -5, 7], [2, 9, -4], [1, 0, 6]], [[-8, 2, 5], [4, -3, 1], [7, -2, 0]]], [[[5, 1, -6], [0, 4, 8], [-7, 3, 2]], [[6, -1, 2], [3, 5, -9], [1, 8, -4]]]]> : tensor<2x2x3x3xi8> -> tensor<2x2x3x3x!w>
  %1 = quant.qcast %x : tensor<?x2x?x?xf32> to tensor<?x2x?x?x!x>
  %2 = nn.conv %1, %0 {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<?x2x?x?x!x>, tensor<2x2x3x3x!w>) -> tensor<?x2x?x?x!y>
  %3 = nn.max_pool %2 {kernel = [3, 3], pads = [1, 1, 1, 1]} : tensor<?x2x?x?x!y>
  %4 = nn.global_average_pool %3 : (tensor<?x2x?x?x!y>) -> tensor<?x2x1x1x!m>
  %5 = quant.dcast %4 : tensor<?x2x1x1x!m> to tensor<?x2x1x1xf32>
  %6 = quant.dcast %3 : tensor<?x2x?x?x!y> to tensor<?x2x?x?xf32>
  %7 = nn.mul %6, %5 : (tensor<?x2x?x?xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x?x?xf32>
  %8 = nn.resize %7 {scales = [1.0, 1.0, 2.0, 2.0], mode = "linear"} : tensor<?x2x?x?xf32>
  %9 = nn.add %8, %x : tensor<?x2x?x?xf32>
  func.return %9 : tensor<?x2x?x?xf32>
}
