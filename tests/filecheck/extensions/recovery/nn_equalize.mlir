// RUN: qmlir-opt %s -p nn-equalize --verify-diagnostics --split-input-file
// RUN: qmlir-opt %s -p nn-equalize --split-input-file --print-local-scope --verify-each=exec 2>/dev/null | filecheck %s
// A second time nothing changes.
// RUN: qmlir-opt %s -p nn-equalize,nn-equalize --split-input-file --print-local-scope 2>/dev/null | filecheck %s

// The first channel has 4 and 1, the second one 1 and 4: both get 2, and the bias 4 becomes 2.
// CHECK-LABEL: @dense(
// CHECK: [[W:%.+]] = nn.constant dense<2.000000e+00> : tensor<1x2xf32>
// CHECK: nn.matmul %x, [[W]]
// CHECK: nn.constant dense<[2.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK: [[V:%.+]] = nn.constant dense<2.000000e+00> : tensor<2x1xf32>
// CHECK: nn.matmul {{%.+}}, [[V]]
func.func @dense(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %w = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %b = nn.constant dense<[4.0, 0.5]> : tensor<2xf32>
  %v = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
  // expected-remark @+1 {{is equalized with down: its channels are divided by 0.5 to 2}}
  %0 = nn.matmul %x, %w : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32> {origin = "up"}
  %1 = nn.add %0, %b : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %2 = nn.leaky_relu %1 : tensor<3x2xf32>
  %3 = nn.matmul %2, %v : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32> {origin = "down"}
  func.return %3 : tensor<3x1xf32>
}

// -----

// A depthwise convolution is in two pairs: all three end with (8 * 1 * 1)^(1/3) = 2. Pools keep channels apart, and a
// flattening reshape gives each of them two columns.
// CHECK-LABEL: @depthwise(
// CHECK: %w = nn.constant dense<{{\[\[\[\[}}{{2.00[0-9]+|1.99[0-9]+|2.000000e\+00}}]]], {{\[\[\[}}1.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK: %d = nn.constant dense<{{\[\[\[\[}}{{2.00[0-9]+|1.99[0-9]+|2.000000e\+00}}]]], {{\[\[\[}}1.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK: nn.constant dense<{{\[\[}}{{2.00[0-9]+|1.99[0-9]+|2.000000e\+00}}, 0.{{[0-9]+}}, 1.000000e+00, 1.000000e+00]]> : tensor<1x4xf32>
func.func @depthwise(%x: tensor<1x1x2x2xf32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<[[[[8.0]]], [[[1.0]]]]> : tensor<2x1x1x1xf32>
  %d = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %v = nn.constant dense<[[1.0, 0.25, 1.0, 1.0]]> : tensor<1x4xf32>
  // expected-remark @+1 {{is equalized with dw}}
  %0 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "pw"}
  %1 = nn.relu %0 : tensor<1x2x2x2xf32>
  // expected-remark @+1 {{is equalized with fc}}
  %2 = nn.conv %1, %d {groups = 2} : (tensor<1x2x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "dw"}
  %3 = nn.max_pool %2 {kernel = [2, 1]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x1x2xf32>
  %4 = nn.reshape %3 : (tensor<1x2x1x2xf32>) -> tensor<1x4xf32>
  %5 = nn.matmul %4, %v {transpose_b = true} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32> {origin = "fc"}
  func.return %5 : tensor<1x1xf32>
}

// -----

// What clips at a number, what is read elsewhere, what is an output, and shared weights stay as they are.
// CHECK-LABEL: @refused(
// CHECK-COUNT-4: nn.constant dense<{{\[\[}}4.000000e+00, 1.000000e+00]]> : tensor<1x2xf32>
// CHECK-NOT: nn.constant dense<2.000000e+00>
func.func @refused(%x: tensor<3x1xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>) {
  %w0 = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %w1 = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %w2 = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %w3 = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %v0 = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
  %v1 = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
  %v3 = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
  %0 = nn.matmul %x, %w0 : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %1 = nn.clip %0 {minimum = 0.0, maximum = 6.0} : tensor<3x2xf32>
  %2 = nn.matmul %1, %v0 : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  %3 = nn.matmul %x, %w1 : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %4 = nn.relu %3 : tensor<3x2xf32>
  %5 = nn.matmul %4, %v1 : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  %6 = nn.matmul %x, %w2 : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %7 = nn.relu %6 : tensor<3x2xf32>
  %8 = nn.matmul %7, %v3 : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  %9 = nn.matmul %x, %w3 : (tensor<3x1xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %10 = nn.relu %9 : tensor<3x2xf32>
  %11 = nn.matmul %10, %v3 : (tensor<3x2xf32>, tensor<2x1xf32>) -> tensor<3x1xf32>
  func.return %2, %5, %4, %8, %11 : tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>
}

// -----

// Ranges that are recorded would be wrong.
// CHECK-LABEL: @recorded(
// CHECK: nn.constant dense<{{\[\[}}4.000000e+00, 1.000000e+00]]>
!h = !quant.calibrated<f32<0.0:4.0>>
func.func @recorded(%x: tensor<3x1x!h>) -> tensor<3x1x!h> {
  %w = nn.constant dense<[[4.0, 1.0]]> : tensor<1x2xf32>
  %v = nn.constant dense<[[1.0], [4.0]]> : tensor<2x1xf32>
  %0 = nn.matmul %x, %w : (tensor<3x1x!h>, tensor<1x2xf32>) -> tensor<3x2x!h>
  %1 = nn.relu %0 : (tensor<3x2x!h>) -> tensor<3x2x!h>
  %2 = nn.matmul %1, %v : (tensor<3x2x!h>, tensor<2x1xf32>) -> tensor<3x1x!h>
  func.return %2 : tensor<3x1x!h>
}
