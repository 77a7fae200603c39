// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{sequences must contain tensors, but got 'i32'}}
func.func @of_tensors(%x: !nn.sequence<i32>) {
  func.return
}
// -----
func.func @element_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+1 {{all tensors of a sequence must have one element type, but got f16, f32}}
  %0 = nn.sequence_construct %x, %y : (tensor<2xf32>, tensor<2xf16>) -> !nn.sequence<tensor<2xf32>>
  func.return
}
// -----
func.func @nothing() {
  // expected-error @+1 {{all tensors of a sequence must have one element type, but got none}}
  %0 = nn.sequence_construct : () -> !nn.sequence<tensor<2xf32>>
  func.return
}
// -----
func.func @inserted_type(%x: !nn.sequence<tensor<2xf32>>, %y: tensor<2xi64>) {
  // expected-error @+1 {{'nn.sequence_insert' op (put) all tensors of a sequence must have one element type, but got f32, i64}}
  %0 = nn.sequence_insert %x, %y : (!nn.sequence<tensor<2xf32>>, tensor<2xi64>) -> !nn.sequence<tensor<2xf32>> {origin = "put"}
  func.return
}
// -----
func.func @result(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected a result of type '!nn.sequence<tensor<2xf32>>', but got '!nn.sequence<tensor<3xf32>>'}}
  %0 = nn.sequence_construct %x : (tensor<2xf32>) -> !nn.sequence<tensor<3xf32>>
  func.return
}
// -----
func.func @position(%x: !nn.sequence<tensor<2xf32>>, %i: tensor<2xi64>) {
  // expected-error @+1 {{position must be one integer, but got 'tensor<2xi64>'}}
  %0 = nn.sequence_at %x, %i : (!nn.sequence<tensor<2xf32>>, tensor<2xi64>) -> tensor<2xf32>
  func.return
}
// -----
func.func @taken(%x: !nn.sequence<tensor<*xf32>>, %i: tensor<i64>) {
  // expected-error @+1 {{expected a result of type 'tensor<*xf32>', but got 'tensor<2xf16>'}}
  %0 = nn.sequence_at %x, %i : (!nn.sequence<tensor<*xf32>>, tensor<i64>) -> tensor<2xf16>
  func.return
}
// -----
func.func @parts(%x: tensor<4xf32>, %s: tensor<2x2xi64>) {
  // expected-error @+1 {{split must be an integer or a 1-D tensor of integers, but got 'tensor<2x2xi64>'}}
  %0 = nn.split_to_sequence %x, %s : (tensor<4xf32>, tensor<2x2xi64>) -> !nn.sequence<tensor<?xf32>>
  func.return
}
// -----
func.func @axis(%x: !nn.sequence<tensor<2xf32>>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = nn.concat_from_sequence %x {axis = 1} : (!nn.sequence<tensor<2xf32>>) -> tensor<?xf32>
  func.return
}
// -----
func.func @no_tensor(%x: !nn.sequence<tensor<2xf32>>) {
  // expected-error @+1 {{'nn.relu' op operand 'input' at position 0 does not verify}}
  %0 = nn.relu %x : (!nn.sequence<tensor<2xf32>>) -> tensor<2xf32>
  func.return
}
