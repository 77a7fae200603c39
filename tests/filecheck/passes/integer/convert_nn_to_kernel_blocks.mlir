// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel,kernel-pack | filecheck %s --check-prefix=PACK
// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,kernel-propagate-layout,kernel-fuse,kernel-pack --verify-each=exec -o %t

// Scales of blocks and their zero points are constants of that size. An operation repeats each of them twice along the
// first axis: constants for each element would be 8 times as large as the weights.
!w = !quant.uniform<u8:f32:{0:2, 1:1}, {{0.5:1, 1.0:2}, {2.0:3, 4.0:4}}>
!c = !quant.uniform<i8:f32:{0:4, 1:1}, {{0.5, 1.0}}>

// If no product packs the weights, the constants have their size again.
// CHECK-LABEL: @repeated(
// CHECK: [[Z:%.+]] = arith.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
// CHECK: [[ALL:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]{{.*}} ins([[Z]] : tensor<2x2xi32>)
// CHECK: kernel.reshape [[ALL]]{{.*}} : tensor<2x2x2xi32> to tensor<4x2xi32>
// CHECK: [[S:%.+]] = arith.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK: [[ALL:%.+]] = linalg.generic {{.*}} ins([[S]] : tensor<2x2xf32>)
// CHECK: kernel.reshape [[ALL]]{{.*}} : tensor<2x2x2xf32> to tensor<4x2xf32>
// PACK-LABEL: @repeated(
// PACK-NOT: kernel.reshape
// PACK: arith.constant dense<{{\[\[}}1, 2], [1, 2], [3, 4], [3, 4]]> : tensor<4x2xi32>
// PACK: arith.constant dense<{{\[\[}}5.000000e-01, 1.000000e+00], [5.000000e-01, 1.000000e+00], [2.000000e+00, 4.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<4x2xf32>
// PACK-NOT: kernel.reshape
func.func @repeated() -> tensor<4x2xf32> {
  %codes = nn.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xui8> -> tensor<4x2x!w>
  %0 = quant.dcast %codes : tensor<4x2x!w> to tensor<4x2xf32>
  %numbers = nn.constant dense<[[0.0, 0.0], [1.0, 2.0], [4.0, 8.0], [8.0, 16.0]]> : tensor<4x2xf32>
  check.expect_eq %0, %numbers : tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// One scale for each column is broadcast as it is.
// CHECK-LABEL: @by_column(
// CHECK-NOT: kernel.reshape
// CHECK: arith.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK-NOT: kernel.reshape
func.func @by_column() -> tensor<4x2xf32> {
  %codes = nn.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8> -> tensor<4x2x!c>
  %0 = quant.dcast %codes : tensor<4x2x!c> to tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}
