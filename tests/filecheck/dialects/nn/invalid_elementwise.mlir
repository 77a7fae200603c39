// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @float_only(%x: tensor<2xi32>) {
  // expected-error @+1 {{operand of type tensor<2xi32> is not accepted; its elements may be float, quantized}}
  %0 = nn.sin %x : tensor<2xi32>
  func.return
}
// -----
func.func @remainder_of_quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{is not accepted; its elements may be float, integer}}
  %0 = nn.mod %x, %x : tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @bit_cast_width(%x: tensor<2xf32>) {
  // expected-error @+1 {{the bits of f32 cannot be read as i16, which has another number of them}}
  %0 = nn.bit_cast %x : (tensor<2xf32>) -> tensor<2xi16>
  func.return
}
// -----
func.func @bit_cast_to_nothing(%x: tensor<2xf32>) {
  // expected-error @+1 {{the bits of f32 cannot be read as index}}
  %0 = nn.bit_cast %x : (tensor<2xf32>) -> tensor<2xindex>
  func.return
}
// -----
func.func @cast_to_nothing(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot cast to index}}
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2xindex>
  func.return
}
// -----
func.func @condition(%c: tensor<2xi8>, %x: tensor<2xf32>) {
  // expected-error @+1 {{the condition must be i1, found tensor<2xi8>}}
  %0 = nn.where %c, %x, %x : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
