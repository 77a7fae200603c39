// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'fix-shapes{shapes="x=3x2"}'

// expected-error @+1 {{'func.func' op input 'x' must have shape ?x4, but got 3x2}}
func.func @main(%x: tensor<?x4xf32> {nn.name = "x"}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op has no input 'x'; did you mean 'xs'? (available: xs)}}
func.func @main(%x: tensor<?x2xf32> {nn.name = "xs"}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op input 'y' has dynamic dimensions (?); help: fix its shape with --shape y=1 (shapes={'y': [1]})}}
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["batch", ""]}, %y: tensor<?xf32> {nn.name = "y", nn.dims = ["rows"]}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op dimension 'n' must have one size, but got 2 for input 'x' and 3 for another input}}
func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["n", "n"]}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op input 's' must be a tensor to be compiled, but got type !nn.sequence<tensor<?xf32>>}}
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}, %s: !nn.sequence<tensor<?xf32>> {nn.name = "s"}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op computes sizes or other parameters from the input 'sizes': a specialized module is made for a value of each}}
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}, %sizes: tensor<2xi64> {nn.name = "sizes"}) -> tensor<?x?xf32> {
  %0 = nn.reshape %x, %sizes : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> tensor<?x?xf32> {
  %0 = nn.cast %x : (tensor<?x?xf32>) -> tensor<?x?xi64>
  %1 = nn.reduce_max %0 {axes = [0], keep_dims = false} : (tensor<?x?xi64>) -> tensor<?xi64>
  // expected-error @+1 {{'nn.reshape' op (node) computes its operand 'shape' from the data, but it must be known at compile time}}
  %2 = nn.reshape %x, %1 : (tensor<?x?xf32>, tensor<?xi64>) -> tensor<?x?xf32> {origin = "node"}
  func.return %2 : tensor<?x?xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> tensor<?x3xf32> {
  %0 = nn.constant dense<1.0> : tensor<3xf32>
  // expected-error @+1 {{'nn.add' op (node) sizes 2 and 3 cannot be broadcast}}
  %1 = nn.add %x, %0 : (tensor<?x?xf32>, tensor<3xf32>) -> tensor<?x3xf32> {origin = "node"}
  func.return %1 : tensor<?x3xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.abs' op (node) must have a result of type tensor<3x2xf32>, as its operands imply, but got tensor<?x4xf32>}}
  %0 = nn.abs %x : (tensor<?x?xf32>) -> tensor<?x4xf32> {origin = "node"}
  func.return %0 : tensor<?x4xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> tensor<?x?xf32> {
  %1 = nn.constant dense<[4, -1]> : tensor<2xi64>
  // expected-error @+1 {{'nn.reshape' op (node) cannot reshape [3, 2] (6 elements): 6 is not divisible by the product of the known output sizes, 4}}
  %2 = nn.reshape %x, %1 : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32> {origin = "node"}
  func.return %2 : tensor<?x?xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> tensor<?x?xf32> {
  %0 = nn.constant dense<0> : tensor<2xi64>
  %1 = nn.shape %x : (tensor<?x?xf32>) -> tensor<2xi64>
  // expected-error @+1 {{'nn.div' op (node) cannot be computed: }}
  %2 = nn.div %1, %0 : tensor<2xi64> {origin = "node"}
  %3 = nn.expand %x, %2 : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %3 : tensor<?x?xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) -> !nn.sequence<tensor<?x?xf32>> {
  // expected-error @+1 {{'nn.sequence_construct' op (node) returns !nn.sequence<tensor<3x2xf32>>, but compiled functions must return tensors}}
  %0 = nn.sequence_construct %x : (tensor<?x?xf32>) -> !nn.sequence<tensor<?x?xf32>> {origin = "node"}
  func.return %0 : !nn.sequence<tensor<?x?xf32>>
}
// -----
func.func private @callee(%x: tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @main(%x: tensor<?x?xf32> {nn.name = "x"}) {
  // expected-error @+1 {{'func.call' op calls @callee, which was specialized for other sizes; inline it first}}
  %0 = func.call @callee(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return
}
