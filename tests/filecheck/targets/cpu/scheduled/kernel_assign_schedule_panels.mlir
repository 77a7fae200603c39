// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2}' | filecheck %s --check-prefix=AVX2

// An x of 1 MB is cut into panels: 256 positions of whole tiles, or what 256 KB hold where that is more. Large tiles
// leave a smaller one, which costs nothing here. AVX2 has no row that cuts.
func.func @large(%x: tensor<1024x1024xi8>, %w: tensor<128x1024xi8>) -> tensor<1024x128xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1024x1024xi8>, tensor<128x1024xi8>) -> tensor<1024x128xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1024x128xi32>
}

func.func @images(%x: tensor<8x32x32x128xi8>, %w: tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32> {
  %0 = kernel.conv ins(%x, %w : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x32x32x96xi32>
}

// One block of channels, a smaller x, positions that are no one run, and weights for each batch.
func.func @others(
    %x: tensor<1024x1024xi8>, %w: tensor<64x1024xi8>, %a: tensor<1023x1024xi8>, %b: tensor<128x1024xi8>,
    %c: tensor<8x32x32x128xi8>, %v: tensor<96x1x1x128xi8>, %d: tensor<2x1024x1024xi8>, %u: tensor<2x128x1024xi8>
  ) -> (tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>) {
  %0 = kernel.matmul ins(%x, %w : tensor<1024x1024xi8>, tensor<64x1024xi8>) -> tensor<1024x64xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.matmul ins(%a, %b : tensor<1023x1024xi8>, tensor<128x1024xi8>) -> tensor<1023x128xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %2 = kernel.conv ins(%c, %v : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x16x16x96xi32>
      attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %3 = kernel.matmul ins(%d, %u : tensor<2x1024x1024xi8>, tensor<2x128x1024xi8>) -> tensor<2x1024x128xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1, %2, %3 : tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, lanes = 16, k_unroll = 4, block = 252, prefetch = 1>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, lanes = 16, k_unroll = 4, block = 2046, prefetch = 1>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "u8s8_dot", rows = 4, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k4 = #kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k5 = #kernel.schedule<variant = "u8s8_dot", rows = 4, vectors = 4, lanes = 16, k_unroll = 4, prefetch = 1>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @large(
// CHECK-SAME: [[V0:%.+]]: tensor<1024x1024xi8>, [[V1:%.+]]: tensor<128x1024xi8>) -> tensor<1024x128xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1024x1024xi8>, tensor<128x1024xi8>) -> tensor<1024x128xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1024x128xi32>
// CHECK-LABEL: @images(
// CHECK-SAME: [[V0:%.+]]: tensor<8x32x32x128xi8>, [[V1:%.+]]: tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x32x32x96xi32>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<1024x1024xi8>, [[V1:%.+]]: tensor<64x1024xi8>, [[V2:%.+]]: tensor<1023x1024xi8>, [[V3:%.+]]: tensor<128x1024xi8>, [[V4:%.+]]: tensor<8x32x32x128xi8>, [[V5:%.+]]: tensor<96x1x1x128xi8>, [[V6:%.+]]: tensor<2x1024x1024xi8>, [[V7:%.+]]: tensor<2x128x1024xi8>) -> (tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>)
// CHECK-NEXT: [[V8:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1024x1024xi8>, tensor<64x1024xi8>) -> tensor<1024x64xi32> attributes {schedule = #k3} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V9]] : i32
// CHECK: [[V10:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<1023x1024xi8>, tensor<128x1024xi8>) -> tensor<1023x128xi32> attributes {schedule = #k4} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V11]] : i32
// CHECK: [[V12:%.+]] = kernel.conv ins([[V4]], [[V5]] : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x16x16x96xi32> attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, schedule = #k3} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V13]] : i32
// CHECK: [[V14:%.+]] = kernel.matmul ins([[V6]], [[V7]] : tensor<2x1024x1024xi8>, tensor<2x128x1024xi8>) -> tensor<2x1024x128xi32> attributes {schedule = #k5} {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V15]] : i32
// CHECK: func.return [[V8]], [[V10]], [[V12]], [[V14]] : tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>

// AVX2: #k0 = #kernel.target<isa = "avx2">
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "i16_pairs", rows = 4, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "i16_pairs", rows = 6, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @large(
// AVX2-SAME: [[V0:%.+]]: tensor<1024x1024xi8>, [[V1:%.+]]: tensor<128x1024xi8>) -> tensor<1024x128xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1024x1024xi8>, tensor<128x1024xi8>) -> tensor<1024x128xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<1024x128xi32>
// AVX2-LABEL: @images(
// AVX2-SAME: [[V0:%.+]]: tensor<8x32x32x128xi8>, [[V1:%.+]]: tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x32x32x96xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x32x32x96xi32>
// AVX2-LABEL: @others(
// AVX2-SAME: [[V0:%.+]]: tensor<1024x1024xi8>, [[V1:%.+]]: tensor<64x1024xi8>, [[V2:%.+]]: tensor<1023x1024xi8>, [[V3:%.+]]: tensor<128x1024xi8>, [[V4:%.+]]: tensor<8x32x32x128xi8>, [[V5:%.+]]: tensor<96x1x1x128xi8>, [[V6:%.+]]: tensor<2x1024x1024xi8>, [[V7:%.+]]: tensor<2x128x1024xi8>) -> (tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>)
// AVX2-NEXT: [[V8:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1024x1024xi8>, tensor<64x1024xi8>) -> tensor<1024x64xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V9:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V9]] : i32
// AVX2: [[V10:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<1023x1024xi8>, tensor<128x1024xi8>) -> tensor<1023x128xi32> attributes {schedule = #k2} {
// AVX2-NEXT: ^bb0([[V11:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V11]] : i32
// AVX2: [[V12:%.+]] = kernel.conv ins([[V4]], [[V5]] : tensor<8x32x32x128xi8>, tensor<96x1x1x128xi8>) -> tensor<8x16x16x96xi32> attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, schedule = #k1} {
// AVX2-NEXT: ^bb0([[V13:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V13]] : i32
// AVX2: [[V14:%.+]] = kernel.matmul ins([[V6]], [[V7]] : tensor<2x1024x1024xi8>, tensor<2x128x1024xi8>) -> tensor<2x1024x128xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V15:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V15]] : i32
// AVX2: func.return [[V8]], [[V10]], [[V12]], [[V14]] : tensor<1024x64xi32>, tensor<1023x128xi32>, tensor<8x16x16x96xi32>, tensor<2x1024x128xi32>
