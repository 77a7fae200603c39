// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'quant-simulate{scales=lsq}'

!b = !quant.uniform<i8:f32:{1:2}, {{0.5, 0.25}}>
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  // expected-error @+1 {{has a scale for each block, which is not trained yet}}
  %0 = quant.qcast %x : tensor<1x4xf32> to tensor<1x4x!b>
  %1 = quant.dcast %0 : tensor<1x4x!b> to tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}

// -----

// expected-error @+1 {{training begins at inputs of floats}}
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32> {
  %0 = quant.dcast %x : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<2xi8>) -> tensor<2xf32> {
  // expected-error @+1 {{has quantized values, and no form that computes on floats}}
  %0 = quant.scast %x : tensor<2xi8> to tensor<2x!x>
  %1 = quant.dcast %0 : tensor<2x!x> to tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!x>
  // expected-error @+1 {{normalizes rows on integers, which has no form on floats yet}}
  %1 = nn.rms_norm %0 : (tensor<2x4x!x>) -> tensor<2x4x!x>
  %2 = quant.dcast %1 : tensor<2x4x!x> to tensor<2x4xf32>
  func.return %2 : tensor<2x4xf32>
}
