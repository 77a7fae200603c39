!x = !quant.calibrated<f32<-1.0:1.0>>
!m = !quant.calibrated<f32<-3.0:2.5>>
!y = !quant.calibrated<f32<-2.0:3.0>>
!r = !quant.calibrated<f32<0.0:3.0>>

func.func @main(%x: tensor<1x4x!x>) -> tensor<1x2x!r> {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25], [0.0, 3.0, -1.5, 2.0]]> : tensor<2x4xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = "fc1.bias"}
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4xf32>) -> tensor<1x2x!m> {origin = "fc1", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<1x2x!m>, tensor<2xf32>) -> tensor<1x2x!y> {origin = "fc1", role = "bias_add"}
  %2 = nn.relu %1 : (tensor<1x2x!y>) -> tensor<1x2x!r> {origin = "relu1"}
  func.return %2 : tensor<1x2x!r>
}
