// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

func.func @sequences(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<i64>) -> (tensor<?x3xf32>, tensor<i64>) {
  %0 = nn.sequence_construct %x, %y : (tensor<2x3xf32>, tensor<4x3xf32>) -> !nn.sequence<tensor<?x3xf32>>
  %1 = nn.sequence_insert %0, %x, %i : (!nn.sequence<tensor<?x3xf32>>, tensor<2x3xf32>, tensor<i64>) -> !nn.sequence<tensor<?x3xf32>>
  %2 = nn.sequence_erase %1 : !nn.sequence<tensor<?x3xf32>>
  %3 = nn.sequence_erase %2, %i : (!nn.sequence<tensor<?x3xf32>>, tensor<i64>) -> !nn.sequence<tensor<?x3xf32>>
  %4 = nn.sequence_at %3, %i : (!nn.sequence<tensor<?x3xf32>>, tensor<i64>) -> tensor<?x3xf32>
  %5 = nn.sequence_length %3 : (!nn.sequence<tensor<?x3xf32>>) -> tensor<i64>
  func.return %4, %5 : tensor<?x3xf32>, tensor<i64>
}

// A rank that only the model knows: of the first tensor of a sequence, and of one that is taken out.
func.func @open_rank(%x: tensor<2x3xf32>, %i: tensor<1xi32>) -> (tensor<2x?xf32>, !nn.sequence<tensor<2x3xf32>>) {
  %0 = nn.sequence_empty : () -> !nn.sequence<tensor<*xf32>>
  %1 = nn.sequence_insert %0, %x : (!nn.sequence<tensor<*xf32>>, tensor<2x3xf32>) -> !nn.sequence<tensor<*xf32>>
  %2 = nn.sequence_at %1, %i : (!nn.sequence<tensor<*xf32>>, tensor<1xi32>) -> tensor<2x?xf32>
  %3 = nn.sequence_insert %0, %x : (!nn.sequence<tensor<*xf32>>, tensor<2x3xf32>) -> !nn.sequence<tensor<2x3xf32>>
  func.return %2, %3 : tensor<2x?xf32>, !nn.sequence<tensor<2x3xf32>>
}

func.func @split_and_concat(%x: tensor<2x6xi8>, %s: tensor<?xi64>) -> (tensor<?x6xi8>, tensor<2x6x?xi8>, tensor<2x?xi8>) {
  %0 = nn.split_to_sequence %x : (tensor<2x6xi8>) -> !nn.sequence<tensor<1x6xi8>>
  %1 = nn.split_to_sequence %x {axis = -1, keep_dims = false} : (tensor<2x6xi8>) -> !nn.sequence<tensor<2xi8>>
  %2 = nn.split_to_sequence %x, %s {axis = 1} : (tensor<2x6xi8>, tensor<?xi64>) -> !nn.sequence<tensor<2x?xi8>>
  %3 = nn.concat_from_sequence %0 {axis = 0} : (!nn.sequence<tensor<1x6xi8>>) -> tensor<?x6xi8>
  %4 = nn.concat_from_sequence %2 {axis = -1} : (!nn.sequence<tensor<2x?xi8>>) -> tensor<2x?xi8>
  %5 = nn.sequence_construct %x, %x : (tensor<2x6xi8>, tensor<2x6xi8>) -> !nn.sequence<tensor<2x6xi8>>
  %6 = nn.concat_from_sequence %5 {axis = -1, new_axis = true} : (!nn.sequence<tensor<2x6xi8>>) -> tensor<2x6x?xi8>
  func.return %3, %6, %4 : tensor<?x6xi8>, tensor<2x6x?xi8>, tensor<2x?xi8>
}

// CHECK: !n0 = !nn.sequence<tensor<?x3xf32>>
// CHECK-NEXT: !n1 = !nn.sequence<tensor<2x3xf32>>
// CHECK-NEXT: !n2 = !nn.sequence<tensor<*xf32>>
// CHECK-NEXT: !n3 = !nn.sequence<tensor<1x6xi8>>
// CHECK-NEXT: !n4 = !nn.sequence<tensor<2xi8>>
// CHECK-NEXT: !n5 = !nn.sequence<tensor<2x?xi8>>
// CHECK-NEXT: !n6 = !nn.sequence<tensor<2x6xi8>>
// CHECK-LABEL: @sequences(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<4x3xf32>, [[V2:%.+]]: tensor<i64>) -> (tensor<?x3xf32>, tensor<i64>)
// CHECK-NEXT: [[V3:%.+]] = nn.sequence_construct [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<4x3xf32>) -> !n0
// CHECK-NEXT: [[V4:%.+]] = nn.sequence_insert [[V3]], [[V0]], [[V2]] : (!n0, tensor<2x3xf32>, tensor<i64>) -> !n0
// CHECK-NEXT: [[V5:%.+]] = nn.sequence_erase [[V4]] : !n0
// CHECK-NEXT: [[V6:%.+]] = nn.sequence_erase [[V5]], [[V2]] : (!n0, tensor<i64>) -> !n0
// CHECK-NEXT: [[V7:%.+]] = nn.sequence_at [[V6]], [[V2]] : (!n0, tensor<i64>) -> tensor<?x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.sequence_length [[V6]] : (!n0) -> tensor<i64>
// CHECK-NEXT: func.return [[V7]], [[V8]] : tensor<?x3xf32>, tensor<i64>
// CHECK-LABEL: @open_rank(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<1xi32>) -> (tensor<2x?xf32>, !n1)
// CHECK-NEXT: [[V2:%.+]] = nn.sequence_empty : () -> !n2
// CHECK-NEXT: [[V3:%.+]] = nn.sequence_insert [[V2]], [[V0]] : (!n2, tensor<2x3xf32>) -> !n2
// CHECK-NEXT: [[V4:%.+]] = nn.sequence_at [[V3]], [[V1]] : (!n2, tensor<1xi32>) -> tensor<2x?xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.sequence_insert [[V2]], [[V0]] : (!n2, tensor<2x3xf32>) -> !n1
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<2x?xf32>, !n1
// CHECK-LABEL: @split_and_concat(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6xi8>, [[V1:%.+]]: tensor<?xi64>) -> (tensor<?x6xi8>, tensor<2x6x?xi8>, tensor<2x?xi8>)
// CHECK-NEXT: [[V2:%.+]] = nn.split_to_sequence [[V0]] : (tensor<2x6xi8>) -> !n3
// CHECK-NEXT: [[V3:%.+]] = nn.split_to_sequence [[V0]] {axis = -1, keep_dims = false} : (tensor<2x6xi8>) -> !n4
// CHECK-NEXT: [[V4:%.+]] = nn.split_to_sequence [[V0]], [[V1]] {axis = 1} : (tensor<2x6xi8>, tensor<?xi64>) -> !n5
// CHECK-NEXT: [[V5:%.+]] = nn.concat_from_sequence [[V2]] {axis = 0} : (!n3) -> tensor<?x6xi8>
// CHECK-NEXT: [[V6:%.+]] = nn.concat_from_sequence [[V4]] {axis = -1} : (!n5) -> tensor<2x?xi8>
// CHECK-NEXT: [[V7:%.+]] = nn.sequence_construct [[V0]], [[V0]] : (tensor<2x6xi8>, tensor<2x6xi8>) -> !n6
// CHECK-NEXT: [[V8:%.+]] = nn.concat_from_sequence [[V7]] {axis = -1, new_axis = true} : (!n6) -> tensor<2x6x?xi8>
// CHECK-NEXT: func.return [[V5]], [[V8]], [[V6]] : tensor<?x6xi8>, tensor<2x6x?xi8>, tensor<2x?xi8>
