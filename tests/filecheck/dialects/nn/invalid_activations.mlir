// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @slopes_widen(%x: tensor<1x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @+1 {{slope of type 'tensor<2x3xf32>' must broadcast to the input 'tensor<1x3xf32>'}}
  %0 = nn.prelu %x, %s : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
func.func @slopes_rank(%x: tensor<3xf32>, %s: tensor<1x3xf32>) {
  // expected-error @+1 {{slope of type 'tensor<1x3xf32>' must broadcast to the input 'tensor<3xf32>'}}
  %0 = nn.prelu %x, %s : (tensor<3xf32>, tensor<1x3xf32>) -> tensor<3xf32>
  func.return
}
// -----
func.func @integers(%x: tensor<3xi8>) {
  // expected-error @+1 {{does not support operand type 'tensor<3xi8>'; its elements may be float, quantized}}
  %0 = nn.elu %x : tensor<3xi8>
  func.return
}
