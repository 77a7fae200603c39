// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<5x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{data must have shape [time, batch, input], but got 'tensor<5x3xf32>'}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<5x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @weight(%x: tensor<5x1x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{expected weights of shape [1, 2, 3], but got 'tensor<1x4x3xf32>'}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x4x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @bias(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>, %e0: tensor<1x2xf32>) {
  // expected-error @+1 {{expected bias of shape [1, 4], but got 'tensor<1x2xf32>'}}
  %0, %1 = nn.rnn %x, %w, %r, %e0 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @lengths(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>, %e0: tensor<2xi32>) {
  // expected-error @+1 {{expected lengths of shape [1], but got 'tensor<2xi32>'}}
  %0, %1 = nn.rnn %x, %w, %r, _, %e0 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<2xi32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @elements_of_lengths(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>, %e0: tensor<1xi64>) {
  // expected-error @+1 {{lengths must have elements of type i32, but got 'tensor<1xi64>'}}
  %0, %1 = nn.rnn %x, %w, %r, _, %e0 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1xi64>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @initial_state(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>, %e0: tensor<1x2xf32>) {
  // expected-error @+1 {{expected initial hidden state of shape [1, 1, 2], but got 'tensor<1x2xf32>'}}
  %0, %1 = nn.rnn %x, %w, %r, _, _, %e0 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @too_many_functions(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{expected 1 activation functions for each of 1 directions, but got ['Tanh', 'Relu']}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, activations = ["Tanh", "Relu"]} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @unknown_function(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{activation function must be one of Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus, but got 'Gelu'}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, activations = ["Gelu"]} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @parameters_of_nothing(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{'nn.rnn' op 'activation_alpha' must have one value per activation function, but got [0.5]}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, activation_alpha = [0.5]} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @too_many_parameters(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{'nn.rnn' op 'activation_beta' must have one value per activation function, but got [0.5, 1.0]}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, activations = ["HardSigmoid"], activation_beta = [0.5, 1.0]} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
!q = !quant.uniform<i8:f32, 0.5>
func.func @without_components(%x: tensor<5x1x3x!q>, %w: tensor<1x2x3x!q>, %r: tensor<1x2x2x!q>) {
  // expected-error @+1 {{quantized operands require 'components' with the types of the parts}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<5x1x3x!q>, tensor<1x2x3x!q>, tensor<1x2x2x!q>) -> (tensor<5x1x1x2x!q>, tensor<1x1x2x!q>)
  func.return
}
// -----
!a = !quant.any<i8:f32>
!q = !quant.uniform<i8:f32, 0.5>
func.func @weights_of_no_type(%x: tensor<5x1x3x!q>, %r: tensor<1x2x2x!q>) {
  %w = nn.constant dense<1> : tensor<1x2x3xi8> -> tensor<1x2x3x!a>
  // expected-error @+1 {{components do not define the types of all parts}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, components = {"hidden/sum" = !q, "hidden/tanh" = !q, "hidden/initial" = !q}} : (tensor<5x1x3x!q>, tensor<1x2x3x!a>, tensor<1x2x2x!q>) -> (tensor<5x1x1x2x!q>, tensor<1x1x2x!q>)
  func.return
}
// -----
func.func @mixed_list(%x: tensor<5x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) {
  // expected-error @+1 {{expected a list of strings or a list of numbers, but got both}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2, activations = ["Tanh", 1]} : (tensor<5x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @peepholes(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>, %p: tensor<1x8xf32>) {
  // expected-error @+1 {{expected peepholes of shape [1, 6], but got 'tensor<1x8xf32>'}}
  %0, %1, %2 = nn.lstm %x, %w, %r, _, _, _, _, %p {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, tensor<1x8xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
// -----
func.func @initial_cell(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>, %c: tensor<2x1x2xf32>) {
  // expected-error @+1 {{expected initial cell state of shape [1, 1, 2], but got 'tensor<2x1x2xf32>'}}
  %0, %1, %2 = nn.lstm %x, %w, %r, _, _, _, %c {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>, tensor<2x1x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
