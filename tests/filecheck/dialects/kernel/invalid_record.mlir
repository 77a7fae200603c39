// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{has a result and works on tensors, or has none and works on memory}}
  kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf64>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{takes f32, found tensor<3xf64>}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf64>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<2xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{the place is one i64, found tensor<2xi64>}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<2xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi32>) {
  // expected-error @+1 {{records are words of i64 along one axis, found tensor<60xi32>}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi32> -> tensor<60xi32>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{keeps the type of the records, found tensor<61xi64>}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<61xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 axis 1 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<?xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{keeps a range for each index of axis 0, whose size is not known}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 axis 0 : i64 : tensor<?xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{takes a record of 65 words, the records have 60}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 axis 0 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
