// RUN: qmlir-opt %s -p kernel-fill-borders | filecheck %s

// CHECK-LABEL: @padded(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8) -> tensor<4x5xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 1, 2>, array<i64: 2, 3>]} ins([[V1]] : i8) outs([[V2]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.insert_slice [[V0]] into [[V3]][1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<4x5xi8>
func.func @padded(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  func.return %2 : tensor<4x5xi8>
}

// Somebody else reads all of the fill.
// CHECK-LABEL: @read(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8) -> (tensor<4x5xi8>, tensor<4x5xi8>)
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.insert_slice [[V0]] into [[V3]][1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<4x5xi8>, tensor<4x5xi8>
func.func @read(%x: tensor<2x3xi8>, %v: i8) -> (tensor<4x5xi8>, tensor<4x5xi8>) {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  func.return %1, %2 : tensor<4x5xi8>, tensor<4x5xi8>
}

// A slice with gaps, one whose place is not known, and one with nothing in it.
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8, [[V2:%.+]]: index, [[V3:%.+]]: tensor<0x5xi8>) -> (tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>)
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.insert_slice [[V0]] into [[V5]][0, 0] [2, 3] [2, 2] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.insert_slice [[V0]] into [[V7]][[[V2]], 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.insert_slice [[V3]] into [[V9]][0, 0] [0, 5] [1, 1] : tensor<0x5xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V6]], [[V8]], [[V10]] : tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>
func.func @others(%x: tensor<2x3xi8>, %v: i8, %i: index, %none: tensor<0x5xi8>)
    -> (tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>) {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[0, 0] [2, 3] [2, 2] : tensor<2x3xi8> into tensor<4x5xi8>
  %3 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %4 = tensor.insert_slice %x into %3[%i, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  %5 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %6 = tensor.insert_slice %none into %5[0, 0] [0, 5] [1, 1] : tensor<0x5xi8> into tensor<4x5xi8>
  func.return %2, %4, %6 : tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>
}
