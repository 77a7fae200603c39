// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'quant-simulate{scales=lsq}'

!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32:{1:2}, {{{0.5}, {0.25}}}>
!y = !quant.uniform<i8:f32, 2.0>
func.func @main(%x: tensor<1x8x3xf32>, %w: tensor<2x4x1xf32>) -> tensor<1x2x3xf32> {
  %0 = quant.qcast %x : tensor<1x8x3xf32> to tensor<1x8x3x!x>
  %1 = quant.qcast %w : tensor<2x4x1xf32> to tensor<2x4x1x!w>
  // expected-error @+1 {{cannot be trained: block-wise weights require one group, but got 2}}
  %2 = nn.conv %0, %1 {groups = 2 : i64} : (tensor<1x8x3x!x>, tensor<2x4x1x!w>) -> tensor<1x2x3x!y>
  %3 = quant.dcast %2 : tensor<1x2x3x!y> to tensor<1x2x3xf32>
  func.return %3 : tensor<1x2x3xf32>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32:{1:2, 2:2}, {{{0.5, 0.25}, {1.0, 2.0}}}>
!y = !quant.uniform<i8:f32, 2.0>
func.func @main(%x: tensor<1x4x6xf32>, %w: tensor<2x4x4xf32>) -> tensor<1x2x3xf32> {
  %0 = quant.qcast %x : tensor<1x4x6xf32> to tensor<1x4x6x!x>
  %1 = quant.qcast %w : tensor<2x4x4xf32> to tensor<2x4x4x!w>
  // expected-error @+1 {{cannot be trained: weights must be quantized in blocks along axis 1 only, but have blocks along 1 and 2}}
  %2 = nn.conv %0, %1 : (tensor<1x4x6x!x>, tensor<2x4x4x!w>) -> tensor<1x2x3x!y>
  %3 = quant.dcast %2 : tensor<1x2x3x!y> to tensor<1x2x3xf32>
  func.return %3 : tensor<1x2x3xf32>
}

// -----

// expected-error @+1 {{inputs must be floats to be trained, but got 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>'}}
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32> {
  %0 = quant.dcast %x : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<2xi8>) -> tensor<2xf32> {
  // expected-error @+1 {{cannot be trained: it reads plain integers, which have no gradient; pass a model in QDQ form}}
  %0 = quant.scast %x : tensor<2xi8> to tensor<2x!x>
  %1 = quant.dcast %0 : tensor<2x!x> to tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
