!x = !quant.uniform<i8:f32, 0.05>
!y = !quant.uniform<i8:f32, 0.025:-120>
func.func @main(%x: tensor<4x!x> {nn.name = "x"}) -> (tensor<4x!y> {nn.name = "y"}) {
  %0 = nn.gelu %x : (tensor<4x!x>) -> tensor<4x!y> {origin = "act"}
  func.return %0 : tensor<4x!y>
}
