!x = !quant.calibrated<f32<-1.0:1.0>>
!m = !quant.calibrated<f32<-4.0:4.5>>
!s = !quant.calibrated<f32<-4.5:4.5>>
!r = !quant.calibrated<f32<0.0:4.5>>

func.func @main(%x: tensor<2x8x!x>) -> tensor<2x2x!r> {
  %w = nn.constant dense<[[1.0, -2.0, 0.5, 0.25, 0.0, 1.5, -0.5, 1.0], [0.0, 3.0, -1.5, 2.0, 1.0, -1.0, 0.5, 0.75]]> : tensor<2x8xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.125, -0.5]> : tensor<2xf32> {origin = "fc1.bias"}
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<2x8x!x>, tensor<2x8xf32>) -> tensor<2x2x!m> {origin = "fc1", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<2x2x!m>, tensor<2xf32>) -> tensor<2x2x!s> {origin = "fc1", role = "bias_add", composite = {op = "nn.fully_connected"}}
  %2 = nn.relu %1 : (tensor<2x2x!s>) -> tensor<2x2x!r> {origin = "relu1"}
  func.return %2 : tensor<2x2x!r>
}
