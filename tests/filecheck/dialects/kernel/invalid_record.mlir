// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{must either return a tensor or write to a memref}}
  kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf64>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{input must be f32, but got 'tensor<3xf64>'}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf64>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<2xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{offset must be one i64, but got 'tensor<2xi64>'}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<2xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi32>) {
  // expected-error @+1 {{records must be a 1-D tensor of i64, but got 'tensor<60xi32>'}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<60xi32> -> tensor<60xi32>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) {
  // expected-error @+1 {{result must have the type of the records, but got 'tensor<61xi64>'}}
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
  // expected-error @+1 {{per-axis ranges require a static size along axis 0}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 axis 0 : i64 : tensor<?xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return
}
// -----
func.func @main(%x: tensor<3xf32>, %p: tensor<1xi64>, %r: tensor<20xi64>) {
  // expected-error @+1 {{expected records of at least 22 words, but got 20}}
  %0 = kernel.record %x at %p in %r bins 4 : i64 axis 0 : i64 : tensor<3xf32>, tensor<1xi64>, tensor<20xi64> -> tensor<20xi64>
  func.return
}
// -----
func.func @main(%x: tensor<2x3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>, %n: tensor<2xi64>) {
  // expected-error @+1 {{runs require two i64, a 1-D input and no axis, but got 'tensor<2xi64>' and 'tensor<2x3xf32>'}}
  %0 = kernel.record %x at %p in %r runs %n bins 4 : i64 : tensor<2x3xf32>, tensor<1xi64>, tensor<60xi64>, tensor<2xi64> -> tensor<60xi64>
  func.return
}
