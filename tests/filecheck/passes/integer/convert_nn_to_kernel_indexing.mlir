// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s

// An index that nobody knows yet stays inside the axis.
// CHECK-LABEL: @taken(
// CHECK-SAME: [[V0:%.+]]: tensor<5x3xi8>, [[V1:%.+]]: tensor<2xi64>) -> tensor<2x3xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x3xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]] : tensor<2xi64>) outs([[V2]] : tensor<2x3xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i64, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi slt, [[V4]], [[V7]] : i64
// CHECK-NEXT: [[V9:%.+]] = arith.constant 5 : i64
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V4]], [[V9]] : i64
// CHECK-NEXT: [[V11:%.+]] = arith.select [[V8]], [[V10]], [[V4]] : i64
// CHECK-NEXT: [[V12:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V13:%.+]] = arith.maxsi [[V11]], [[V12]] : i64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 4 : i64
// CHECK-NEXT: [[V15:%.+]] = arith.minsi [[V13]], [[V14]] : i64
// CHECK-NEXT: [[V16:%.+]] = arith.index_cast [[V15]] : i64 to index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V0]][[[V16]], [[V6]]] : tensor<5x3xi8>
// CHECK-NEXT: linalg.yield [[V17]] : i8
// CHECK-NEXT: } -> tensor<2x3xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<2x3xi8>
func.func @taken(%x: tensor<5x3xi8>, %i: tensor<2xi64>) -> tensor<2x3xi8> {
  %0 = nn.gather %x, %i : (tensor<5x3xi8>, tensor<2xi64>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}

// Known indices at equal steps are a slice.
// CHECK-LABEL: @sliced(
// CHECK-SAME: [[V0:%.+]]: tensor<5x3xi8>) -> tensor<2x3xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.extract_slice [[V0]][1, 0] [2, 3] [3, 1] : tensor<5x3xi8> to tensor<2x3xi8>
// CHECK-NEXT: func.return [[V1]] : tensor<2x3xi8>
func.func @sliced(%x: tensor<5x3xi8>) -> tensor<2x3xi8> {
  %i = nn.constant dense<[1, 4]> : tensor<2xi64>
  %0 = nn.gather %x, %i : (tensor<5x3xi8>, tensor<2xi64>) -> tensor<2x3xi8>
  func.return %0 : tensor<2x3xi8>
}

// Updates are written one after the other.
// CHECK-LABEL: @written(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf16>, [[V1:%.+]]: tensor<3x1xi64>, [[V2:%.+]]: tensor<3xf16>) -> tensor<4xf16>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<4xf16>) outs([[V3]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f16, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.extf [[V5]] : f16 to f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V11:%.+]] = scf.for [[V12:%.+]] = [[V8]] to [[V9]] step [[V10]] iter_args([[V13:%.+]] = [[V4]]) -> (tensor<4xf32>) {
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V15:%.+]] = tensor.extract [[V1]][[[V12]], [[V14]]] : tensor<3x1xi64>
// CHECK-NEXT: [[V16:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V17:%.+]] = arith.cmpi slt, [[V15]], [[V16]] : i64
// CHECK-NEXT: [[V18:%.+]] = arith.constant 4 : i64
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V15]], [[V18]] : i64
// CHECK-NEXT: [[V20:%.+]] = arith.select [[V17]], [[V19]], [[V15]] : i64
// CHECK-NEXT: [[V21:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V22:%.+]] = arith.maxsi [[V20]], [[V21]] : i64
// CHECK-NEXT: [[V23:%.+]] = arith.constant 3 : i64
// CHECK-NEXT: [[V24:%.+]] = arith.minsi [[V22]], [[V23]] : i64
// CHECK-NEXT: [[V25:%.+]] = arith.index_cast [[V24]] : i64 to index
// CHECK-NEXT: [[V26:%.+]] = tensor.extract [[V2]][[[V12]]] : tensor<3xf16>
// CHECK-NEXT: [[V27:%.+]] = arith.extf [[V26]] : f16 to f32
// CHECK-NEXT: [[V28:%.+]] = tensor.extract [[V13]][[[V25]]] : tensor<4xf32>
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V28]], [[V27]] : f32
// CHECK-NEXT: [[V30:%.+]] = tensor.insert [[V29]] into [[V13]][[[V25]]] : tensor<4xf32>
// CHECK-NEXT: scf.yield [[V30]] : tensor<4xf32>
// CHECK: [[V31:%.+]] = tensor.empty() : tensor<4xf16>
// CHECK-NEXT: [[V32:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]] : tensor<4xf32>) outs([[V31]] : tensor<4xf16>) {
// CHECK-NEXT: ^bb0([[V33:%.+]]: f32, [[V34:%.+]]: f16):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f32 to f16
// CHECK-NEXT: linalg.yield [[V35]] : f16
// CHECK-NEXT: } -> tensor<4xf16>
// CHECK-NEXT: func.return [[V32]] : tensor<4xf16>
func.func @written(%x: tensor<4xf16>, %i: tensor<3x1xi64>, %u: tensor<3xf16>) -> tensor<4xf16> {
  %0 = nn.scatter_nd %x, %i, %u {reduction = "add"} : (tensor<4xf16>, tensor<3x1xi64>, tensor<3xf16>) -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// Rows with parameters of their own: the index finds the multiplier, too.
// CHECK-LABEL: @rescaled(
// CHECK-SAME: [[V0:%.+]]: tensor<2xi64>) -> tensor<2x3xi16>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[}}[1, 2, 3], [-4, 5, -6]]> : tensor<2x3xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
// CHECK: [[V3:%.+]] = linalg.index 1 : index
// CHECK: [[V4:%.+]] = arith.index_cast {{%.+}} : i64 to index
// CHECK-NEXT: [[V5:%.+]] = tensor.extract [[V1]]{{\[}}[[V4]], [[V3]]] : tensor<2x3xi8>
// CHECK-NEXT: [[V6:%.+]] = arith.extsi [[V5]] : i8 to i32
// CHECK: [[V7:%.+]] = arith.index_cast {{%.+}} : i64 to index
// CHECK-NEXT: [[V8:%.+]] = tensor.extract [[V2]]{{\[}}[[V7]]] : tensor<2xf32>
// CHECK-NEXT: kernel.requantize [[V6]], [[V8]] {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -32768 : i64, maximum = 32767 : i64} : i32, f32 -> i16
func.func @rescaled(%i: tensor<2xi64>) -> tensor<2x3x!quant.uniform<i16:f32, 0.5:3>> {
  %t = nn.constant dense<[[1, 2, 3], [-4, 5, -6]]> : tensor<2x3xi8> -> tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %0 = nn.gather %t, %i : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<2x3x!quant.uniform<i16:f32, 0.5:3>>
  func.return %0 : tensor<2x3x!quant.uniform<i16:f32, 0.5:3>>
}

// Rows of a table become floats after they are gathered. Its codes of 4 bits, those of the first half of a row and those
// of the second, share bytes.
// CHECK-LABEL: @reals(
// CHECK: [[CODES:%.+]] = arith.constant dense<{{\[\[}}49, 66], [117, -122]]> : tensor<2x2xi8>
// CHECK: [[SCALES:%.+]] = arith.constant dense<{{\[}}5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK: tensor.extract [[CODES]]
// CHECK: arith.shrsi
// CHECK: tensor.extract [[SCALES]]
// CHECK: arith.mulf
// CHECK-NOT: tensor<2x4xf32>
// CHECK: kernel.reshape {{%.+}} : tensor<3x2x2xf32> to tensor<3x4xf32>
func.func @reals(%i: tensor<3xi64>) -> tensor<3x4xf32> {
  %t = nn.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xui4> -> tensor<2x4x!quant.uniform<u4:f32:0, {0.5, 0.25}>>
  %r = quant.dcast %t : tensor<2x4x!quant.uniform<u4:f32:0, {0.5, 0.25}>> to tensor<2x4xf32>
  %0 = nn.gather %r, %i : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}
