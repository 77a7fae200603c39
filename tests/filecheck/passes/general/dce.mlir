// RUN: qmlir-opt %s -p dce | filecheck %s

func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  %1 = nn.add %0, %0 : tensor<2xf32>
  %2 = calib.observe %x "kept" : tensor<2xf32>
  check.expect_eq %x, %x : tensor<2xf32>
  func.return %x : tensor<2xf32>
}

// CHECK-LABEL: @chain(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = calib.observe [[V0]] "kept" : tensor<2xf32>
// CHECK-NEXT: check.expect_eq [[V0]], [[V0]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<2xf32>
