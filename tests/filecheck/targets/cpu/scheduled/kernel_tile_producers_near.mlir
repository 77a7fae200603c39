// RUN: qmlir-opt %s -p 'kernel-tile-producers{isa=armv7e-m}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-tile-producers{isa=armv7e-m}' --verify-each=exec -o %t.checked
// RUN: qmlir-opt %s -p kernel-tile-producers -o %t.same && qmlir-opt %s | diff %t.same -
// RUN: not qmlir-opt %s -p 'kernel-tile-producers{isa=sse}'

// Sums of 16 KiB are two parts where 8 are near, and whole where a cache holds them.
// CHECK-COUNT-2: kernel.conv {{.*}} -> tensor<1x8x16x16xi
// CHECK-NOT: tensor<1x16x16x16xi32>
func.func @main(%x: tensor<1x16x16x4xi8>, %w: tensor<16x1x1x4xi8>, %v: tensor<16x1x1x4xi8>) -> tensor<1x16x16x16xi8> {
  %0 = kernel.conv ins(%x, %w : tensor<1x16x16x4xi8>, tensor<16x1x1x4xi8>) -> tensor<1x16x16x16xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = kernel.conv ins(%x, %v : tensor<1x16x16x4xi8>, tensor<16x1x1x4xi8>) epilogue(%0 : tensor<1x16x16x16xi32>) -> tensor<1x16x16x16xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %other: i32):
    %2 = arith.addi %sum, %other : i32
    %3 = arith.trunci %2 : i32 to i8
    kernel.yield %3 : i8
  }
  func.return %1 : tensor<1x16x16x16xi8>
}
