// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rows(%x: tensor<2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'nn.tree_ensemble' op (trees) takes a row for each sample, found tensor<2xf32>}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<1x2xf32> {origin = "trees"}
  func.return
}
// -----
func.func @aggregate(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{gives one score or more by sum, min, max, found 2 by 'average'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2, aggregate = "average"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @no_score(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{gives one score or more by sum, min, max, found 0 by 'sum'}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 0} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x0xf32>
  func.return
}
// -----
func.func @thresholds(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf64>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'thresholds' is tensor<3xf32>, found tensor<3xf64>}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf64>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @children(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<2x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'children' is tensor<3x2xi32>, found tensor<2x2xi32>}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<2x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @weights(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'weights' is tensor<5x3xf32>, found tensor<5x2xf32>}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 3} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x3xf32>
  func.return
}
// -----
func.func @roots(%x: tensor<?x2xf32>, %r: tensor<4x1xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>) {
  // expected-error @+1 {{'roots' is tensor<4xi32>, found tensor<4x1xi32>}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w {count = 2} : (tensor<?x2xf32>, tensor<4x1xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32>
  func.return
}
// -----
func.func @targets(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>, %s: tensor<5x2xi32>) {
  // expected-error @+1 {{'min' takes a weight of each score from every leaf, and no targets}}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w, %s {count = 2, aggregate = "min"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>, tensor<5x2xi32>) -> tensor<?x2xf32>
  func.return
}
