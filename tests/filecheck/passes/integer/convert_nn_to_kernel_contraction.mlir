// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce --verify-each=exec -o %t

!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.125}>
!a = !quant.uniform<i32:f32:0, {0.125, 0.0625}>
!y = !quant.uniform<i8:f32, 0.75:-3>
!c = !quant.uniform<i4:f32:{0:2}, {{0.1}, {0.3}}>

// Channels last, a border of zero points, weights in the layout of the kernel, bias and rounding in its region.
// CHECK-LABEL: @convolution(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4xi8> {nn.element = ui8}) -> tensor<1x2x4xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[7, -7]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x4x1xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x1x4xi8>) outs([[V2]] : tensor<1x4x1xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<1x4x1xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<1x6x1xi8>
// CHECK-NEXT: [[V7:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V8:%.+]] = linalg.fill ins([[V7]] : i8) outs([[V6]] : tensor<1x6x1xi8>) -> tensor<1x6x1xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.insert_slice [[V3]] into [[V8]][0, 1, 0] [1, 4, 1] [1, 1, 1] : tensor<1x4x1xi8> into tensor<1x6x1xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant dense<{{\[\[}}[1], [2], [3]], {{\[\[}}4], [5], [6]]]> : tensor<2x3x1xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.constant dense<[0.16666667, 0.083333336]> : tensor<2xf32>
// CHECK-NEXT: [[V12:%.+]] = kernel.conv ins([[V9]], [[V10]] : tensor<1x6x1xi8>, tensor<2x3x1xi8>) epilogue([[V1]], [[V11]] : tensor<2xi32>, tensor<2xf32>) -> tensor<1x4x2xi8> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, input_zero_point = 128 : i32, epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d2)>], input_unsigned} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i32, [[V14:%.+]]: i32, [[V15:%.+]]: f32):
// CHECK-NEXT: [[V16:%.+]] = arith.addi [[V13]], [[V14]] : i32
// CHECK-NEXT: [[V17:%.+]] = kernel.requantize [[V16]], [[V15]] {mode = #kernel.requantize<f32>, zero_point = -3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: kernel.yield [[V17]] : i8
// CHECK: [[V18:%.+]] = tensor.empty() : tensor<1x2x4xi8>
// CHECK-NEXT: [[V19:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V12]] : tensor<1x4x2xi8>) outs([[V18]] : tensor<1x2x4xi8>) {
// CHECK-NEXT: ^bb0([[V20:%.+]]: i8, [[V21:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<1x2x4xi8>
// CHECK-NEXT: func.return [[V19]] : tensor<1x2x4xi8>
func.func @convolution(%x: tensor<1x1x4x!x>) -> tensor<1x2x4x!y> {
  %w = nn.constant dense<[[[1, 2, 3]], [[4, 5, 6]]]> : tensor<2x1x3xi8> -> tensor<2x1x3x!w>
  %b = nn.constant dense<[7, -7]> : tensor<2xi32> -> tensor<2x!a>
  %0 = nn.conv %x, %w, %b {pads = array<i64: 1, 1>} : (tensor<1x1x4x!x>, tensor<2x1x3x!w>, tensor<2x!a>) -> tensor<1x2x4x!y>
  func.return %0 : tensor<1x2x4x!y>
}

// Two blocks of two terms are a batch of two products, each with its own scale; their f32 sum is quantized.
// CHECK-LABEL: @weights_in_blocks(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xi8> {nn.element = ui8}) -> tensor<3x1xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}[1, 2]], {{\[\[}}3, 4]]]> : tensor<2x1x2xi4>
// CHECK-NEXT: [[V2:%.+]] = kernel.reshape [[V0]] : tensor<3x4xi8> to tensor<3x2x2xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x3x2xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V2]] : tensor<3x2x2xi8>) outs([[V3]] : tensor<2x3x2xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK-NEXT: } -> tensor<2x3x2xi8>
// CHECK-NEXT: [[V7:%.+]] = arith.constant dense<[0.05, 0.15]> : tensor<2xf32>
// CHECK-NEXT: [[V8:%.+]] = kernel.matmul ins([[V4]], [[V1]] : tensor<2x3x2xi8>, tensor<2x1x2xi4>) epilogue([[V7]] : tensor<2xf32>) -> tensor<2x3x1xf32> attributes {input_zero_point = 128 : i32, epilogue_maps = [affine_map<(d0, d1, d2) -> (d0)>], input_unsigned} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: f32):
// CHECK-NEXT: [[V11:%.+]] = arith.sitofp [[V9]] : i32 to f32
// CHECK-NEXT: [[V12:%.+]] = arith.mulf [[V10]], [[V11]] : f32
// CHECK-NEXT: kernel.yield [[V12]] : f32
// CHECK: [[V13:%.+]] = tensor.empty() : tensor<3x1xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V15:%.+]] = linalg.fill ins([[V14]] : f32) outs([[V13]] : tensor<3x1xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins([[V8]] : tensor<2x3x1xf32>) outs([[V15]] : tensor<3x1xf32>) {
// CHECK-NEXT: ^bb0([[V17:%.+]]: f32, [[V18:%.+]]: f32):
// CHECK-NEXT: [[V19:%.+]] = arith.addf [[V18]], [[V17]] : f32
// CHECK-NEXT: linalg.yield [[V19]] : f32
// CHECK-NEXT: } -> tensor<3x1xf32>
// CHECK-NEXT: [[V20:%.+]] = tensor.empty() : tensor<3x1xi8>
// CHECK-NEXT: [[V21:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V16]] : tensor<3x1xf32>) outs([[V20]] : tensor<3x1xi8>) {
// CHECK-NEXT: ^bb0([[V22:%.+]]: f32, [[V23:%.+]]: i8):
// CHECK-NEXT: [[V24:%.+]] = arith.constant 7.500000e-01 : f32
// CHECK-NEXT: [[V25:%.+]] = arith.divf [[V22]], [[V24]] : f32
// CHECK-NEXT: [[V26:%.+]] = math.roundeven [[V25]] : f32
// CHECK-NEXT: [[V27:%.+]] = arith.constant -1.250000e+02 : f32
// CHECK-NEXT: [[V28:%.+]] = arith.maximumf [[V26]], [[V27]] : f32
// CHECK-NEXT: [[V29:%.+]] = arith.constant 1.300000e+02 : f32
// CHECK-NEXT: [[V30:%.+]] = arith.minimumf [[V28]], [[V29]] : f32
// CHECK-NEXT: [[V31:%.+]] = arith.fptosi [[V30]] : f32 to i32
// CHECK-NEXT: [[V32:%.+]] = arith.constant -3 : i32
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V31]], [[V32]] : i32
// CHECK-NEXT: [[V34:%.+]] = arith.trunci [[V33]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V34]] : i8
// CHECK-NEXT: } -> tensor<3x1xi8>
// CHECK-NEXT: func.return [[V21]] : tensor<3x1xi8>
func.func @weights_in_blocks(%x: tensor<3x4x!x>) -> tensor<3x1x!y> {
  %w = nn.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi4> -> tensor<4x1x!c>
  %0 = nn.matmul %x, %w : (tensor<3x4x!x>, tensor<4x1x!c>) -> tensor<3x1x!y>
  func.return %0 : tensor<3x1x!y>
}

// Two phases: even places see the taps 2 and 0, odd ones the tap 1.
// CHECK-LABEL: @transposed_convolution(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x3xf32>, [[V1:%.+]]: tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x3x1xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x1x3xf32>) outs([[V2]] : tensor<1x3x1xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V4]] : f32
// CHECK-NEXT: } -> tensor<1x3x1xf32>
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<1x7x1xf32>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<1x5x1xf32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V9:%.+]] = linalg.fill ins([[V8]] : f32) outs([[V7]] : tensor<1x5x1xf32>) -> tensor<1x5x1xf32>
// CHECK-NEXT: [[V10:%.+]] = tensor.insert_slice [[V3]] into [[V9]][0, 1, 0] [1, 3, 1] [1, 1, 1] : tensor<1x3x1xf32> into tensor<1x5x1xf32>
// CHECK-NEXT: [[V11:%.+]] = kernel.reshape [[V1]] : tensor<1x1x3xf32> to tensor<1x1x1x3xf32>
// CHECK-NEXT: [[V12:%.+]] = tensor.empty() : tensor<1x1x2x1xf32>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, ((d2 * -2) + 2))>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V11]] : tensor<1x1x1x3xf32>) outs([[V12]] : tensor<1x1x2x1xf32>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: f32, [[V15:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V14]] : f32
// CHECK-NEXT: } -> tensor<1x1x2x1xf32>
// CHECK-NEXT: [[V16:%.+]] = kernel.reshape [[V13]] : tensor<1x1x2x1xf32> to tensor<1x2x1xf32>
// CHECK-NEXT: [[V17:%.+]] = kernel.conv ins([[V10]], [[V16]] : tensor<1x5x1xf32>, tensor<1x2x1xf32>) -> tensor<1x4x1xf32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>} {
// CHECK-NEXT: ^bb0([[V18:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V18]] : f32
// CHECK: [[V19:%.+]] = tensor.insert_slice [[V17]] into [[V6]][0, 0, 0] [1, 4, 1] [1, 2, 1] : tensor<1x4x1xf32> into tensor<1x7x1xf32>
// CHECK-NEXT: [[V20:%.+]] = tensor.empty() : tensor<1x1x1x1xf32>
// CHECK-NEXT: [[V21:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, ((d2 * -2) + 1))>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V11]] : tensor<1x1x1x3xf32>) outs([[V20]] : tensor<1x1x1x1xf32>) {
// CHECK-NEXT: ^bb0([[V22:%.+]]: f32, [[V23:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V22]] : f32
// CHECK-NEXT: } -> tensor<1x1x1x1xf32>
// CHECK-NEXT: [[V24:%.+]] = kernel.reshape [[V21]] : tensor<1x1x1x1xf32> to tensor<1x1x1xf32>
// CHECK-NEXT: [[V25:%.+]] = kernel.conv ins([[V3]], [[V24]] : tensor<1x3x1xf32>, tensor<1x1x1xf32>) -> tensor<1x3x1xf32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V26]] : f32
// CHECK: [[V27:%.+]] = tensor.insert_slice [[V25]] into [[V19]][0, 1, 0] [1, 3, 1] [1, 2, 1] : tensor<1x3x1xf32> into tensor<1x7x1xf32>
// CHECK-NEXT: [[V28:%.+]] = tensor.empty() : tensor<1x1x7xf32>
// CHECK-NEXT: [[V29:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V27]] : tensor<1x7x1xf32>) outs([[V28]] : tensor<1x1x7xf32>) {
// CHECK-NEXT: ^bb0([[V30:%.+]]: f32, [[V31:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V30]] : f32
// CHECK-NEXT: } -> tensor<1x1x7xf32>
// CHECK-NEXT: func.return [[V29]] : tensor<1x1x7xf32>
func.func @transposed_convolution(%x: tensor<1x1x3xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x7xf32> {
  %0 = nn.conv_transpose %x, %w {strides = array<i64: 2>} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  func.return %0 : tensor<1x1x7xf32>
}

// One matrix product for each b and h.
// CHECK-LABEL: @einstein_sum(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x2x5xf32>, [[V1:%.+]]: tensor<2x6x2x5xf32>) -> tensor<2x2x3x6xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x2x3x5xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]] : tensor<2x3x2x5xf32>) outs([[V2]] : tensor<2x2x3x5xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V4]] : f32
// CHECK-NEXT: } -> tensor<2x2x3x5xf32>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<2x2x3x5xf32> to tensor<4x3x5xf32>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<2x2x6x5xf32>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V1]] : tensor<2x6x2x5xf32>) outs([[V7]] : tensor<2x2x6x5xf32>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: f32, [[V10:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V9]] : f32
// CHECK-NEXT: } -> tensor<2x2x6x5xf32>
// CHECK-NEXT: [[V11:%.+]] = kernel.reshape [[V8]] : tensor<2x2x6x5xf32> to tensor<4x6x5xf32>
// CHECK-NEXT: [[V12:%.+]] = kernel.matmul ins([[V6]], [[V11]] : tensor<4x3x5xf32>, tensor<4x6x5xf32>) -> tensor<4x3x6xf32> {
// CHECK-NEXT: ^bb0([[V13:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V13]] : f32
// CHECK: [[V14:%.+]] = kernel.reshape [[V12]] : tensor<4x3x6xf32> to tensor<2x2x3x6xf32>
// CHECK-NEXT: [[V15:%.+]] = tensor.empty() : tensor<2x2x3x6xf32>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V14]] : tensor<2x2x3x6xf32>) outs([[V15]] : tensor<2x2x3x6xf32>) {
// CHECK-NEXT: ^bb0([[V17:%.+]]: f32, [[V18:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V17]] : f32
// CHECK-NEXT: } -> tensor<2x2x3x6xf32>
// CHECK-NEXT: func.return [[V16]] : tensor<2x2x3x6xf32>
func.func @einstein_sum(%q: tensor<2x3x2x5xf32>, %k: tensor<2x6x2x5xf32>) -> tensor<2x2x3x6xf32> {
  %0 = nn.einsum %q, %k {equation = "bqhd,bkhd->bhqk"} : (tensor<2x3x2x5xf32>, tensor<2x6x2x5xf32>) -> tensor<2x2x3x6xf32>
  func.return %0 : tensor<2x2x3x6xf32>
}

// Without output channels there is nothing to compute, however large the weights might be.
// CHECK-LABEL: @no_channels(
// CHECK-NEXT: [[V0:%.+]] = tensor.empty() : tensor<2x0xi8>
// CHECK-NEXT: func.return [[V0]]
func.func @no_channels(%x: tensor<2x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x0x!quant.uniform<i8:f32, 1.0>> {
  %w = nn.constant dense<> : tensor<0x4xi8> -> tensor<0x4x!quant.uniform<i8:f32, 0.5>>
  %0 = nn.fully_connected %x, %w : (tensor<2x4x!quant.uniform<i8:f32, 0.5>>, tensor<0x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x0x!quant.uniform<i8:f32, 1.0>>
  func.return %0 : tensor<2x0x!quant.uniform<i8:f32, 1.0>>
}
