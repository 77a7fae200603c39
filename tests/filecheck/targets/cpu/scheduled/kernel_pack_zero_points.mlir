// RUN: qmlir-opt %s -p kernel-pack | filecheck %s
// RUN: qmlir-opt %s -p kernel-pack --verify-each=exec -o %t.checked

// One zero point of all weights is taken off where their type holds them without it: no sum of a row is made.
// As bytes, those from 120 to 127 less 100.
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[X:%.+]]: tensor<1x4xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: [[W:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}20, 21, 22, 23, 24, 25, 26, 27]]]]> : tensor<1x1x1x8xi8>
// CHECK-NEXT: kernel.packed_matmul ins([[X]], [[W]] : tensor<1x4xi8>, tensor<1x1x1x8xi8>) -> tensor<1x2xi32>
func.func @bytes(%x: tensor<1x4xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[120, 121, 122, 123], [124, 125, 126, 127]]> : tensor<2x4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    input_unsigned, weight_zero_point = 100 : i32,
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// As i16, those that no byte holds without it: -128 - 100.
// CHECK-LABEL: @pairs(
// CHECK-SAME: [[X:%.+]]: tensor<1x4xi8>) -> tensor<1x2xi32>
// CHECK: arith.constant dense<{{.*}}-228, -100, -97, -96{{.*}}-99, -98, -95, 27{{.*}} : tensor<1x1x2x4xi16>
// CHECK: kernel.packed_matmul ins({{%.+}}, {{%.+}} : tensor<1x4xi16>, tensor<1x1x2x4xi16>) -> tensor<1x2xi32>
func.func @pairs(%x: tensor<1x4xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[-128, 0, 1, 2], [3, 4, 5, 127]]> : tensor<2x4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    weight_zero_point = 100 : i32, schedule = #kernel.schedule<variant = "i16_pairs", lanes = 2, k_unroll = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// Bytes without a sign are moved into the signed range before the loops, which read the ones of a sign as they are: the
// sums are 128 - 3 times those of the weights short.
// CHECK-LABEL: @moved(
// CHECK-SAME: [[X:%.+]]: tensor<1x4xi8>) -> tensor<1x2xi32>
// CHECK: arith.constant dense<[1250, 3250]> : tensor<2xi32>
// CHECK: linalg.generic {{.*}} ins([[X]] : tensor<1x4xi8>)
// CHECK-NEXT: ^bb0([[E:%.+]]: i8, {{%.+}}: i8):
// CHECK-NEXT: [[C:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[LESS:%.+]] = arith.xori [[E]], [[C]] : i8
// CHECK-NEXT: linalg.yield [[LESS]] : i8
// CHECK: kernel.packed_matmul
// CHECK-NOT: input_unsigned
func.func @moved(%x: tensor<1x4xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    input_unsigned, input_zero_point = 3 : i32,
    schedule = #kernel.schedule<variant = "s8s8_lanes", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// So are weights that are computed, in lanes of bytes.
// CHECK-LABEL: @moved_weights(
// CHECK-SAME: [[X:%.+]]: tensor<1x4xi8>, [[W:%.+]]: tensor<2x4xi8>) -> tensor<1x2xi32>
// CHECK: linalg.generic {{.*}} ins([[W]] : tensor<2x4xi8>)
// CHECK-NEXT: ^bb0([[E:%.+]]: i8, {{%.+}}: i8):
// CHECK-NEXT: [[C:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[LESS:%.+]] = arith.xori [[E]], [[C]] : i8
// CHECK-NEXT: linalg.yield [[LESS]] : i8
// CHECK: kernel.packed_matmul
func.func @moved_weights(%x: tensor<1x4xi8>, %w: tensor<2x4xi8>) -> tensor<1x2xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    input_zero_point = 3 : i32, weight_unsigned, weight_zero_point = 130 : i32,
    schedule = #kernel.schedule<variant = "s8s8_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}
