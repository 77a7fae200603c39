// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s --check-prefix AVX512
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2-vnni}' | filecheck %s --check-prefix VNNI
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2}' | filecheck %s --check-prefix AVX2
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=neon}' | filecheck %s --check-prefix NEON

// A small window of an image of bytes: rows of it in a lane, where there are dot products of bytes or of pairs.
func.func @window(%x: tensor<1x9x9x40xi8>, %w: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> {
  %0 = kernel.conv ins(%x, %w : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x7x40xi32>
}

// Zero points that take a weight out of the signed bytes: pairs have room for it.
func.func @zero_point(%x: tensor<1x9x9x40xi8>, %w: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> {
  %0 = kernel.conv ins(%x, %w : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, weight_zero_point = 1 : i32} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x7x40xi32>
}

// Along one axis, and by a window that is too large to be unrolled.
func.func @others(%x: tensor<1x9x40xi8>, %w: tensor<40x3x1xi8>, %image: tensor<1x9x9x40xi8>, %wide: tensor<40x8x8x1xi8>)
    -> (tensor<1x7x40xi32>, tensor<1x2x2x40xi32>) {
  %0 = kernel.conv ins(%x, %w : tensor<1x9x40xi8>, tensor<40x3x1xi8>) -> tensor<1x7x40xi32> attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, groups = 40 : i64} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.conv ins(%image, %wide : tensor<1x9x9x40xi8>, tensor<40x8x8x1xi8>) -> tensor<1x2x2x40xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1 : tensor<1x7x40xi32>, tensor<1x2x2x40xi32>
}

// AVX512: #k0 = #kernel.target<isa = "avx512-vnni">
// AVX512-NEXT: #k1 = #kernel.schedule<variant = "depthwise_dot", rows = 4, vectors = 4, lanes = 16, k_unroll = 4>
// AVX512-NEXT: #k2 = #kernel.schedule<variant = "depthwise", rows = 4, vectors = 2, lanes = 16>
// AVX512-NEXT: #k3 = #kernel.schedule<variant = "depthwise", rows = 2, vectors = 2, lanes = 16>
// AVX512-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX512-LABEL: @window(
// AVX512-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// AVX512-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k1} {
// AVX512-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX512-NEXT: kernel.yield [[V3]] : i32
// AVX512: func.return [[V2]] : tensor<1x7x7x40xi32>
// AVX512-LABEL: @zero_point(
// AVX512-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// AVX512-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, weight_zero_point = 1 : i32, schedule = #k2} {
// AVX512-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX512-NEXT: kernel.yield [[V3]] : i32
// AVX512: func.return [[V2]] : tensor<1x7x7x40xi32>
// AVX512-LABEL: @others(
// AVX512-SAME: [[V0:%.+]]: tensor<1x9x40xi8>, [[V1:%.+]]: tensor<40x3x1xi8>, [[V2:%.+]]: tensor<1x9x9x40xi8>, [[V3:%.+]]: tensor<40x8x8x1xi8>) -> (tensor<1x7x40xi32>, tensor<1x2x2x40xi32>)
// AVX512-NEXT: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x40xi8>, tensor<40x3x1xi8>) -> tensor<1x7x40xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 40 : i64, schedule = #k2} {
// AVX512-NEXT: ^bb0([[V5:%.+]]: i32):
// AVX512-NEXT: kernel.yield [[V5]] : i32
// AVX512: [[V6:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x9x9x40xi8>, tensor<40x8x8x1xi8>) -> tensor<1x2x2x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k3} {
// AVX512-NEXT: ^bb0([[V7:%.+]]: i32):
// AVX512-NEXT: kernel.yield [[V7]] : i32
// AVX512: func.return [[V4]], [[V6]] : tensor<1x7x40xi32>, tensor<1x2x2x40xi32>

// VNNI: #k0 = #kernel.target<isa = "avx2-vnni">
// VNNI-NEXT: #k1 = #kernel.schedule<variant = "depthwise_dot", rows = 4, vectors = 4, lanes = 8, k_unroll = 4>
// VNNI-NEXT: #k2 = #kernel.schedule<variant = "depthwise_pairs", rows = 7, vectors = 2, lanes = 8, k_unroll = 2>
// VNNI-NEXT: #k3 = #kernel.schedule<variant = "depthwise", rows = 4, vectors = 2, lanes = 8>
// VNNI-NEXT: #k4 = #kernel.schedule<variant = "depthwise", rows = 2, vectors = 2, lanes = 8>
// VNNI-NEXT: builtin.module attributes {kernel.target = #k0} {
// VNNI-LABEL: @window(
// VNNI-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k1} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x7x7x40xi32>
// VNNI-LABEL: @zero_point(
// VNNI-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// VNNI-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, weight_zero_point = 1 : i32, schedule = #k2} {
// VNNI-NEXT: ^bb0([[V3:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V3]] : i32
// VNNI: func.return [[V2]] : tensor<1x7x7x40xi32>
// VNNI-LABEL: @others(
// VNNI-SAME: [[V0:%.+]]: tensor<1x9x40xi8>, [[V1:%.+]]: tensor<40x3x1xi8>, [[V2:%.+]]: tensor<1x9x9x40xi8>, [[V3:%.+]]: tensor<40x8x8x1xi8>) -> (tensor<1x7x40xi32>, tensor<1x2x2x40xi32>)
// VNNI-NEXT: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x40xi8>, tensor<40x3x1xi8>) -> tensor<1x7x40xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 40 : i64, schedule = #k3} {
// VNNI-NEXT: ^bb0([[V5:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V5]] : i32
// VNNI: [[V6:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x9x9x40xi8>, tensor<40x8x8x1xi8>) -> tensor<1x2x2x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k4} {
// VNNI-NEXT: ^bb0([[V7:%.+]]: i32):
// VNNI-NEXT: kernel.yield [[V7]] : i32
// VNNI: func.return [[V4]], [[V6]] : tensor<1x7x40xi32>, tensor<1x2x2x40xi32>

// AVX2: #k0 = #kernel.target<isa = "avx2">
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "depthwise_pairs", rows = 7, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "depthwise", rows = 4, vectors = 2, lanes = 8>
// AVX2-NEXT: #k3 = #kernel.schedule<variant = "depthwise", rows = 2, vectors = 2, lanes = 8>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @window(
// AVX2-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<1x7x7x40xi32>
// AVX2-LABEL: @zero_point(
// AVX2-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, weight_zero_point = 1 : i32, schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<1x7x7x40xi32>
// AVX2-LABEL: @others(
// AVX2-SAME: [[V0:%.+]]: tensor<1x9x40xi8>, [[V1:%.+]]: tensor<40x3x1xi8>, [[V2:%.+]]: tensor<1x9x9x40xi8>, [[V3:%.+]]: tensor<40x8x8x1xi8>) -> (tensor<1x7x40xi32>, tensor<1x2x2x40xi32>)
// AVX2-NEXT: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x40xi8>, tensor<40x3x1xi8>) -> tensor<1x7x40xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 40 : i64, schedule = #k2} {
// AVX2-NEXT: ^bb0([[V5:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V5]] : i32
// AVX2: [[V6:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x9x9x40xi8>, tensor<40x8x8x1xi8>) -> tensor<1x2x2x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k3} {
// AVX2-NEXT: ^bb0([[V7:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V7]] : i32
// AVX2: func.return [[V4]], [[V6]] : tensor<1x7x40xi32>, tensor<1x2x2x40xi32>

// NEON: #k0 = #kernel.target<isa = "neon">
// NEON-NEXT: #k1 = #kernel.schedule<variant = "depthwise", rows = 4, vectors = 2, lanes = 4>
// NEON-NEXT: #k2 = #kernel.schedule<variant = "depthwise", rows = 2, vectors = 2, lanes = 4>
// NEON-NEXT: builtin.module attributes {kernel.target = #k0} {
// NEON-LABEL: @window(
// NEON-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// NEON-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k1} {
// NEON-NEXT: ^bb0([[V3:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V3]] : i32
// NEON: func.return [[V2]] : tensor<1x7x7x40xi32>
// NEON-LABEL: @zero_point(
// NEON-SAME: [[V0:%.+]]: tensor<1x9x9x40xi8>, [[V1:%.+]]: tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32>
// NEON-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x9x40xi8>, tensor<40x3x3x1xi8>) -> tensor<1x7x7x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, weight_zero_point = 1 : i32, schedule = #k1} {
// NEON-NEXT: ^bb0([[V3:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V3]] : i32
// NEON: func.return [[V2]] : tensor<1x7x7x40xi32>
// NEON-LABEL: @others(
// NEON-SAME: [[V0:%.+]]: tensor<1x9x40xi8>, [[V1:%.+]]: tensor<40x3x1xi8>, [[V2:%.+]]: tensor<1x9x9x40xi8>, [[V3:%.+]]: tensor<40x8x8x1xi8>) -> (tensor<1x7x40xi32>, tensor<1x2x2x40xi32>)
// NEON-NEXT: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x9x40xi8>, tensor<40x3x1xi8>) -> tensor<1x7x40xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 40 : i64, schedule = #k1} {
// NEON-NEXT: ^bb0([[V5:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V5]] : i32
// NEON: [[V6:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x9x9x40xi8>, tensor<40x8x8x1xi8>) -> tensor<1x2x2x40xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, schedule = #k2} {
// NEON-NEXT: ^bb0([[V7:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V7]] : i32
// NEON: func.return [[V4]], [[V6]] : tensor<1x7x40xi32>, tensor<1x2x2x40xi32>
