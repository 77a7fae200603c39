// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-propagate-types

// 0.24 is 0 in integers of the scale 1.0 * 0.5, which is 24 steps of 0.01 away.
func.func @coarse(%x: tensor<1x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x1x!quant.uniform<i8:f32, 0.01>> {
  %stored = nn.constant dense<3> : tensor<1x1xi8> -> tensor<1x1x!quant.uniform<i8:f32, 0.5>>
  %bias = nn.constant dense<0.24> : tensor<1xf32>
  %0 = quant.dcast %x : tensor<1x1x!quant.uniform<i8:f32, 1.0>> to tensor<1x1xf32>
  %1 = quant.dcast %stored : tensor<1x1x!quant.uniform<i8:f32, 0.5>> to tensor<1x1xf32>
  // expected-remark @+1 {{'nn.fully_connected' op (fc1) is not quantized, because its bias is not: with the accumulator's scale 0.5 the bias would be off by 0.24, more than half a quantization step of the result (0.01)}}
  %2 = nn.fully_connected %0, %1, %bias : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> {origin = "fc1"}
  %3 = quant.qcast %2 : tensor<1x1xf32> to tensor<1x1x!quant.uniform<i8:f32, 0.01>>
  func.return %3 : tensor<1x1x!quant.uniform<i8:f32, 0.01>>
}
// -----
// 0.3 / 1e-16 is more than 2^31.
func.func @too_large(%x: tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>>) -> tensor<1x1x!quant.uniform<i8:f32, 0.25>> {
  %stored = nn.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>>
  %bias = nn.constant dense<0.3> : tensor<1xf32>
  %0 = quant.dcast %x : tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>> to tensor<1x1xf32>
  %1 = quant.dcast %stored : tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>> to tensor<1x1xf32>
  // expected-remark @+1 {{'nn.fully_connected' op (fc2) is not quantized, because its bias is not: the bias does not fit i32 with the scale of the accumulator}}
  %2 = nn.fully_connected %0, %1, %bias : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> {origin = "fc2"}
  %3 = quant.qcast %2 : tensor<1x1xf32> to tensor<1x1x!quant.uniform<i8:f32, 0.25>>
  func.return %3 : tensor<1x1x!quant.uniform<i8:f32, 0.25>>
}
