// RUN: qmlir-opt %s -p nn-smooth --verify-diagnostics --split-input-file
// RUN: qmlir-opt %s -p nn-smooth --split-input-file --print-local-scope --verify-each=exec 2>/dev/null | filecheck %s
// A range by another calibrator than min_max needs statistics, which nobody has of the product.
// RUN: qmlir-opt %s -p 'nn-smooth{calibrator=mse}' --split-input-file | filecheck %s --check-prefix=NONE
// Parameters that a rule gives are those of the norm as it is.
// RUN: qmlir-opt %s -p 'nn-smooth{recipe=%S/Inputs/norm.toml}' --split-input-file | filecheck %s --check-prefix=NONE
// NONE-NOT: nn.mul
// NONE-NOT: 3.48

// The second column is eight times as large: its factor is (1/8)^a, and the weights have (1/8)^-a.
// CHECK-LABEL: @into_the_norm(
!x = !quant.calibrated<f32<-2.0:2.0>>
!n = !quant.calibrated<f32<-8.0:8.0>>
!y = !quant.calibrated<f32<-9.0:9.0>>
#n = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8, axis = 1, mins = [-1.0, -8.0], maxs = [1.0, 8.0]>
// CHECK: [[SCALE:%.+]] = nn.constant dense<[1.000000e+00, 2.2973967]> : tensor<2xf32>
// CHECK: [[BIAS:%.+]] = nn.constant dense<[5.000000e-01, 0.14358729]> : tensor<2xf32>
// CHECK: [[N:%.+]] = nn.layer_norm %x, [[SCALE]], [[BIAS]] : ({{.*}}) -> tensor<4x2x!quant.calibrated<f32<-2.297
// CHECK-SAME: {origin = "n"}
// CHECK: [[W:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, -1.000000e+00], [3.4822023, 3.4822023]]>
// CHECK: nn.matmul [[N]], [[W]]
// CHECK: [[V:%.+]] = nn.constant dense<{{\[\[}}-1.000000e+00, 3.4822023]]>
// CHECK: nn.matmul [[N]], [[V]] {transpose_b = true}
func.func @into_the_norm(%x: tensor<4x2x!x>) -> (tensor<4x2x!y>, tensor<4x1x!y>) {
  %scale = nn.constant dense<[1.0, 8.0]> : tensor<2xf32>
  %bias = nn.constant dense<0.5> : tensor<2xf32>
  %w = nn.constant dense<[[1.0, -1.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %v = nn.constant dense<[[-1.0, 1.0]]> : tensor<1x2xf32>
  // expected-remark @+1 {{is smoothed for q, k: its columns are scaled by 0.287 to 1}}
  %0 = nn.layer_norm %x, %scale, %bias : (tensor<4x2x!x>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "n", calib.stats = #n}
  %1 = nn.matmul %0, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y> {origin = "q"}
  %2 = nn.matmul %0, %v {transpose_b = true} : (tensor<4x2x!n>, tensor<1x2xf32>) -> tensor<4x1x!y> {origin = "k"}
  func.return %1, %2 : tensor<4x2x!y>, tensor<4x1x!y>
}

// -----

// A sum of the residual stream reads the norm, too: the product has factors before it, in steps of 1/255.
// CHECK-LABEL: @on_a_stream(
!x = !quant.calibrated<f32<-2.0:2.0>>
!n = !quant.calibrated<f32<-8.0:8.0>>
!y = !quant.calibrated<f32<-9.0:9.0>>
#n = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8, axis = 1, mins = [-1.0, -8.0], maxs = [1.0, 8.0]>
// CHECK: [[N:%.+]] = nn.rms_norm
// CHECK-NEXT: [[F:%.+]] = nn.constant dense<[1.000000e+00, 0.28627452]> : tensor<2xf32> {origin = "n", role = "smooth"}
// CHECK-NEXT: [[S:%.+]] = nn.mul [[N]], [[F]] : ({{.*}}) -> tensor<4x2x!quant.calibrated<f32<-2.2901
// CHECK-SAME: {origin = "n", role = "smooth"}
// CHECK: [[W:%.+]] = nn.constant dense<{{\[\[}}1.000000e+00, -1.000000e+00], [3.4931505, 3.4931505]]>
// CHECK: [[P:%.+]] = nn.matmul [[S]], [[W]]
// CHECK: nn.add [[N]], [[P]]
func.func @on_a_stream(%x: tensor<4x2x!x>) -> tensor<4x2x!y> {
  %w = nn.constant dense<[[1.0, -1.0], [1.0, 1.0]]> : tensor<2x2xf32>
  // expected-remark @+1 {{is smoothed for fc: its columns are scaled by 0.286 to 1}}
  %0 = nn.rms_norm %x : (tensor<4x2x!x>) -> tensor<4x2x!n> {origin = "n", calib.stats = #n}
  %1 = nn.matmul %0, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y> {origin = "fc"}
  %2 = nn.add %0, %1 : (tensor<4x2x!n>, tensor<4x2x!y>) -> tensor<4x2x!y> {origin = "sum"}
  %3 = nn.rms_norm %2 : (tensor<4x2x!y>) -> tensor<4x2x!y> {origin = "n2"}
  func.return %3 : tensor<4x2x!y>
}

// -----

// Columns that are alike stay as they are; so do those of which nothing is known, which a remark says; and what is read
// in other ways and does not lie on a stream, where a factor would be one rounding more.
// CHECK-LABEL: @unchanged(
!x = !quant.calibrated<f32<-2.0:2.0>>
!n = !quant.calibrated<f32<-8.0:8.0>>
!y = !quant.calibrated<f32<-9.0:9.0>>
#alike = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8, axis = 1, mins = [-7.0, -8.0], maxs = [8.0, 8.0]>
#whole = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8>
#large = #calib.stats<min = -8.0, max = 8.0, mean = 0.0, std = 4.0, count = 8, axis = 1, mins = [-1.0, -8.0], maxs = [1.0, 8.0]>
// CHECK-COUNT-3: nn.rms_norm %x, %one : {{.*}} tensor<4x2x!quant.calibrated<f32<-8.000000e+00:8.000000e+00>>>
// CHECK-NOT: nn.mul
func.func @unchanged(%x: tensor<4x2x!x>) -> (tensor<4x2x!y>, tensor<4x2x!y>, tensor<4x2x!y>, tensor<4x2x!n>) {
  %one = nn.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %w = nn.constant dense<[[1.0, -1.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %0 = nn.rms_norm %x, %one : (tensor<4x2x!x>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "alike", calib.stats = #alike}
  // expected-remark @+1 {{is not smoothed: the profile has no per-column ranges for it}}
  %1 = nn.rms_norm %x, %one : (tensor<4x2x!x>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "whole", calib.stats = #whole}
  %2 = nn.rms_norm %x, %one : (tensor<4x2x!x>, tensor<2xf32>) -> tensor<4x2x!n> {origin = "large", calib.stats = #large}
  %3 = nn.matmul %0, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y>
  %4 = nn.matmul %1, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y>
  %5 = nn.matmul %2, %w : (tensor<4x2x!n>, tensor<2x2xf32>) -> tensor<4x2x!y>
  func.return %3, %4, %5, %2 : tensor<4x2x!y>, tensor<4x2x!y>, tensor<4x2x!y>, tensor<4x2x!n>
}
