// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s
func.func @main(%x: tensor<2x3x!quant.calibrated<f32<-1.0:1.0>>>, %t: tensor<f32>, %u: tensor<3xf32>) {
  %0 = calib.observe %x "fc1/matmul" axis 1 {calib.stats = #calib.stats<min = -1.0, max = 2.5, mean = 0.1, std = 0.3, count = 12, axis = 1, mins = [-1.0, 0.0, 0.0], maxs = [0.0, 1.0, 2.5]>} : tensor<2x3x!quant.calibrated<f32<-1.0:1.0>>>
  %1 = calib.fake_quant %x, %t {bits = 4 : i64, signed = false} : tensor<2x3x!quant.calibrated<f32<-1.0:1.0>>>, tensor<f32> -> tensor<2x3xf32>
  %2 = calib.fake_quant %x, %u {axis = 1 : i64} : tensor<2x3x!quant.calibrated<f32<-1.0:1.0>>>, tensor<3xf32> -> tensor<2x3xf32>
  %3 = calib.fake_quant %2, %u, %u {axis = 1 : i64, method = "affine"} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// What calibrators need besides is a dictionary; version 0.1 wrote it as bytes.
func.func private @recorded() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, recorded = {zeros = 3 : i64, sums = [0.0 : f64, 0.0 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}>}
func.func private @exact() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, exact = "0x01030000000000008010E31000010300">}

// What observers of packages keep is JSON.
func.func private @kept() attributes {t = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, recorded = {zeros = 3 : i64, sums = [0.0 : f64, 0.0 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}, kept = "{\"norms\": [0.5, 1.0]}">}
func.func @observers(%x: tensor<2xf32>) {
  %0 = calib.observe %x "x" with ["norms", "other"] : tensor<2xf32>
  func.return
}

// The gradient of rounding passes on.
func.func @passes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.round %x : tensor<2xf32>
  %1 = calib.straight_through %0 for %x : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// A norm of integers, whose root is made of the scale.
func.func @normalizes(%x: tensor<2x4xf32>, %s: tensor<f32>) -> tensor<2x4xf32> {
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 8 : i64} : tensor<2x4xf32>, tensor<f32>
  %1 = calib.row_norm %0 by %s {axis = 0 : i64, bits = 16 : i64, centred = false, epsilon = 0.5 : f32} : tensor<2x4xf32>, tensor<f32>
  func.return %1 : tensor<2x4xf32>
}

// CHECK: !q0 = !quant.calibrated<f32<-1.000000e+00:1.000000e+00>>
// CHECK-NEXT: #c0 = #calib.stats<min = -1.000000e+00, max = 2.500000e+00, mean = 1.000000e-01, std = 3.000000e-01, count = 12, axis = 1, mins = [-1.000000e+00, 0.000000e+00, 0.000000e+00], maxs = [0.000000e+00, 1.000000e+00, 2.500000e+00]>
// CHECK: #c1 = #calib.stats<min = 0.000000e+00, max = 0.000000e+00, mean = 0.000000e+00, std = 0.000000e+00, count = 3, recorded = {zeros = 3 : i64, sums = [0.000000e+00 : f64, 0.000000e+00 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x!q0>, [[V1:%.+]]: tensor<f32>, [[V2:%.+]]: tensor<3xf32>)
// CHECK-NEXT: [[V3:%.+]] = calib.observe [[V0]] "fc1/matmul" axis 1 : i64 {calib.stats = #c0} : tensor<2x3x!q0>
// CHECK-NEXT: [[V4:%.+]] = calib.fake_quant [[V0]], [[V1]] {bits = 4 : i64, signed = false} : tensor<2x3x!q0>, tensor<f32> -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = calib.fake_quant [[V0]], [[V2]] {axis = 1 : i64} : tensor<2x3x!q0>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = calib.fake_quant [[V5]], [[V2]], [[V2]] {axis = 1 : i64, method = "affine"} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: func.return
// CHECK: func.func private @recorded() -> () attributes {s = #c1}
// CHECK: func.func private @exact() -> () attributes {s = #c1}
// CHECK: func.func private @kept() -> () attributes {t = #c2}
// CHECK: calib.observe %x "x" with ["norms", "other"] : tensor<2xf32>
// CHECK: calib.straight_through %0 for %x : tensor<2xf32>
// CHECK: calib.row_norm %x by %s {axis = 1 : i64, bits = 8 : i64} : tensor<2x4xf32>, tensor<f32>
// CHECK: calib.row_norm %0 by %s {axis = 0 : i64, bits = 16 : i64, centred = false, epsilon = 5.000000e-01 : f32} : tensor<2x4xf32>, tensor<f32>
