// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin -p canonicalize --verify-each=exec | filecheck %s

// CHECK-LABEL: @shift_by_nothing(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4xi16>) -> (tensor<1x2x4xi16>, tensor<1x2x4xi8>)
// CHECK-NEXT: [[V1:%.+]] = fxp.shift [[V0]] {places = array<i64: 0>} : (tensor<1x2x4xi16>) -> tensor<1x2x4xi8>
// CHECK-NEXT: func.return [[V0]], [[V1]] : tensor<1x2x4xi16>, tensor<1x2x4xi8>
func.func @shift_by_nothing(%x: tensor<1x2x4xi16>) -> (tensor<1x2x4xi16>, tensor<1x2x4xi8>) {
  %0 = fxp.shift %x {places = array<i64: 0, 0>} : (tensor<1x2x4xi16>) -> tensor<1x2x4xi16>
  %1 = fxp.shift %0 {places = array<i64: 0>} : (tensor<1x2x4xi16>) -> tensor<1x2x4xi8>
  func.return %0, %1 : tensor<1x2x4xi16>, tensor<1x2x4xi8>
}

// CHECK-LABEL: @limits(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>)
// CHECK-NEXT: [[V1:%.+]] = fxp.limit [[V0]] {minimum = 0 : i64} : (tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: [[V2:%.+]] = fxp.limit [[V0]] {minimum = 0 : i64, maximum = 96 : i64} : (tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = fxp.limit [[V1]] {maximum = -1 : i64} : (tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: func.return [[V2]], [[V3]] : tensor<4xi8>, tensor<4xi8>
func.func @limits(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %0 = fxp.limit %x {minimum = 0 : i64} : (tensor<4xi8>) -> tensor<4xi8>
  %1 = fxp.limit %0 {minimum = -5 : i64, maximum = 96 : i64} : (tensor<4xi8>) -> tensor<4xi8>
  %2 = fxp.limit %0 {maximum = -1 : i64} : (tensor<4xi8>) -> tensor<4xi8>
  func.return %1, %2 : tensor<4xi8>, tensor<4xi8>
}
