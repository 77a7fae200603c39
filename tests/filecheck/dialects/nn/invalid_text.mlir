// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @no_text(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.string_concat' op (join) does not support operand type 'tensor<2xf32>'; its elements may be string}}
  %0 = nn.string_concat %x, %x : tensor<2xf32> {origin = "join"}
  func.return
}
// -----
func.func @arithmetic(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{does not support operand type 'tensor<2x!nn.string>'; its elements may be float, integer, quantized}}
  %0 = nn.add %x, %x : tensor<2x!nn.string>
  func.return
}
// -----
func.func @padding(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{does not support operand type 'tensor<2x!nn.string>'; its elements may be float, integer, boolean, quantized}}
  %0 = nn.pad %x {pads = [1, 0]} : (tensor<2x!nn.string>) -> tensor<3x!nn.string>
  func.return
}
// -----
func.func @cast(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot cast to '!nn.string'}}
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2x!nn.string>
  func.return
}
// -----
func.func @rows(%x: tensor<2x3x!nn.string>) {
  // expected-error @+1 {{input must have shape [C] or [1, C], but got 'tensor<2x3x!nn.string>'}}
  %0 = nn.string_normalizer %x : tensor<2x3x!nn.string>
  func.return
}
// -----
func.func @case(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{case_change must be one of NONE, LOWER, UPPER, but got 'TITLE'}}
  %0 = nn.string_normalizer %x {case_change = "TITLE"} : tensor<2x!nn.string>
  func.return
}
// -----
func.func @words(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{stopwords must be strings, but got '[1 : i64]'}}
  %0 = "nn.string_normalizer"(%x) <{stopwords = [1 : i64]}> : (tensor<2x!nn.string>) -> tensor<?x!nn.string>
  func.return
}
