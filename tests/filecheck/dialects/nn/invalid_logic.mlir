// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @booleans(%x: tensor<3xi8>) {
  // expected-error @+1 {{operand of type tensor<3xi8> is not accepted; its elements may be boolean}}
  %0 = nn.and %x, %x : tensor<3xi8>
  func.return
}
// -----
func.func @bits_of_booleans(%x: tensor<3xi1>) {
  // expected-error @+1 {{operand of type tensor<3xi1> is not accepted; its elements may be integer}}
  %0 = nn.bitwise_not %x : tensor<3xi1>
  func.return
}
// -----
func.func @direction(%x: tensor<3xi8>) {
  // expected-error @+1 {{direction must be one of ['left', 'right'], found 'LEFT'}}
  %0 = nn.bit_shift %x, %x {direction = "LEFT"} : tensor<3xi8>
  func.return
}
// -----
func.func @no_direction(%x: tensor<3xi8>) {
  // expected-error @+1 {{property 'direction' expected in operation 'nn.bit_shift'}}
  %0 = nn.bit_shift %x, %x : tensor<3xi8>
  func.return
}
// -----
func.func @question(%x: tensor<3xf32>) {
  // expected-error @+1 {{result has elements of type f32, the operands give i1}}
  %0 = nn.is_nan %x : tensor<3xf32>
  func.return
}
