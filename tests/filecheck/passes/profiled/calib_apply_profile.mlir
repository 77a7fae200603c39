// RUN: split-file %s %t
// RUN: qmlir-opt %t/fits.mlir -p 'calib-apply-profile{profile="%S/Inputs/relu.json"},verify-level{level=profiled}' | filecheck %s
// Twice is as good as once, and observers make no difference.
// RUN: qmlir-opt %t/fits.mlir -p 'calib-insert-observers{axis=1},calib-apply-profile{profile="%S/Inputs/relu.json"},calib-apply-profile{profile="%S/Inputs/relu.json"}' --verify-roundtrip | filecheck %s
// RUN: not qmlir-opt %t/other.mlir -p 'calib-apply-profile{profile="%S/Inputs/relu.json"}' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: qmlir-opt %t/other.mlir -p 'calib-apply-profile{profile="%S/Inputs/relu.json" allow_partial}' -o %t/partial.mlir 2>&1 | filecheck %s --check-prefix=WARNED
// RUN: filecheck %s --check-prefix=PARTIAL --input-file %t/partial.mlir
// RUN: qmlir-opt %t/calls.mlir -p 'calib-apply-profile{profile="%S/Inputs/calls.json"}' | filecheck %s --check-prefix=CALLS
// RUN: not qmlir-opt %t/fits.mlir -p 'calib-apply-profile{profile="%t/gone.json"}' 2>&1 | filecheck %s --check-prefix=GONE
// RUN: not qmlir-opt %t/fits.mlir -p 'calib-apply-profile{profile="%t/fits.mlir"}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: sed 's/"relu1"/"relul"/' %S/Inputs/relu.json > %t/typo.json
// RUN: not qmlir-opt %t/fits.mlir -p 'calib-apply-profile{profile="%t/typo.json"}' 2>&1 | filecheck %s --check-prefix=TYPO

// CHECK: !q0 = !quant.calibrated<f32<-1.000000e+00:2.000000e+00>>
// CHECK-NEXT: #c0 = #calib.stats<min = -1.000000e+00, max = 2.000000e+00, mean = 4.062500e-01, std = 0.8654614015078893, count = 8, recorded = {zeros = 2 : i64, sums = [3.250000e+00 : f64, 7.312500e+00 : f64], bins = 8 : i64, exponent = -1 : i64, first = -2 : i64, counts = dense<[1, 1, 2, 1, 2, 0, 1]> : tensor<7xi32>}>
// CHECK-NEXT: !q1 = !quant.calibrated<f32<0.000000e+00:2.000000e+00>>
// CHECK-NEXT: #c1 = #calib.stats<min = 0.000000e+00, max = 2.000000e+00, mean = 5.625000e-01, std = 0.6817945071647321, count = 8, recorded = {zeros = 4 : i64, sums = [4.500000e+00 : f64, 6.250000e+00 : f64], bins = 8 : i64, exponent = -1 : i64, first = 0 : i64, counts = dense<[4, 1, 2, 0, 1]> : tensor<5xi32>}>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x!q0> {nn.name = "x", calib.stats = #c0}) -> tensor<?x4x!q1> {
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : (tensor<?x4x!q0>) -> tensor<?x4x!q1> {origin = "relu1", calib.stats = #c1}
// CHECK-NEXT: func.return [[V1]] : tensor<?x4x!q1>

// OTHER: error: profile '{{.*}}relu.json' does not match the model: it was made for a different model, or after different passes (none); entry 'relu1' matches no value; did you mean 'relu2'?; 'nn.relu' op (relu2) has no profile entry for value 'relu2'; did you mean 'relu1'?; and 1 more; help: use calib-apply-profile{allow_partial} of qmlir-opt to apply the entries that match
// OTHER-NEXT: note: it was made for a different model
// OTHER-NEXT: note: entry 'relu1' matches no value
// OTHER-NEXT: other.mlir:2:3: note: 'nn.relu' op (relu2) has no profile entry for value 'relu2'
// OTHER: other.mlir:3:3: note: 'nn.tanh' op has no profile entry for value 'nn.tanh[0]'
// WARNED: warning: profile '{{.*}}relu.json' does not match the model: {{.*}}; and 1 more
// PARTIAL: @main([[V0:%.+]]: tensor<1x4x!q0> {nn.name = "x", calib.stats = #c0}) -> tensor<1x4xf32> {
// PARTIAL-NEXT: nn.relu [[V0]] : (tensor<1x4x!q0>) -> tensor<1x4xf32> {origin = "relu2"}

// What a call hands on has one range, which covers both: x of @main and of @helper.
// CALLS: !q0 = !quant.calibrated<f32<-4.000000e+00:2.000000e+00>>
// CALLS-NEXT: #c0 = #calib.stats<min = -4.000000e+00, max = 1.000000e+00, mean = -6.250000e-01, std = 2.042516829796024, count = 4, recorded = {zeros = 0 : i64, sums = [-2.500000e+00 : f64, 1.825000e+01 : f64], bins = 8 : i64, exponent = 0 : i64, first = -4 : i64, counts = dense<[1, 0, 0, 1, 0, 2]> : tensor<6xi32>}>
// CALLS-NEXT: !q1 = !quant.calibrated<f32<0.000000e+00:2.000000e+00>>
// CALLS-NEXT: #c1 = #calib.stats<min = 0.000000e+00, max = 2.000000e+00, mean = 7.500000e-01, std = 0.82915619758885, count = 4, recorded = {zeros = 2 : i64, sums = [3.000000e+00 : f64, 5.000000e+00 : f64], bins = 8 : i64, exponent = -1 : i64, first = 0 : i64, counts = dense<[2, 0, 1, 0, 1]> : tensor<5xi32>}>
// CALLS-NEXT: #c2 = #calib.stats<min = -1.000000e+00, max = 2.000000e+00, mean = 3.750000e-01, std = 1.192424001771182, count = 4, recorded = {zeros = 0 : i64, sums = [1.500000e+00 : f64, 6.250000e+00 : f64], bins = 8 : i64, exponent = -1 : i64, first = -2 : i64, counts = dense<[1, 1, 0, 0, 1, 0, 1]> : tensor<7xi32>}>
// CALLS-LABEL: @helper(
// CALLS-SAME: [[V0:%.+]]: tensor<2x!q0> {calib.stats = #c0}) -> tensor<2x!q1>
// CALLS-NEXT: [[V1:%.+]] = nn.relu [[V0]] : (tensor<2x!q0>) -> tensor<2x!q1> {origin = "r", calib.stats = #c1}
// CALLS-NEXT: func.return [[V1]] : tensor<2x!q1>
// CALLS-LABEL: @main(
// CALLS-SAME: [[V0:%.+]]: tensor<2x!q0> {nn.name = "x", calib.stats = #c2}) -> tensor<2x!q1>
// CALLS-NEXT: [[V1:%.+]] = func.call @helper([[V0]]) {calib.stats = #c1} : (tensor<2x!q0>) -> tensor<2x!q1>
// CALLS-NEXT: func.return [[V1]] : tensor<2x!q1>

// GONE: error: cannot read '{{.*}}gone.json': No such file or directory
// NONE: error: cannot read profile '{{.*}}fits.mlir': it is not JSON: line 1, column 1: expecting value
// TYPO: error: profile '{{.*}}typo.json' does not match the model: entry 'relul' matches no value; did you mean 'relu1'?; 'nn.relu' op (relu1) has no profile entry for value 'relu1'; did you mean 'relul'?; help: use calib-apply-profile{allow_partial} of qmlir-opt to apply the entries that match

//--- fits.mlir
func.func @main(%image: tensor<?x4xf32> {nn.name = "x"}) -> tensor<?x4xf32> {
  %renamed = nn.relu %image : tensor<?x4xf32> {origin = "relu1"}
  func.return %renamed : tensor<?x4xf32>
}
//--- other.mlir
func.func @main(%x: tensor<1x4xf32> {nn.name = "x"}) -> tensor<1x4xf32> {
  %0 = nn.relu %x : tensor<1x4xf32> {origin = "relu2"}
  %1 = nn.tanh %0 : tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}
//--- calls.mlir
func.func @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "r"}
  func.return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> tensor<2xf32> {
  %0 = func.call @helper(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
