// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels --split-input-file --verify-diagnostics -p convert-nn-to-kernel,kernel-verify-custom

func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'kernel.custom' op (node1) 'tests.support.custom_kernels:off_by_one' does not compute 'wrong.off_by_one': at [2] expected}}
  %0 = wrong.off_by_one %x {origin = "node1"} : tensor<4xi32> -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
// -----
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  // expected-error @+1 {{'tests.support.custom_kernels:unwritten' does not compute 'wrong.unwritten': at [3] expected}}
  %0 = wrong.unwritten %x : tensor<4xi8> -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tests.support.custom_kernels:writes_operands' raised TypingError: Failed in nopython mode pipeline (step: nopython frontend) (in package 'tests.support.custom_kernels', tests/support/custom_kernels.py:227)}}
  %0 = wrong.writes_operands %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tests.support.custom_kernels:raising' raised ValueError: more than two}}
  %0 = wrong.raising %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls 'tests.support.custom_kernels:plain', which is not a numba function; decorate it with numba.njit}}
  %0 = wrong.plain %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot import 'tests.support.custom_kernels:nowhere': module 'tests.support.custom_kernels' has no attribute 'nowhere'}}
  %0 = wrong.lost %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'wrong.meaningless' op cannot use kernel 'tests.support.custom_kernels:off_by_one': it would be checked against the interpreter, which cannot evaluate this operation}}
  %0 = wrong.meaningless %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
// Floats may be apart as far as the package says.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = wrong.rough %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
// No kernel fits: another bound, and unsigned integers that do not fill a byte.
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+1 {{'soft.threshold' op is not legal here, and no pattern converts it; expected operations that a dialect or a package has a lowering or a kernel for}}
  %0 = soft.threshold %x by 0.25 : f32 : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
// -----
!u = !quant.uniform<u4:f32, 0.5>
func.func @main(%x: tensor<4x!u>) -> tensor<4x!u> {
  // expected-error @+1 {{'wrong.off_by_one' op is not legal here}}
  %0 = wrong.off_by_one %x : tensor<4x!u> -> tensor<4x!u>
  func.return %0 : tensor<4x!u>
}
// -----
// Nobody says of this function that it stands in for the operation.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls 'tests.support.custom_kernels:threshold' for 'nn.relu', but no package lists it in `Contribution.kernels`}}
  %0 = kernel.custom "tests.support.custom_kernels:threshold" ins(%x : tensor<4xf32>) -> tensor<4xf32> computes {op = "nn.relu", operands = [tensor<4xf32>], results = [tensor<4xf32>]}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kernel.custom' op implements 'wrong.meaningless', which the interpreter cannot evaluate}}
  %0 = kernel.custom "tests.support.custom_kernels:off_by_one" ins(%x : tensor<4xf32>) -> tensor<4xf32> computes {op = "wrong.meaningless", operands = [tensor<4xf32>], results = [tensor<4xf32>]}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'wrong.unasked' op the check of whether 'tests.support.custom_kernels:off_by_one' applies failed: AttributeError: 'UnaskedOp' object has no attribute 'bound'}}
  %0 = wrong.unasked %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{cannot make inputs for 'tests.support.custom_kernels:off_by_one': ValueError: low >= high}}
  %0 = wrong.unmade %x : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
