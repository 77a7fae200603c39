// RUN: qmlir-opt %s --load-plugin tests.support.spoilt --split-input-file --verify-diagnostics -p convert-nn-to-kernel

// What goes wrong in a package names the operation, its node, what was found and the package.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.raises' op (layer1) lowering raised KeyError: 'lost' (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.raises %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.one_value' op (layer1) decomposition 'one_value' must return values for (tensor<4xf32>), but returned no list, tensor<4xf32> (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.one_value %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.nothing' op (layer1) decomposition 'nothing' must return values for (tensor<4xf32>), but returned a list of () (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.nothing %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.no_value' op (layer1) decomposition 'no_value' must return values for (tensor<4xf32>), but returned a list of (NoneType) (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.no_value %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.other_type' op (layer1) decomposition 'other_type' must return values for (tensor<4xf32>), but returned a list of (f32) (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.other_type %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.fits' op (layer1) the check of whether 'tests.support.spoilt:raises' applies failed: KeyError: 'lost' (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.fits %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.verifier' op (layer1) cannot be verified: KeyError: 'verifier' (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
  %0 = spoilt.verifier %x : tensor<4xf32> {origin = "layer1"}
  func.return %0 : tensor<4xf32>
}
