// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @no_text(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.string_concat' op (join) operand of type tensor<2xf32> is not accepted; its elements may be string}}
  %0 = nn.string_concat %x, %x : tensor<2xf32> {origin = "join"}
  func.return
}
// -----
func.func @arithmetic(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{operand of type tensor<2x!nn.string> is not accepted; its elements may be float, integer, quantized}}
  %0 = nn.add %x, %x : tensor<2x!nn.string>
  func.return
}
// -----
func.func @padding(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{operand of type tensor<2x!nn.string> is not accepted}}
  %0 = nn.pad %x {pads = [1, 0]} : (tensor<2x!nn.string>) -> tensor<3x!nn.string>
  func.return
}
// -----
func.func @cast(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot cast to !nn.string}}
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2x!nn.string>
  func.return
}
// -----
func.func @rows(%x: tensor<2x3x!nn.string>) {
  // expected-error @+1 {{takes a list of strings, or one row of them, found tensor<2x3x!nn.string>}}
  %0 = nn.string_normalizer %x : tensor<2x3x!nn.string>
  func.return
}
// -----
func.func @case(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{case_change must be one of ['NONE', 'LOWER', 'UPPER'], found 'TITLE'}}
  %0 = nn.string_normalizer %x {case_change = "TITLE"} : tensor<2x!nn.string>
  func.return
}
// -----
func.func @words(%x: tensor<2x!nn.string>) {
  // expected-error @+1 {{stop words are strings, found [1 : i64]}}
  %0 = "nn.string_normalizer"(%x) <{stopwords = [1 : i64]}> : (tensor<2x!nn.string>) -> tensor<?x!nn.string>
  func.return
}
