// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'nn-gradient{wrt=x loss=y}'

func.func private @seen(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  // expected-error @+1 {{'func.call' op (seen) cannot be differentiated: it has no gradient rule}}
  %0 = func.call @seen(%x) {origin = "seen"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = nn.reduce_sum %0 {keep_dims = false} : (tensor<2xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// -----
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  // expected-error @+1 {{'nn.cum_prod' op (running) cannot be differentiated: cumulative products have no gradient rule}}
  %0 = nn.cum_prod %x {axis = 0} : tensor<2xf32> {origin = "running"}
  %1 = nn.reduce_sum %0 {keep_dims = false} : (tensor<2xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// -----
// expected-error @+1 {{'func.func' op input 'x' must be a float to differentiate with respect to it, but got 'tensor<i64>'}}
func.func @main(%x: tensor<i64> {nn.name = "x"}, %z: tensor<f32>) -> (tensor<f32> {nn.name = "y"}) {
  func.return %z : tensor<f32>
}
// -----
// expected-error @+1 {{'func.func' op has no input 'x'; did you mean 'xs'? (available: xs)}}
func.func @main(%z: tensor<f32> {nn.name = "xs"}) -> (tensor<f32> {nn.name = "y"}) {
  func.return %z : tensor<f32>
}
// -----
// expected-error @+1 {{'func.func' op has no output 'y' (available: loss)}}
func.func @main(%x: tensor<f32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "loss"}) {
  func.return %x : tensor<f32>
}
// -----
// expected-error @+1 {{'func.func' op loss 'y' must be a scalar float, but got 'tensor<2xf32>'}}
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
  func.return %x : tensor<2xf32>
}
// -----
// expected-error @+1 {{'func.func' op loss 'y' must be a scalar float, but got 'tensor<i64>'}}
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<i64> {nn.name = "y"}) {
  %0 = nn.size %x : (tensor<2xf32>) -> tensor<i64>
  func.return %0 : tensor<i64>
}
// -----
func.func @main(%x: tensor<?xf32> {nn.name = "x"}, %z: tensor<?xf32>) -> (tensor<f32> {nn.name = "y"}) {
  // expected-error @+1 {{'nn.mul' op (product) cannot be differentiated: dimension 0 of 'tensor<?xf32>' is dynamic, and it may be broadcast; fix the input shapes with --shape}}
  %0 = nn.mul %x, %z : tensor<?xf32> {origin = "product"}
  %1 = nn.reduce_sum %0 {keep_dims = false} : (tensor<?xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// -----
func.func @main(%x: tensor<1x1x8xf32> {nn.name = "x"}) -> (tensor<1x1x1xf32> {nn.name = "y"}) {
  // expected-error @+1 {{'nn.max_pool' op cannot be differentiated: padding must be smaller than the window, but got pads [1, 0]}}
  %0 = nn.max_pool %x {kernel = [1], strides = [9], pads = [1, 0]} : (tensor<1x1x8xf32>) -> tensor<1x1x1xf32>
  func.return %0 : tensor<1x1x1xf32>
}
// -----
func.func @main(%x: tensor<3xf32> {nn.name = "x"}, %i: tensor<1xi64>, %u: tensor<1xf32>) -> (tensor<f32> {nn.name = "y"}) {
  // expected-error @+1 {{'nn.scatter_elements' op cannot be differentiated: reduction 'mul' has no gradient rule}}
  %0 = nn.scatter_elements %x, %i, %u {reduction = "mul"} : (tensor<3xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<3xf32>
  %1 = nn.reduce_sum %0 {keep_dims = false} : (tensor<3xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
// -----
func.func @main(%x: tensor<f32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  func.return %x : tensor<f32>
}
// expected-error @+1 {{'func.func' op has the name of a function that differentiating @main creates}}
func.func @backward() {
  func.return
}
// -----
func.func @main(%x: tensor<f32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
  func.return %x : tensor<f32>
}
func.func @other(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'func.call' op calls @main, which differentiation splits in two; run inline first}}
  %0 = func.call @main(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// -----
func.func @main(%x: tensor<f32> {nn.name = "x"}, %c: i1 {nn.name = "c"}) -> (tensor<f32> {nn.name = "y"}) {
  // expected-error @+1 {{'scf.if' op (choice) cannot be differentiated: control flow has no gradient rule}}
  %0 = scf.if %c -> (tensor<f32>) {
    %1 = nn.exp %x : tensor<f32>
    scf.yield %1 : tensor<f32>
  } else {
    scf.yield %x : tensor<f32>
  } {origin = "choice"}
  func.return %0 : tensor<f32>
}
