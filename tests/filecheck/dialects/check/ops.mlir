// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

func.func @integers(%x: tensor<2xi8>, %q: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  check.expect_eq %x, %x {origin = "test"} : tensor<2xi8>
  check.expect_eq %q, %q : tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}

func.func @floats(%x: tensor<2xf32>) {
  check.expect_close %x, %x : tensor<2xf32>
  check.expect_close %x, %x {relative = 1.0e-5 : f64, absolute = 0.5 : f64} : tensor<2xf32>
  func.return
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-LABEL: @integers(
// CHECK-SAME: [[V0:%.+]]: tensor<2xi8>, [[V1:%.+]]: tensor<2x!q0>)
// CHECK-NEXT: check.expect_eq [[V0]], [[V0]] {origin = "test"} : tensor<2xi8>
// CHECK-NEXT: check.expect_eq [[V1]], [[V1]] : tensor<2x!q0>
// CHECK-NEXT: func.return
// CHECK-LABEL: @floats(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>)
// CHECK-NEXT: check.expect_close [[V0]], [[V0]] : tensor<2xf32>
// CHECK-NEXT: check.expect_close [[V0]], [[V0]] {relative = 1.000000e-05 : f64, absolute = 5.000000e-01 : f64} : tensor<2xf32>
// CHECK-NEXT: func.return
