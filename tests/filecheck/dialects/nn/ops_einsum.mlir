// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @einsum(
// CHECK-SAME: [[V0:%.+]]: tensor<?x3x4xf32>, [[V1:%.+]]: tensor<1x4x5xf32>, [[V2:%.+]]: tensor<3x3xi16>) -> (tensor<?x3x5xf32>, tensor<i16>)
// CHECK-NEXT: [[V3:%.+]] = nn.einsum [[V0]], [[V1]] {equation = "bij, bjk -> bik"} : (tensor<?x3x4xf32>, tensor<1x4x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.einsum [[V0]], [[V1]] {equation = "...ij,...jk"} : (tensor<?x3x4xf32>, tensor<1x4x5xf32>) -> tensor<?x3x5xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.einsum [[V2]] {equation = "ii"} : (tensor<3x3xi16>) -> tensor<i16>
// CHECK-NEXT: [[V6:%.+]] = nn.einsum [[V2]], [[V5]], [[V2]] {equation = "ij,,jk->ki"} : (tensor<3x3xi16>, tensor<i16>, tensor<3x3xi16>) -> tensor<3x3xi16>
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<?x3x5xf32>, tensor<i16>
func.func @einsum(%x: tensor<?x3x4xf32>, %y: tensor<1x4x5xf32>, %z: tensor<3x3xi16>) -> (tensor<?x3x5xf32>, tensor<i16>) {
  %0 = nn.einsum %x, %y {equation = "bij, bjk -> bik"} : (tensor<?x3x4xf32>, tensor<1x4x5xf32>) -> tensor<?x3x5xf32>
  %1 = nn.einsum %x, %y {equation = "...ij,...jk"} : (tensor<?x3x4xf32>, tensor<1x4x5xf32>) -> tensor<?x3x5xf32>
  %2 = nn.einsum %z {equation = "ii"} : (tensor<3x3xi16>) -> tensor<i16>
  %3 = nn.einsum %z, %2, %z {equation = "ij,,jk->ki"} : (tensor<3x3xi16>, tensor<i16>, tensor<3x3xi16>) -> tensor<3x3xi16>
  func.return %1, %2 : tensor<?x3x5xf32>, tensor<i16>
}
