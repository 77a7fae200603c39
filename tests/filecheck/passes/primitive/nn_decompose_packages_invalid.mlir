// RUN: qmlir-opt %s --load-plugin tests.support.spoilt --split-input-file --verify-diagnostics -p nn-decompose

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @+1 {{'spoilt.raises' op (layer1) its decomposition raises KeyError: 'lost' (in package 'tests.support.spoilt', {{.*}}spoilt.py:{{[0-9]+}})}}
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
