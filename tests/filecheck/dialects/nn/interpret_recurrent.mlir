// RUN: qmlir run %s

// h = max(x + h / 2 + 1, 0), for two sequences of which the second ends after one step: behind it, the states are 0,
// and its last state is that of its end.
func.func @rnn() {
  %x = nn.constant dense<[[[1.0], [3.0]], [[2.0], [7.0]], [[-9.0], [7.0]]]> : tensor<3x2x1xf32>
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %r = nn.constant dense<0.5> : tensor<1x1x1xf32>
  %b = nn.constant dense<[[0.25, 0.75]]> : tensor<1x2xf32>
  %n = nn.constant dense<[3, 1]> : tensor<2xi32>
  %h = nn.constant dense<[[[4.0], [0.0]]]> : tensor<1x2x1xf32>
  %all, %last = nn.rnn %x, %w, %r, %b, %n, %h {hidden_size = 1, activations = ["Relu"]} : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x2xf32>, tensor<2xi32>, tensor<1x2x1xf32>) -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)
  %0 = nn.constant dense<[[[[4.0], [4.0]]], [[[5.0], [0.0]]], [[[0.0], [0.0]]]]> : tensor<3x1x2x1xf32>
  check.expect_eq %all, %0 : tensor<3x1x2x1xf32>
  %1 = nn.constant dense<[[[0.0], [4.0]]]> : tensor<1x2x1xf32>
  check.expect_eq %last, %1 : tensor<1x2x1xf32>
  func.return
}

// Both ways, h = x + h: running sums from the front and from the end of each sequence. One sequence has no steps at
// all, and keeps its initial state.
func.func @directions() {
  %x = nn.constant dense<[[[1.0], [1.0], [1.0]], [[2.0], [2.0], [2.0]], [[4.0], [4.0], [4.0]]]> : tensor<3x3x1xf32>
  %one = nn.constant dense<1.0> : tensor<2x1x1xf32>
  %n = nn.constant dense<[3, 2, 0]> : tensor<3xi32>
  %h = nn.constant dense<8.0> : tensor<2x3x1xf32>
  %all, %last = nn.rnn %x, %one, %one, _, %n, %h {hidden_size = 1, direction = "bidirectional", activations = ["Affine", "Affine"]} : (tensor<3x3x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<3xi32>, tensor<2x3x1xf32>) -> (tensor<3x2x3x1xf32>, tensor<2x3x1xf32>)
  %0 = nn.constant dense<[[[[9.0], [9.0], [0.0]], [[15.0], [11.0], [0.0]]], [[[11.0], [11.0], [0.0]], [[14.0], [10.0], [0.0]]], [[[15.0], [0.0], [0.0]], [[12.0], [0.0], [0.0]]]]> : tensor<3x2x3x1xf32>
  check.expect_eq %all, %0 : tensor<3x2x3x1xf32>
  %1 = nn.constant dense<[[[15.0], [11.0], [8.0]], [[15.0], [11.0], [8.0]]]> : tensor<2x3x1xf32>
  check.expect_eq %last, %1 : tensor<2x3x1xf32>
  func.return
}

// Gates i, o, f, c of x = 1, without a recurrence: f is 2 a + 1, g is the identity, h doubles.
// i = 2 * (1 + 1 * 3) + 1 = 9, f = 2 * (2 + 0.5 * 3) + 1 = 8, c = 8 * 3 + 9 * 5 = 69, o = 2 * (0 + 0.25 * 69) + 1 = 35.5,
// h = 35.5 * 138. With coupled gates f = 1 - 9, c = -8 * 3 + 45 = 21, o = 11.5, h = 11.5 * 42.
func.func @lstm() {
  %x = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %w = nn.constant dense<[[[1.0], [0.0], [2.0], [5.0]]]> : tensor<1x4x1xf32>
  %r = nn.constant dense<0.0> : tensor<1x4x1xf32>
  %h = nn.constant dense<7.0> : tensor<1x1x1xf32>
  %c = nn.constant dense<3.0> : tensor<1x1x1xf32>
  %p = nn.constant dense<[[1.0, 0.25, 0.5]]> : tensor<1x3xf32>
  %all, %last, %cell = nn.lstm %x, %w, %r, _, _, %h, %c, %p {hidden_size = 1, activations = ["Affine", "Affine", "Affine"], activation_alpha = [2.0, 1.0, 2.0], activation_beta = [1.0, 0.0, 0.0]} : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x3xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  %0 = nn.constant dense<4899.0> : tensor<1x1x1x1xf32>
  check.expect_eq %all, %0 : tensor<1x1x1x1xf32>
  %1 = nn.constant dense<4899.0> : tensor<1x1x1xf32>
  check.expect_eq %last, %1 : tensor<1x1x1xf32>
  %2 = nn.constant dense<69.0> : tensor<1x1x1xf32>
  check.expect_eq %cell, %2 : tensor<1x1x1xf32>
  %all2, %last2, %cell2 = nn.lstm %x, %w, %r, _, _, %h, %c, %p {hidden_size = 1, input_forget = true, activations = ["Affine", "Affine", "Affine"], activation_alpha = [2.0, 1.0, 2.0], activation_beta = [1.0, 0.0, 0.0]} : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x3xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  %3 = nn.constant dense<483.0> : tensor<1x1x1xf32>
  check.expect_eq %last2, %3 : tensor<1x1x1xf32>
  %4 = nn.constant dense<21.0> : tensor<1x1x1xf32>
  check.expect_eq %cell2, %4 : tensor<1x1x1xf32>
  func.return
}

// What the gates' functions are applied to is clipped to 2, the cell is not: i = o = f = g = 2, c = 2 * 3 + 2 * 2 = 10.
func.func @clip() {
  %x = nn.constant dense<[[[9.0]]]> : tensor<1x1x1xf32>
  %w = nn.constant dense<1.0> : tensor<1x4x1xf32>
  %r = nn.constant dense<0.0> : tensor<1x4x1xf32>
  %c = nn.constant dense<3.0> : tensor<1x1x1xf32>
  %all, %last, %cell = nn.lstm %x, %w, %r, _, _, _, %c {hidden_size = 1, clip = 2.0, activations = ["Relu", "Relu", "Relu"]} : (tensor<1x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  %0 = nn.constant dense<20.0> : tensor<1x1x1xf32>
  check.expect_eq %last, %0 : tensor<1x1x1xf32>
  %1 = nn.constant dense<10.0> : tensor<1x1x1xf32>
  check.expect_eq %cell, %1 : tensor<1x1x1xf32>
  func.return
}

// Gates z, r, h of x = 1 and h = 4, f and g the identity: z = 0.25, r = 0.5, then 3 + (0.5 * 4) * 2 + 1 + 10 = 18,
// h = 0.75 * 18 + 0.25 * 4; with the linear part before the reset 3 + 1 + 0.5 * (4 * 2 + 10) = 13.
func.func @gru() {
  %x = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %w = nn.constant dense<[[[0.25], [0.5], [3.0]]]> : tensor<1x3x1xf32>
  %r = nn.constant dense<[[[0.0], [0.0], [2.0]]]> : tensor<1x3x1xf32>
  %b = nn.constant dense<[[0.0, 0.0, 1.0, 0.0, 0.0, 10.0]]> : tensor<1x6xf32>
  %h = nn.constant dense<4.0> : tensor<1x1x1xf32>
  %all, %last = nn.gru %x, %w, %r, %b, _, %h {hidden_size = 1, activations = ["Affine", "Affine"]} : (tensor<1x1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x6xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
  %0 = nn.constant dense<14.5> : tensor<1x1x1xf32>
  check.expect_eq %last, %0 : tensor<1x1x1xf32>
  %all1, %last1 = nn.gru %x, %w, %r, %b, _, %h {hidden_size = 1, linear_before_reset = true, activations = ["Affine", "Affine"]} : (tensor<1x1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<1x6xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
  %1 = nn.constant dense<10.75> : tensor<1x1x1xf32>
  check.expect_eq %last1, %1 : tensor<1x1x1xf32>
  func.return
}

// No step at all: the last state is the first. Sums of f16 run in f32, where 2048 + 1 is not 2048.
func.func @no_steps_and_f16() {
  %x = nn.constant dense<> : tensor<0x1x1xf32>
  %one = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %all, %last = nn.rnn %x, %one, %one, _, _, %one {hidden_size = 1} : (tensor<0x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<0x1x1x1xf32>, tensor<1x1x1xf32>)
  check.expect_eq %last, %one : tensor<1x1x1xf32>
  %y = nn.constant dense<[[[2048.0]], [[1.0]], [[1.0]]]> : tensor<3x1x1xf16>
  %o = nn.constant dense<1.0> : tensor<1x1x1xf16>
  %all1, %last1 = nn.rnn %y, %o, %o {hidden_size = 1, activations = ["Relu"]} : (tensor<3x1x1xf16>, tensor<1x1x1xf16>, tensor<1x1x1xf16>) -> (tensor<3x1x1x1xf16>, tensor<1x1x1xf16>)
  %0 = nn.constant dense<2050.0> : tensor<1x1x1xf16>
  check.expect_eq %last1, %0 : tensor<1x1x1xf16>
  func.return
}

// Each function once, of 2 and -2.
func.func @functions() {
  %x = nn.constant dense<[[[2.0], [-2.0]]]> : tensor<1x2x1xf32>
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %a, %leaky = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["LeakyRelu"]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %0 = nn.constant dense<[[[2.0], [-0.02]]]> : tensor<1x2x1xf32>
  check.expect_close %leaky, %0 {relative = 1.0e-6} : tensor<1x2x1xf32>
  %b, %threshold = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["ThresholdedRelu"], activation_alpha = [2.0]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %1 = nn.constant dense<[[[2.0], [0.0]]]> : tensor<1x2x1xf32>
  check.expect_eq %threshold, %1 : tensor<1x2x1xf32>
  %c, %scaled = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["ScaledTanh"], activation_alpha = [3.0], activation_beta = [0.5]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %2 = nn.constant dense<[[[2.2847825], [-2.2847825]]]> : tensor<1x2x1xf32>
  check.expect_close %scaled, %2 {relative = 1.0e-6} : tensor<1x2x1xf32>
  %d, %hard = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["HardSigmoid"]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %3 = nn.constant dense<[[[0.9], [0.1]]]> : tensor<1x2x1xf32>
  check.expect_close %hard, %3 {relative = 1.0e-6} : tensor<1x2x1xf32>
  %e, %elu = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["Elu"]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %4 = nn.constant dense<[[[2.0], [-0.86466472]]]> : tensor<1x2x1xf32>
  check.expect_close %elu, %4 {relative = 1.0e-6} : tensor<1x2x1xf32>
  %f, %sign = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["Softsign"]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %5 = nn.constant dense<[[[0.6666667], [-0.6666667]]]> : tensor<1x2x1xf32>
  check.expect_close %sign, %5 {relative = 1.0e-6} : tensor<1x2x1xf32>
  %g, %plus = nn.rnn %x, %w, %w {hidden_size = 1, activations = ["Softplus"]} : (tensor<1x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x2x1xf32>)
  %6 = nn.constant dense<[[[2.126928], [0.126928]]]> : tensor<1x2x1xf32>
  check.expect_close %plus, %6 {relative = 1.0e-5} : tensor<1x2x1xf32>
  func.return
}

// h = max(x + h', 0) in steps of 1/4, where h' is h in steps of 1: 7/4 is 2, then 8/4 and 9/4 are 2. So it is at any
// length, of which the type says nothing.
!q = !quant.uniform<i8:f32, 1.0>
!x = !quant.uniform<i8:f32, 0.25>
!h = !quant.uniform<i16:f32, 0.25>
func.func @rounded_state() {
  %x = nn.constant dense<[[[7]], [[0]], [[1]], [[1]]]> : tensor<4x1x1xi8> -> tensor<4x1x1x!x>
  %one = nn.constant dense<1> : tensor<1x1x1xi8> -> tensor<1x1x1x!q>
  %all, %last = nn.rnn %x, %one, %one {hidden_size = 1, activations = ["Relu"], components = {"hidden/initial" = !h, "hidden/rounded" = !q, "hidden/sum" = !h, "hidden/relu" = !h}} : (tensor<4x1x1x!x>, tensor<1x1x1x!q>, tensor<1x1x1x!q>) -> (tensor<4x1x1x1x!h>, tensor<1x1x1x!h>)
  %0 = nn.constant dense<[[[[7]]], [[[8]]], [[[9]]], [[[9]]]]> : tensor<4x1x1x1xi16> -> tensor<4x1x1x1x!h>
  check.expect_eq %all, %0 : tensor<4x1x1x1x!h>
  %shape = nn.constant dense<[4, 1, 1]> : tensor<3xi64>
  %open = nn.reshape %x, %shape : (tensor<4x1x1x!x>, tensor<3xi64>) -> tensor<?x1x1x!x>
  %states, %end = nn.rnn %open, %one, %one {hidden_size = 1, activations = ["Relu"], components = {"hidden/initial" = !h, "hidden/rounded" = !q, "hidden/sum" = !h, "hidden/relu" = !h}} : (tensor<?x1x1x!x>, tensor<1x1x1x!q>, tensor<1x1x1x!q>) -> (tensor<?x1x1x1x!h>, tensor<1x1x1x!h>)
  %found = nn.reshape %states : (tensor<?x1x1x1x!h>) -> tensor<4x1x1x1x!h>
  check.expect_eq %found, %0 : tensor<4x1x1x1x!h>
  func.return
}
