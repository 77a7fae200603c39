// RUN: qmlir-opt %s -p 'calib-attach-records{bins=4}' --split-input-file | filecheck %s
// RUN: not qmlir-opt %s -p calib-insert-observers,calib-attach-records --split-input-file 2>&1 | filecheck %s --check-prefix=REFUSED

// Both observers of one key have one record of 12 + 4 words; the next begins behind it, and has ranges of 3 indices.
// CHECK-LABEL: @main(
// CHECK-SAME: [[X:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[R:%.+]]: tensor<38xi64> {nn.name = "calib.records"}
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<38xi64> {nn.name = "calib.records_after"})
// CHECK-NEXT: [[P0:%.+]] = arith.constant dense<[0]> : tensor<1xi64>
// CHECK-NEXT: [[R0:%.+]] = kernel.record [[X]] at [[P0]] in [[R]] bins 4 : i64
// CHECK: [[Y:%.+]] = nn.relu [[X]]
// CHECK-NEXT: [[P1:%.+]] = arith.constant dense<[16]> : tensor<1xi64>
// CHECK-NEXT: [[R1:%.+]] = kernel.record [[Y]] at [[P1]] in [[R0]] bins 4 : i64 axis 1 : i64
// CHECK: [[Z:%.+]] = nn.neg [[Y]]
// CHECK-NEXT: [[P2:%.+]] = arith.constant dense<[0]> : tensor<1xi64>
// CHECK-NEXT: [[R2:%.+]] = kernel.record [[Z]] at [[P2]] in [[R1]] bins 4 : i64
// CHECK: func.return [[Z]], [[R2]] : tensor<2x3xf32>, tensor<38xi64>
func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}) -> tensor<2x3xf32> {
  %0 = calib.observe %x "a" : tensor<2x3xf32>
  %1 = nn.relu %0 : tensor<2x3xf32>
  %2 = calib.observe %1 "b" axis 1 : i64 : tensor<2x3xf32>
  %3 = nn.neg %2 : tensor<2x3xf32>
  %4 = calib.observe %3 "a" : tensor<2x3xf32>
  func.return %4 : tensor<2x3xf32>
}
// -----
// REFUSED: can only record f32, but got 'tensor<2xf16>'
func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {
  func.return %x : tensor<2xf16>
}
