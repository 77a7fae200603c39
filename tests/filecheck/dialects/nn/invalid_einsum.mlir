// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @term(%x: tensor<2xf32>) {
  // expected-error @+1 {{equation term 'i1' must consist of letters and at most one '...'}}
  %0 = nn.einsum %x {equation = "i1->i"} : tensor<2xf32>
  func.return
}
// -----
func.func @operand_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{the equation has 2 terms, but the op has 1 operands}}
  %0 = nn.einsum %x {equation = "i,i->i"} : tensor<2xf32>
  func.return
}
// -----
func.func @rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{term 'ij' does not match an operand of shape [2]}}
  %0 = nn.einsum %x {equation = "ij->i"} : tensor<2xf32>
  func.return
}
// -----
func.func @sizes(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{label 'i' has two different sizes, 2 and 3}}
  %0 = nn.einsum %x {equation = "ii->i"} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @unknown_label(%x: tensor<2xf32>) {
  // expected-error @+1 {{the output term 'k' must use labels of the inputs, each at most once}}
  %0 = nn.einsum %x {equation = "i->k"} : tensor<2xf32>
  func.return
}
// -----
func.func @no_operands() {
  // expected-error @+1 {{expected at least one operand}}
  %0 = nn.einsum {equation = "i->i"} : () -> tensor<2xf32>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @three_quantized(%x: tensor<2x!x>) {
  // expected-error @+1 {{at most 2 quantized operands are supported, but it has 3}}
  %0 = nn.einsum %x, %x, %x {equation = "i,i,i->i"} : (tensor<2x!x>, tensor<2x!x>, tensor<2x!x>) -> tensor<2x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
!c = !quant.uniform<i8:f32:0, {0.5, 0.25}>
func.func @several_scales(%x: tensor<2x!x>, %c: tensor<2x!c>) {
  // expected-error @+1 {{operands must have one scale, but got '!quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>'}}
  %0 = nn.einsum %x, %c {equation = "i,i->"} : (tensor<2x!x>, tensor<2x!c>) -> tensor<!x>
  func.return
}
