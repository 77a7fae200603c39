// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @types(%x: tensor<2xi8>, %y: tensor<2xi16>) {
  // expected-error @+1 {{attribute tensor<2xi8> expected from variable 'T', but got tensor<2xi16>}}
  "check.expect_eq"(%x, %y) : (tensor<2xi8>, tensor<2xi16>) -> ()
  func.return
}
// -----
func.func @close_integers(%x: tensor<2xi8>) {
  // expected-error @+1 {{operands must be floats, but got 'tensor<2xi8>'; use check.expect_eq for integers}}
  check.expect_close %x, %x : tensor<2xi8>
  func.return
}
// -----
func.func @negative_bound(%x: tensor<2xf32>) {
  // expected-error @+1 {{relative must be >= 0, but got -1.0}}
  check.expect_close %x, %x {relative = -1.0 : f64} : tensor<2xf32>
  func.return
}
