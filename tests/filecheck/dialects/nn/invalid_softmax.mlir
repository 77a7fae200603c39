// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @axis_out_of_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis -3 is out of range for rank 2}}
  %0 = nn.log_softmax %x {axis = -3} : tensor<2x3xf32>
  func.return
}
// -----
func.func @no_axes(%x: tensor<f32>) {
  // expected-error @+1 {{axis -1 is out of range for rank 0}}
  %0 = nn.hardmax %x : tensor<f32>
  func.return
}
// -----
func.func @integers(%x: tensor<2xi8>) {
  // expected-error @+1 {{operand of type tensor<2xi8> is not accepted; its elements may be float}}
  %0 = nn.hardmax %x : tensor<2xi8>
  func.return
}
