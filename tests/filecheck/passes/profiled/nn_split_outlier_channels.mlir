// RUN: qmlir-opt %s -p 'nn-split-outlier-channels{columns=1}' --verify-diagnostics --split-input-file
// RUN: qmlir-opt %s -p 'nn-split-outlier-channels{columns=1}' --split-input-file --print-local-scope --verify-each=exec 2>/dev/null | filecheck %s
// By default 16 columns are parted, of 256 at least; and ranges of columns are all that min_max needs, but no other.
// RUN: qmlir-opt %s -p nn-split-outlier-channels --split-input-file | filecheck %s --check-prefix=NONE
// RUN: qmlir-opt %s -p 'nn-split-outlier-channels{columns=1 calibrator=mse}' --split-input-file | filecheck %s --check-prefix=NONE
// NONE-NOT: "largest"
// Parameters that a rule gives are those of the whole sum.
// RUN: qmlir-opt %s -p 'nn-split-outlier-channels{columns=1 recipe=%S/Inputs/up.toml}' --split-input-file | filecheck %s --check-prefix=NONE
// Weights with a scale for each block keep whole blocks: two columns are parted, of 16 that are too few.
// RUN: qmlir-opt %s -p 'nn-split-outlier-channels{columns=1 granularity=block:2}' --split-input-file | filecheck %s --check-prefix=NONE

// Two products of one input, each with a bias by column: the fourth column is 64 times as large as the others.
// CHECK-LABEL: @gated(
!x = !quant.calibrated<f32<-2.0:2.0>>
!h = !quant.calibrated<f32<0.0:64.0>>
!y = !quant.calibrated<f32<-70.0:80.0>>
#h = #calib.stats<min = 0.0, max = 64.0, mean = 0.5, std = 2.0, count = 64, axis = 1,
  mins = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
  maxs = [1.0, 1.0, 1.0, 64.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]>
// CHECK: [[N:%.+]] = nn.rms_norm
// CHECK: nn.matmul [[N]], {{.*}} tensor<2x15xf32>) -> tensor<4x15x!quant.calibrated<f32<0.000000e+00:1.000000e+00>>> {origin = "gate", role = "rest"}
// CHECK: nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 5.000000e+00, 6.000000e+00,
// CHECK: [[DOWN:%.+]] = nn.constant {{.*}} tensor<1x15xf32>
// CHECK: [[REST:%.+]] = nn.matmul {{.*}}, [[DOWN]] {transpose_b = true} : {{.*}} -> tensor<4x1x!quant.calibrated<f32<-1.500000e+01:0.000000e+00>>> {origin = "down", role = "rest"}
// CHECK: nn.constant dense<[4.000000e+00]> : tensor<1xf32>
// CHECK: nn.add {{.*}} tensor<4x1x!quant.calibrated<f32<0.000000e+00:6.400000e+01>>> {origin = "bias", role = "largest"}
// CHECK: [[PART:%.+]] = nn.matmul {{.*}} -> tensor<4x1x!quant.calibrated<f32<-6.400000e+01:0.000000e+00>>> {origin = "down", role = "largest"}
// CHECK-NEXT: [[SUM:%.+]] = nn.add [[REST]], [[PART]] : {{.*}} {origin = "down"}
// CHECK-NEXT: func.return [[SUM]]
func.func @gated(%x: tensor<4x2x!x>) -> tensor<4x1x!y> {
  %w = nn.constant dense<1.0> : tensor<2x16xf32>
  %v = nn.constant dense<0.5> : tensor<2x16xf32>
  %b = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16xf32>
  %down = nn.constant dense<-1.0> : tensor<1x16xf32>
  %0 = nn.rms_norm %x : (tensor<4x2x!x>) -> tensor<4x2x!x> {origin = "n"}
  %1 = nn.matmul %0, %w : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "gate", calib.stats = #h}
  %2 = nn.swish %1 : tensor<4x16x!h> {origin = "swish", calib.stats = #h}
  %3 = nn.matmul %0, %v : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "up", calib.stats = #h}
  %4 = nn.add %3, %b : (tensor<4x16x!h>, tensor<16xf32>) -> tensor<4x16x!h> {origin = "bias", calib.stats = #h}
  %5 = nn.mul %2, %4 : tensor<4x16x!h> {origin = "gated", calib.stats = #h}
  // expected-remark @+1 {{is split into the sum of two matmuls: one for the 1 largest of its 16 columns}}
  %6 = nn.matmul %5, %down {transpose_b = true} : (tensor<4x16x!h>, tensor<1x16xf32>) -> tensor<4x1x!y> {origin = "down"}
  func.return %6 : tensor<4x1x!y>
}

// -----

// Nothing is parted that others read, that mixes columns, or that comes from something else than a norm.
// CHECK-LABEL: @unchanged(
// CHECK-NOT: "largest"
!x = !quant.calibrated<f32<-2.0:2.0>>
!h = !quant.calibrated<f32<0.0:64.0>>
!y = !quant.calibrated<f32<-70.0:80.0>>
#h = #calib.stats<min = 0.0, max = 64.0, mean = 0.5, std = 2.0, count = 64, axis = 1,
  mins = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
  maxs = [1.0, 1.0, 1.0, 64.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]>
func.func @unchanged(%x: tensor<4x2x!x>) -> (tensor<4x16x!h>, tensor<4x1x!y>, tensor<4x1x!y>, tensor<4x1x!y>, tensor<4x1x!y>) {
  %w = nn.constant dense<1.0> : tensor<2x16xf32>
  %down = nn.constant dense<-1.0> : tensor<16x1xf32>
  %0 = nn.rms_norm %x : (tensor<4x2x!x>) -> tensor<4x2x!x> {origin = "n"}
  %1 = nn.matmul %0, %w : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "read", calib.stats = #h}
  %2 = nn.matmul %1, %down : (tensor<4x16x!h>, tensor<16x1xf32>) -> tensor<4x1x!y>
  %3 = nn.matmul %x, %w : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "no_norm", calib.stats = #h}
  %4 = nn.matmul %3, %down : (tensor<4x16x!h>, tensor<16x1xf32>) -> tensor<4x1x!y>
  %5 = nn.matmul %0, %w : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "mixed", calib.stats = #h}
  %6 = nn.softmax %5 : tensor<4x16x!h> {calib.stats = #h}
  %7 = nn.matmul %6, %down : (tensor<4x16x!h>, tensor<16x1xf32>) -> tensor<4x1x!y>
  %8 = nn.reduce_mean %x {axes = [0, 1], keep_dims = false} : (tensor<4x2x!x>) -> tensor<!x>
  %9 = nn.matmul %0, %w : (tensor<4x2x!x>, tensor<2x16xf32>) -> tensor<4x16x!h> {origin = "times_scalar", calib.stats = #h}
  %10 = nn.mul %9, %8 : (tensor<4x16x!h>, tensor<!x>) -> tensor<4x16x!h> {calib.stats = #h}
  %11 = nn.matmul %10, %down : (tensor<4x16x!h>, tensor<16x1xf32>) -> tensor<4x1x!y>
  func.return %1, %2, %4, %7, %11 : tensor<4x16x!h>, tensor<4x1x!y>, tensor<4x1x!y>, tensor<4x1x!y>, tensor<4x1x!y>
}
