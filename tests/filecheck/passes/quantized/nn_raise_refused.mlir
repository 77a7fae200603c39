// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p nn-raise

// A value inside the group is needed by itself.
func.func @other_user(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.sigmoid %x : tensor<4xf32> {origin = "swish1", role = "sigmoid"}
  // expected-remark @+1 {{'nn.mul' op (swish1/product) is not raised to nn.swish: its part 'sigmoid' is also used by 'nn.relu' op (relu1)}}
  %1 = nn.mul %x, %0 : tensor<4xf32> {origin = "swish1", role = "product", composite = {op = "nn.swish"}}
  %2 = nn.relu %0 : tensor<4xf32> {origin = "relu1"}
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
// -----
// A parameter that the composite would not have: a constant.
func.func @constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %gamma = nn.constant dense<1.5> : tensor<f32> {origin = "selu1", role = "gamma"}
  %0 = nn.elu %x {alpha = 1.6732632} : tensor<4xf32> {origin = "selu1", role = "elu"}
  // expected-remark @+1 {{is not raised to nn.selu: its part 'gamma': has a different constant}}
  %1 = nn.mul %0, %gamma : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {origin = "selu1", role = "mul", composite = {op = "nn.selu", properties = {gamma = 2.0 : f32}}}
  func.return %1 : tensor<4xf32>
}
// -----
// The integers of a constant: 0.5 is 127 of 1 / 254, and not 126.
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.75:1>
!h = !quant.uniform<u8:f32, 0.003937007859349251>
func.func @quantized_constant(%x: tensor<4x!x>) -> tensor<4x!x> {
  %sixth = nn.constant dense<42> : tensor<ui8> -> tensor<!h> {origin = "hs", role = "sixth"}
  %half = nn.constant dense<126> : tensor<ui8> -> tensor<!h> {origin = "hs", role = "half"}
  %0 = nn.mul %x, %sixth : (tensor<4x!x>, tensor<!h>) -> tensor<4x!x> {origin = "hs", role = "mul"}
  %1 = nn.add %0, %half : (tensor<4x!x>, tensor<!h>) -> tensor<4x!y> {origin = "hs", role = "add"}
  %2 = nn.clip %1 {minimum = 0.0, maximum = 1.0} : (tensor<4x!y>) -> tensor<4x!h> {origin = "hs", role = "gate"}
  // expected-remark @+1 {{is not raised to nn.hard_swish: its part 'half': has a constant with different values ('nn.constant' op (hs/half))}}
  %3 = nn.mul %x, %2 : (tensor<4x!x>, tensor<4x!h>) -> tensor<4x!x> {origin = "hs", role = "product", composite = {op = "nn.hard_swish"}}
  func.return %3 : tensor<4x!x>
}
// -----
// A cast between the parts: the composite has no parameter for it.
!x = !quant.uniform<i8:f32, 0.5:-3>
func.func @cast(%x: tensor<4xf32>, %y: tensor<4x!x>) -> tensor<4xf32> {
  %0 = nn.sigmoid %y : tensor<4x!x> {origin = "swish1", role = "sigmoid"}
  %1 = quant.dcast %0 : tensor<4x!x> to tensor<4xf32>
  // expected-remark @+1 {{is not raised to nn.swish: its part 'sigmoid': expected 'nn.sigmoid', but got 'quant.dcast'}}
  %2 = nn.mul %x, %1 : tensor<4xf32> {origin = "swish1", role = "product", composite = {op = "nn.swish"}}
  func.return %2 : tensor<4xf32>
}
// -----
// What looks like a composite and is none says nothing; what computes one says what stands in the way.
func.func @lookalike(%x: tensor<1x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "mm"}
  // expected-remark @+1 {{looks like nn.fully_connected, but is not raised: its part 'matmul' is also used by 'func.return' op}}
  %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %2 = nn.add %b, %b : tensor<2xf32>
  func.return %0, %1 : tensor<1x2xf32>, tensor<1x2xf32>
}
// -----
// Weights that no constant gives cannot be turned; a sum of two products has no bias.
func.func @weights(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  // expected-remark @+1 {{looks like nn.fully_connected, but is not raised: its weights must be constant to be transposed to [N, K], but got 'tensor<4x5xf32>'}}
  %1 = nn.add %0, %b : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %2 = nn.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  %3 = nn.add %2, %1 : tensor<2x3x5xf32>
  func.return %3 : tensor<2x3x5xf32>
}
// -----
func.func @bias(%x: tensor<2x3x1xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
  %w = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %b = nn.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %0 = nn.matmul %x, %w : (tensor<2x3x1xf32>, tensor<1x2xf32>) -> tensor<2x3x2xf32>
  // expected-remark @+1 {{is not raised: its bias must have one axis, but got 'tensor<1x1x2xf32>'}}
  %1 = nn.add %b, %0 : (tensor<1x1x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = nn.matmul %x, %w : (tensor<2x3x1xf32>, tensor<1x2xf32>) -> tensor<2x3x2xf32> {origin = "used"}
  // expected-remark @+1 {{is not raised: its matmul has other users}}
  %3 = nn.add %2, %c : (tensor<2x3x2xf32>, tensor<2xf32>) -> tensor<2x3x2xf32>
  %4 = nn.add %3, %2 : tensor<2x3x2xf32>
  func.return %1, %4 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}
