// RUN: qmlir-opt %s -p 'calib-give-ranges{recipe=%S/Inputs/relu.toml}' --split-input-file --print-local-scope | filecheck %s

// A value without a range gets that of its parameters, (-128 + 128) / 64 to (127 + 128) / 64, and so does the value that
// only the clamp reads.
// CHECK-LABEL: @given(
// CHECK-SAME: %x: tensor<1x4x!quant.calibrated<f32<0.000000e+00:3.984375e+00>>>
// CHECK: nn.relu %x : tensor<1x4x!quant.calibrated<f32<0.000000e+00:3.984375e+00>>>
// CHECK: nn.neg {{.*}} -> tensor<1x4xf32>
func.func @given(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = nn.relu %x : tensor<1x4xf32> {origin = "relu1"}
  %1 = nn.neg %0 : tensor<1x4xf32> {origin = "neg1"}
  func.return %1 : tensor<1x4xf32>
}

// -----

// An observed range stays.
// CHECK-LABEL: @observed(
// CHECK: nn.relu %x : (tensor<1x4xf32>) -> tensor<1x4x!quant.calibrated<f32<0.000000e+00:1.000000e+00>>>
!c = !quant.calibrated<f32<0.0:1.0>>
func.func @observed(%x: tensor<1x4xf32>) -> tensor<1x4x!c> {
  %0 = nn.relu %x : (tensor<1x4xf32>) -> tensor<1x4x!c> {origin = "relu1"}
  func.return %0 : tensor<1x4x!c>
}

// -----

// The sum before a bias gets the range of the result without the bias.
// CHECK-LABEL: @sum(
// CHECK: nn.matmul {{.*}} -> tensor<1x1x!quant.calibrated<f32<-1.000000e+00:2.984375e+00>>>
func.func @sum(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1xf32>
  %b = nn.constant dense<1.0> : tensor<1xf32>
  %0 = nn.matmul %x, %w : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32> {origin = "fc", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> {origin = "relu1"}
  func.return %1 : tensor<1x1xf32>
}
