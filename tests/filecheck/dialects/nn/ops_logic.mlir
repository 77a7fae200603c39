// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// Booleans, bits, and questions about floats.

// CHECK-LABEL: @booleans(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi1>, [[V1:%.+]]: tensor<3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V2:%.+]] = nn.and [[V0]], [[V1]] : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V3:%.+]] = nn.or [[V2]], [[V1]] : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V4:%.+]] = nn.xor [[V3]], [[V2]] : tensor<2x3xi1>
// CHECK-NEXT: [[V5:%.+]] = nn.not [[V4]] : tensor<2x3xi1>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3xi1>
func.func @booleans(%a: tensor<2x3xi1>, %b: tensor<3xi1>) -> tensor<2x3xi1> {
  %0 = nn.and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %1 = nn.or %0, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %2 = nn.xor %1, %0 : tensor<2x3xi1>
  %3 = nn.not %2 : tensor<2x3xi1>
  func.return %3 : tensor<2x3xi1>
}

// CHECK-LABEL: @bits(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xui8>, [[V1:%.+]]: tensor<3xui8>) -> tensor<2x3xui8>
// CHECK-NEXT: [[V2:%.+]] = nn.bitwise_and [[V0]], [[V1]] : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
// CHECK-NEXT: [[V3:%.+]] = nn.bitwise_or [[V2]], [[V1]] : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
// CHECK-NEXT: [[V4:%.+]] = nn.bitwise_xor [[V3]], [[V2]] : tensor<2x3xui8>
// CHECK-NEXT: [[V5:%.+]] = nn.bitwise_not [[V4]] : tensor<2x3xui8>
// CHECK-NEXT: [[V6:%.+]] = nn.bit_shift [[V5]], [[V1]] {direction = "left"} : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
// CHECK-NEXT: func.return [[V6]] : tensor<2x3xui8>
func.func @bits(%a: tensor<2x3xui8>, %b: tensor<3xui8>) -> tensor<2x3xui8> {
  %0 = nn.bitwise_and %a, %b : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
  %1 = nn.bitwise_or %0, %b : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
  %2 = nn.bitwise_xor %1, %0 : tensor<2x3xui8>
  %3 = nn.bitwise_not %2 : tensor<2x3xui8>
  %4 = nn.bit_shift %3, %b {direction = "left"} : (tensor<2x3xui8>, tensor<3xui8>) -> tensor<2x3xui8>
  func.return %4 : tensor<2x3xui8>
}

// CHECK-LABEL: @questions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf16>) -> (tensor<2x3xi1>, tensor<2x3xi1>)
// CHECK-NEXT: [[V1:%.+]] = nn.is_nan [[V0]] : (tensor<2x3xf16>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V2:%.+]] = nn.is_inf [[V0]] {detect_negative = false} : (tensor<2x3xf16>) -> tensor<2x3xi1>
// CHECK-NEXT: func.return [[V1]], [[V2]] : tensor<2x3xi1>, tensor<2x3xi1>
func.func @questions(%x: tensor<2x3xf16>) -> (tensor<2x3xi1>, tensor<2x3xi1>) {
  %0 = nn.is_nan %x : (tensor<2x3xf16>) -> tensor<2x3xi1>
  %1 = nn.is_inf %x {detect_negative = false} : (tensor<2x3xf16>) -> tensor<2x3xi1>
  func.return %0, %1 : tensor<2x3xi1>, tensor<2x3xi1>
}
