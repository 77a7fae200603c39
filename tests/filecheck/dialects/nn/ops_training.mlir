// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @dropout(
// CHECK-SAME: [[V0:%.+]]: tensor<2x?xf16>, [[V1:%.+]]: tensor<f32>, [[V2:%.+]]: tensor<1xi1>)
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = nn.dropout [[V0]], [[V1]] : (tensor<2x?xf16>, tensor<f32>) -> (tensor<2x?xf16>, tensor<2x?xi1>)
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]] = nn.dropout [[V0]], [[V1]], [[V2]] {seed = 3} : (tensor<2x?xf16>, tensor<f32>, tensor<1xi1>) -> (tensor<2x?xf16>, tensor<2x?xi1>)
// CHECK-NEXT: func.return
func.func @dropout(%x: tensor<2x?xf16>, %r: tensor<f32>, %t: tensor<1xi1>) {
  %0, %1 = nn.dropout %x, %r : (tensor<2x?xf16>, tensor<f32>) -> (tensor<2x?xf16>, tensor<2x?xi1>)
  %2, %3 = nn.dropout %x, %r, %t {seed = 3} : (tensor<2x?xf16>, tensor<f32>, tensor<1xi1>) -> (tensor<2x?xf16>, tensor<2x?xi1>)
  func.return
}

// CHECK-LABEL: @batch_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<?x3x4xf32>, [[V1:%.+]]: tensor<3xf32>, [[V2:%.+]]: tensor<3xf32>, [[V3:%.+]]: tensor<3xf32>, [[V4:%.+]]: tensor<3xf32>)
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]], [[V7:%.+]], [[V8:%.+]], [[V9:%.+]] = nn.batch_norm_training [[V0]], [[V1]], [[V2]], [[V3]], [[V4]] {epsilon = 0.5, momentum = 0.75} : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT: func.return
func.func @batch_norm(%x: tensor<?x3x4xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  %0, %1, %2, %3, %4 = nn.batch_norm_training %x, %s, %b, %m, %v {epsilon = 0.5, momentum = 0.75} : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}
