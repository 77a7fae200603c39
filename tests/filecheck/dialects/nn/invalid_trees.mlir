// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rows(%x: tensor<2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op (trees) input must have shape [samples, features], but got 'tensor<2xf32>'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<1x2xf32> {origin = "trees"}
  func.return
}
// -----
func.func @aggregate(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{count must be >= 1 and aggregate one of sum, min, max, but got 2 and 'average'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2, aggregate = "average"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @no_score(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{count must be >= 1 and aggregate one of sum, min, max, but got 0 and 'sum'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 0} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x0xf32>
  func.return
}
// -----
func.func @thresholds(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf64>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op 'thresholds' must be tensor<3xf32>, but got 'tensor<3xf64>'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf64>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @children(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<2x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op 'children' must be tensor<3x2xi32>, but got 'tensor<2x2xi32>'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<2x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @weights(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op 'weights' must be tensor<5x3xf32>, but got 'tensor<5x2xf32>'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 3} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x3xf32>
  func.return
}
// -----
func.func @roots(%x: tensor<?x2xf32>, %r: tensor<4x1xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op 'roots' must be tensor<4xi32>, but got 'tensor<4x1xi32>'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4x1xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @targets(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>, %s: tensor<5x2xi32>) {
  // expected-error @+1 {{aggregate 'min' requires one weight per score in each leaf, and no targets}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w, %s {count = 2, aggregate = "min"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>, tensor<5x2xi32>) -> tensor<?x2xf32>
  func.return
}
