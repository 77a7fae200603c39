// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @booleans(%x: tensor<3xi8>) {
  // expected-error @+1 {{does not support operand type 'tensor<3xi8>'; its elements may be boolean}}
  %0 = nn.and %x, %x : tensor<3xi8>
  func.return
}
// -----
func.func @bits_of_booleans(%x: tensor<3xi1>) {
  // expected-error @+1 {{does not support operand type 'tensor<3xi1>'; its elements may be integer}}
  %0 = nn.bitwise_not %x : tensor<3xi1>
  func.return
}
// -----
func.func @direction(%x: tensor<3xi8>) {
  // expected-error @+1 {{direction must be one of left, right, but got 'LEFT'}}
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
  // expected-error @+1 {{expected a result with elements of type 'i1', but got 'f32'}}
  %0 = nn.is_nan %x : tensor<3xf32>
  func.return
}
