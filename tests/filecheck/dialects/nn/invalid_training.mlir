// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @ratios(%x: tensor<2xf32>, %r: tensor<2xf32>) {
  // expected-error @+1 {{ratio must be one float, but got 'tensor<2xf32>'}}
  %0, %1 = nn.dropout %x, %r : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>)
  func.return
}
// -----
func.func @integer_ratio(%x: tensor<2xf32>, %r: tensor<i32>) {
  // expected-error @+1 {{ratio must be one float, but got 'tensor<i32>'}}
  %0, %1 = nn.dropout %x, %r : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi1>)
  func.return
}
// -----
func.func @no_answer(%x: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{training must be one i1, but got 'tensor<f32>'}}
  %0, %1 = nn.dropout %x, %r, %r : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xi1>)
  func.return
}
// -----
func.func @mask(%x: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{expected a result with elements of type 'i1', but got 'f32'}}
  %0, %1 = nn.dropout %x, %r : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}
// -----
func.func @integers(%x: tensor<2xi32>, %r: tensor<f32>) {
  // expected-error @+1 {{tensor<2xi32>}}
  %0, %1 = nn.dropout %x, %r : (tensor<2xi32>, tensor<f32>) -> (tensor<2xi32>, tensor<2xi1>)
  func.return
}
// -----
func.func @channels(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{parameters must have one element per channel (3), but got 'tensor<4xf32>'}}
  %0, %1, %2, %3, %4 = nn.batch_norm_training %x, %s, %s, %m, %s : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}
// -----
func.func @no_channels(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{data must have rank >= 2, but got 'tensor<3xf32>'}}
  %0, %1, %2, %3, %4 = nn.batch_norm_training %x, %s, %s, %s, %s : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}
// -----
func.func @types(%x: tensor<2x3xf16>, %s: tensor<3xf32>) {
  // expected-error @+1 {{f16}}
  %0, %1, %2, %3, %4 = nn.batch_norm_training %x, %s, %s, %s, %s : (tensor<2x3xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>)
  func.return
}
