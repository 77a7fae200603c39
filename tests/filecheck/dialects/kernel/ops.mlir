// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

module attributes {kernel.target = #kernel.target<isa = "avx512-vnni", threads = 2>} {
func.func @products(%x: tensor<2x3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi32>, %m: tensor<4xf32>, %z: tensor<4xi32>) -> (tensor<2x3x4xi8>, tensor<2x3x4xi64>) {
  %0 = kernel.matmul ins(%x, %w : tensor<2x3x8xi8>, tensor<4x8xi8>) epilogue(%b, %m : tensor<4xi32>, tensor<4xf32>) -> tensor<2x3x4xi8>
      attributes {input_zero_point = -3 : i32, epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>],
                  schedule = #kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, lanes = 16, k_unroll = 4, threads = true>} {
  ^bb0(%sum: i32, %bias: i32, %factor: f32):
    %1 = arith.addi %sum, %bias : i32
    %2 = kernel.requantize %1, %factor {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
    kernel.yield %2 : i8
  }
  %3 = kernel.matmul ins(%x, %w : tensor<2x3x8xi8>, tensor<4x8xi8>) weight_zero_points(%z : tensor<4xi32>) -> tensor<2x3x4xi64>
      attributes {input_unsigned, weight_unsigned} {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  func.return %0, %3 : tensor<2x3x4xi8>, tensor<2x3x4xi64>
}

func.func @convolutions(%x: tensor<1x5x5x4xf32>, %w: tensor<6x3x2x2xf32>, %r: tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32> {
  %0 = kernel.conv ins(%x, %w : tensor<1x5x5x4xf32>, tensor<6x3x2x2xf32>) epilogue(%r : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
      attributes {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: f32, %other: f32):
    %1 = arith.addf %sum, %other : f32
    kernel.yield %1 : f32
  }
  func.return %0 : tensor<1x2x4x6xf32>
}

func.func @on_memory(%x: memref<3x8xi8>, %w: memref<4x8xi8>, %y: memref<3x4xi32>, %c: memref<1x5x1xf16>, %k: memref<2x3x1xf16>, %v: memref<1x3x2xf32>) {
  kernel.matmul ins(%x, %w : memref<3x8xi8>, memref<4x8xi8>) outs(%y : memref<3x4xi32>) attributes {weight_zero_point = 7 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  kernel.conv ins(%c, %k : memref<1x5x1xf16>, memref<2x3x1xf16>) outs(%v : memref<1x3x2xf32>) attributes {strides = array<i64: 1>, dilations = array<i64: 1>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  %0 = kernel.reshape %y : memref<3x4xi32> to memref<12xi32>
  func.return
}

func.func @scalars(%a: i32, %w: i64, %f: f32, %q: i32, %n: i8, %v: vector<16xi32>, %s: vector<16xf32>) -> (i8, i8, i16, i8, i4, vector<16xi8>) {
  %0 = kernel.requantize %a, %f {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
  %1 = kernel.requantize %a, %q, %n {mode = #kernel.requantize<single_round>, zero_point = 200, minimum = 0, maximum = 255} : i32, i32, i8 -> i8
  %2 = kernel.requantize %w, %q, %n {mode = #kernel.requantize<double_round>, zero_point = 0, minimum = -32768, maximum = 32767} : i64, i32, i8 -> i16
  %3 = kernel.requantize %a, %n {mode = #kernel.requantize<shift, even>, zero_point = -128, minimum = -127, maximum = 127} : i32, i8 -> i8
  %4 = kernel.requantize %a, %n {mode = #kernel.requantize<shift, away>, zero_point = 0, minimum = -8, maximum = 7} : i32, i8 -> i4
  %5 = kernel.requantize %v, %s {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : vector<16xi32>, vector<16xf32> -> vector<16xi8>
  func.return %0, %1, %2, %3, %4, %5 : i8, i8, i16, i8, i4, vector<16xi8>
}

func.func @joined(%a: i8, %b: i8) -> (f32, i32) {
  %0 = kernel.join %a, %b, %a, %b : f32
  %1 = kernel.join %b, %b, %a, %a : i32
  func.return %0, %1 : f32, i32
}

func.func @reshapes(%x: tensor<2x6xf16>, %s: tensor<f32>) -> (tensor<3x4xf16>, tensor<1x1xf32>) {
  %0 = kernel.reshape %x : tensor<2x6xf16> to tensor<3x4xf16>
  %1 = kernel.reshape %s : tensor<f32> to tensor<1x1xf32>
  func.return %0, %1 : tensor<3x4xf16>, tensor<1x1xf32>
}

func.func @root(%x: i64) -> f32 {
  %0 = kernel.reciprocal_root %x
  func.return %0 : f32
}
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni", threads = 2>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "u8s8_dot", rows = 6, vectors = 4, lanes = 16, k_unroll = 4, threads = true>
// CHECK-NEXT: #k2 = #kernel.requantize<single_round>
// CHECK-NEXT: #k3 = #kernel.requantize<double_round>
// CHECK-NEXT: #k4 = #kernel.requantize<shift, even>
// CHECK-NEXT: #k5 = #kernel.requantize<shift, away>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @products(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x8xi8>, [[V1:%.+]]: tensor<4x8xi8>, [[V2:%.+]]: tensor<4xi32>, [[V3:%.+]]: tensor<4xf32>, [[V4:%.+]]: tensor<4xi32>) -> (tensor<2x3x4xi8>, tensor<2x3x4xi64>)
// CHECK-NEXT: [[V5:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x3x8xi8>, tensor<4x8xi8>) epilogue([[V2]], [[V3]] : tensor<4xi32>, tensor<4xf32>) -> tensor<2x3x4xi8> attributes {input_zero_point = -3 : i32, epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>], schedule = #k1} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32, [[V7:%.+]]: i32, [[V8:%.+]]: f32):
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V6]], [[V7]] : i32
// CHECK-NEXT: [[V10:%.+]] = kernel.requantize [[V9]], [[V8]] {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: kernel.yield [[V10]] : i8
// CHECK: [[V11:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x3x8xi8>, tensor<4x8xi8>) weight_zero_points([[V4]] : tensor<4xi32>) -> tensor<2x3x4xi64> attributes {input_unsigned, weight_unsigned} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i64):
// CHECK-NEXT: kernel.yield [[V12]] : i64
// CHECK: func.return [[V5]], [[V11]] : tensor<2x3x4xi8>, tensor<2x3x4xi64>
// CHECK-LABEL: @convolutions(
// CHECK-SAME: [[V0:%.+]]: tensor<1x5x5x4xf32>, [[V1:%.+]]: tensor<6x3x2x2xf32>, [[V2:%.+]]: tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
// CHECK-NEXT: [[V3:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x5x5x4xf32>, tensor<6x3x2x2xf32>) epilogue([[V2]] : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32> attributes {strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: [[V6:%.+]] = arith.addf [[V4]], [[V5]] : f32
// CHECK-NEXT: kernel.yield [[V6]] : f32
// CHECK: func.return [[V3]] : tensor<1x2x4x6xf32>
// CHECK-LABEL: @on_memory(
// CHECK-SAME: [[V0:%.+]]: memref<3x8xi8>, [[V1:%.+]]: memref<4x8xi8>, [[V2:%.+]]: memref<3x4xi32>, [[V3:%.+]]: memref<1x5x1xf16>, [[V4:%.+]]: memref<2x3x1xf16>, [[V5:%.+]]: memref<1x3x2xf32>)
// CHECK-NEXT: kernel.matmul ins([[V0]], [[V1]] : memref<3x8xi8>, memref<4x8xi8>) outs([[V2]] : memref<3x4xi32>) attributes {weight_zero_point = 7 : i32} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: kernel.conv ins([[V3]], [[V4]] : memref<1x5x1xf16>, memref<2x3x1xf16>) outs([[V5]] : memref<1x3x2xf32>) attributes {strides = array<i64: 1>, dilations = array<i64: 1>} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V7]] : f32
// CHECK: [[V8:%.+]] = kernel.reshape [[V2]] : memref<3x4xi32> to memref<12xi32>
// CHECK-NEXT: func.return
// CHECK-LABEL: @scalars(
// CHECK-SAME: [[V0:%.+]]: i32, [[V1:%.+]]: i64, [[V2:%.+]]: f32, [[V3:%.+]]: i32, [[V4:%.+]]: i8, [[V5:%.+]]: vector<16xi32>, [[V6:%.+]]: vector<16xf32>) -> (i8, i8, i16, i8, i4, vector<16xi8>)
// CHECK-NEXT: [[V7:%.+]] = kernel.requantize [[V0]], [[V2]] {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: [[V8:%.+]] = kernel.requantize [[V0]], [[V3]], [[V4]] {mode = #k2, zero_point = 200 : i64, minimum = 0 : i64, maximum = 255 : i64} : i32, i32, i8 -> i8
// CHECK-NEXT: [[V9:%.+]] = kernel.requantize [[V1]], [[V3]], [[V4]] {mode = #k3, zero_point = 0 : i64, minimum = -32768 : i64, maximum = 32767 : i64} : i64, i32, i8 -> i16
// CHECK-NEXT: [[V10:%.+]] = kernel.requantize [[V0]], [[V4]] {mode = #k4, zero_point = -128 : i64, minimum = -127 : i64, maximum = 127 : i64} : i32, i8 -> i8
// CHECK-NEXT: [[V11:%.+]] = kernel.requantize [[V0]], [[V4]] {mode = #k5, zero_point = 0 : i64, minimum = -8 : i64, maximum = 7 : i64} : i32, i8 -> i4
// CHECK-NEXT: [[V12:%.+]] = kernel.requantize [[V5]], [[V6]] {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : vector<16xi32>, vector<16xf32> -> vector<16xi8>
// CHECK-NEXT: func.return [[V7]], [[V8]], [[V9]], [[V10]], [[V11]], [[V12]] : i8, i8, i16, i8, i4, vector<16xi8>
// CHECK-LABEL: @joined(
// CHECK-SAME: [[V0:%.+]]: i8, [[V1:%.+]]: i8) -> (f32, i32)
// CHECK-NEXT: [[V2:%.+]] = kernel.join [[V0]], [[V1]], [[V0]], [[V1]] : f32
// CHECK-NEXT: [[V3:%.+]] = kernel.join [[V1]], [[V1]], [[V0]], [[V0]] : i32
// CHECK-NEXT: func.return [[V2]], [[V3]] : f32, i32
// CHECK-LABEL: @reshapes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6xf16>, [[V1:%.+]]: tensor<f32>) -> (tensor<3x4xf16>, tensor<1x1xf32>)
// CHECK-NEXT: [[V2:%.+]] = kernel.reshape [[V0]] : tensor<2x6xf16> to tensor<3x4xf16>
// CHECK-NEXT: [[V3:%.+]] = kernel.reshape [[V1]] : tensor<f32> to tensor<1x1xf32>
// CHECK-NEXT: func.return [[V2]], [[V3]] : tensor<3x4xf16>, tensor<1x1xf32>
// CHECK-LABEL: @root(
// CHECK-SAME: [[V0:%.+]]: i64) -> f32
// CHECK-NEXT: [[V1:%.+]] = kernel.reciprocal_root [[V0]]
// CHECK-NEXT: func.return [[V1]] : f32
