!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<u8:f32, 2.0>
func.func @main(%x: tensor<1x2x!x> {nn.name = "x"}) -> (tensor<1x1x!y> {nn.name = "y"}) {
  %w = nn.constant dense<[[3, -4]]> : tensor<1x2xi8> -> tensor<1x2x!w> {origin = "fc1.weight"}
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!x>, tensor<1x2x!w>) -> tensor<1x1x!y> {origin = "fc1", op_type = "Gemm"}
  func.return %0 : tensor<1x1x!y>
}
