// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p inline
// RUN: not qmlir-opt %S/Inputs/wrong_expectations.mlir --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: wrong_expectations.mlir: unexpected {{.*}}wrong_expectations.mlir:2:3: error: 'nn.add' op sizes 2 and 3 cannot be broadcast
// CHECK: wrong_expectations.mlir:7: error: error was not produced
// CHECK: wrong_expectations.mlir:7: error: warning was not produced

func.func @on_the_line(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32> // expected-error {{sizes 2 and 3 cannot be broadcast}}
  func.return
}
// -----
func.func @above(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  // expected-error-re @above {{sizes {{[0-9]}} and {{[0-9]}} cannot be broadcast}}
  func.return
}
// -----
// expected-error @below {{undefined symbol alias '!missing'}}
func.func private @below(!missing)
// -----
func.func private @loop(%x: f32) -> f32 {
  // expected-remark @+1 {{is recursive}}
  %0 = func.call @loop(%x) : (f32) -> f32
  func.return %0 : f32
}
