// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @reshape_to_memory(%x: tensor<4xi8>) {
  // expected-error @+1 {{operand and result must be both tensors or both memrefs, but got 'tensor<4xi8>' and 'memref<4xi8>'}}
  %0 = kernel.reshape %x : tensor<4xi8> to memref<4xi8>
  func.return
}
// -----
func.func @reshape_to_other_elements(%x: tensor<4xi8>) {
  // expected-error @+1 {{element type must not change, but got i8 and i16}}
  %0 = kernel.reshape %x : tensor<4xi8> to tensor<2xi16>
  func.return
}
// -----
func.func @reshape_of_unknown_sizes(%x: tensor<?xi8>) {
  // expected-error @+1 {{shapes must be static}}
  %0 = kernel.reshape %x : tensor<?xi8> to tensor<4xi8>
  func.return
}
// -----
func.func @reshape_to_fewer_elements(%x: tensor<4xi8>) {
  // expected-error @+1 {{number of elements must not change, but got 4 and 3}}
  %0 = kernel.reshape %x : tensor<4xi8> to tensor<3xi8>
  func.return
}
// -----
func.func @parameters_of_another_mode(%a: i32, %m: f32) {
  // expected-error @+1 {{mode single_round expects parameters i32, i8, but got f32}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<single_round>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
  func.return
}
// -----
func.func @no_parameters(%a: i32, %f: f32) {
  // expected-error @+1 {{mode shift expects parameters i8, but got f32, f32}}
  %0 = kernel.requantize %a, %f, %f {mode = #kernel.requantize<shift, up>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32, f32 -> i8
  func.return
}
// -----
func.func @rescaled_float(%a: f32, %m: f32) {
  // expected-error @+1 {{operands and results must be signless integers, but got 'f32'}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : f32, f32 -> i8
  func.return
}
// -----
func.func @rescaled_unsigned(%a: ui32, %m: f32) {
  // expected-error @+1 {{operands and results must be signless integers, but got 'ui32'}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : ui32, f32 -> i8
  func.return
}
// -----
func.func @rescaled_to_unsigned(%a: i32, %m: f32) {
  // expected-error @+1 {{operands and results must be signless integers, but got 'ui8'}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 0, minimum = 0, maximum = 127} : i32, f32 -> ui8
  func.return
}
// -----
func.func @zero_point_outside(%a: i32, %m: f32) {
  // expected-error @+1 {{zero point must be in the range of 'i8' that has the limits [-128, 127], but got 128}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 128, minimum = -128, maximum = 127} : i32, f32 -> i8
  func.return
}
// -----
func.func @limits_of_a_wider_type(%a: i32, %m: f32) {
  // expected-error @+1 {{limits [-128, 128] do not fit 'i8'}}
  %0 = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 128} : i32, f32 -> i8
  func.return
}
// -----
func.func @no_result_and_no_memory(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{must either return a tensor or write to 'outs'}}
  kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @tensors_and_memory(%x: tensor<3x8xi8>, %w: memref<4x8xi8>) {
  // expected-error @+1 {{operands and results must be all tensors or all memrefs, but got 'memref<4x8xi8>'}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, memref<4x8xi8>) -> tensor<3x4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @other_terms(%x: tensor<3x8xi8>, %w: tensor<4x7xi8>) {
  // expected-error @+1 {{x and w must have the same number of terms, but got 8 and 7}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x7xi8>) -> tensor<3x4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @other_batches(%x: tensor<2x3x8xi8>, %w: tensor<3x4x8xi8>) {
  // expected-error @+1 {{the batch dimensions of w ([3]) must be the first ones of x ([2])}}
  %0 = kernel.matmul ins(%x, %w : tensor<2x3x8xi8>, tensor<3x4x8xi8>) -> tensor<2x3x4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @vectors(%x: tensor<8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{expected x of rank >= 2 and w of rank 2 up to that of x, but got [8] and [4, 8]}}
  %0 = kernel.matmul ins(%x, %w : tensor<8xi8>, tensor<4x8xi8>) -> tensor<4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @result_of_another_shape(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{expected a result of shape [3, 4], but got [4, 3]}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) -> tensor<4x3xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @too_few_zero_points(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %z: tensor<3xi32>) {
  // expected-error @+1 {{expected 4 weight zero points of i32 or i64, but got 'tensor<3xi32>'}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) weight_zero_points(%z : tensor<3xi32>) -> tensor<3x4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @integers_by_floats(%x: tensor<3x8xi8>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{operands and accumulator must be all integers or all floats, but got i8, f32 and i32}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xf32>) -> tensor<3x4xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @short_sums(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{accumulator must be i32 or i64, but got i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) -> tensor<3x4xi16> {
  ^bb0(%sum: i16):
    kernel.yield %sum : i16
  }
  func.return
}
// -----
func.func @no_map(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{expected one map per epilogue operand, but got 1 operands and 0 maps}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) epilogue(%b : tensor<4xi32>) -> tensor<3x4xi32> {
  ^bb0(%sum: i32, %bias: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @other_element_in_the_region(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{block argument for epilogue operand 'tensor<4xi32>' must have its element type, but got 'i64'}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) epilogue(%b : tensor<4xi32>) -> tensor<3x4xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%sum: i32, %bias: i64):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @map_of_other_dimensions(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{map (d0, d1, d2) -> (d2) must take 2 dimensions to those of 'tensor<4xi32>'}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) epilogue(%b : tensor<4xi32>) -> tensor<3x4xi32> attributes {epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>]} {
  ^bb0(%sum: i32, %bias: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @map_beyond_the_operand(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<3xi32>) {
  // expected-error @+1 {{map (d0, d1) -> (d1) reads out of bounds of 'tensor<3xi32>' for a result of shape [3, 4]}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) epilogue(%b : tensor<3xi32>) -> tensor<3x4xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%sum: i32, %bias: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @element_that_is_not_taken(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>, %b: tensor<4xi32>) {
  // expected-error @+1 {{the region must take the sum and 1 elements of epilogue operands}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) epilogue(%b : tensor<4xi32>) -> tensor<3x4xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @yield_of_another_type(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{the region must yield i8, but yields i32}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) -> tensor<3x4xi8> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @no_yield(%x: tensor<3x8xi8>, %w: tensor<4x8xi8>) {
  // expected-error @+1 {{the region must end in kernel.yield}}
  %0 = kernel.matmul ins(%x, %w : tensor<3x8xi8>, tensor<4x8xi8>) -> tensor<3x4xi8> {
  ^bb0(%sum: i32):
    func.return
  }
  func.return
}
// -----
func.func @kernel_of_another_rank(%x: tensor<1x5x4xi8>, %w: tensor<2x4xi8>) {
  // expected-error @+1 {{x and w must have the same rank, at least 3, but got [1, 5, 4] and [2, 4]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x5x4xi8>, tensor<2x4xi8>) -> tensor<1x5x2xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @strides_of_another_rank(%x: tensor<1x5x4xi8>, %w: tensor<2x1x4xi8>) {
  // expected-error @+1 {{expected 1 strides and dilations, but got [1, 1] and [1]}}
  %0 = kernel.conv ins(%x, %w : tensor<1x5x4xi8>, tensor<2x1x4xi8>) -> tensor<1x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @no_stride(%x: tensor<1x5x4xi8>, %w: tensor<2x1x4xi8>) {
  // expected-error @+1 {{strides, dilations and groups must be >= 1}}
  %0 = kernel.conv ins(%x, %w : tensor<1x5x4xi8>, tensor<2x1x4xi8>) -> tensor<1x5x2xi32> attributes {strides = array<i64: 0>, dilations = array<i64: 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @channels_of_groups(%x: tensor<1x5x4xi8>, %w: tensor<3x1x2xi8>) {
  // expected-error @+1 {{expected 4 input channels, and output channels divisible by 2 groups, but got 4 and 3}}
  %0 = kernel.conv ins(%x, %w : tensor<1x5x4xi8>, tensor<3x1x2xi8>) -> tensor<1x5x3xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
// expected-error @+1 {{unknown requantization mode 'f16' (available: f32, single_round, double_round, shift, qlinear, f64, litert_reference, litert_xnnpack)}}
func.func private @unknown_mode() attributes {a = #kernel.requantize<f16>}
// -----
// expected-error @+1 {{unknown tie rounding 'down' (available: even, up, away)}}
func.func private @unknown_ties() attributes {a = #kernel.requantize<shift, down>}
// -----
// expected-error @+1 {{ties must be given for shifts, and only for those: <shift, even>, <shift, up>, <shift, away>}}
func.func private @shift_without_ties() attributes {a = #kernel.requantize<shift>}
// -----
// expected-error @+1 {{rows must be >= 1, but got 0}}
func.func private @no_rows() attributes {a = #kernel.schedule<variant = "plain", rows = 0>}
// -----
// expected-error @+1 {{unknown schedule field 'columns' (available: variant, rows, vectors, lanes, k_unroll, block, prefetch, ahead, threads)}}
func.func private @unknown_field() attributes {a = #kernel.schedule<variant = "plain", columns = 2>}
// -----
// expected-error @+1 {{unknown instruction set 'sse' (available: generic, portable, portable-integer, avx2, avx2-vnni, avx512-vnni, neon, neon-dotprod, wasm-simd, armv7e-m)}}
func.func private @unknown_isa() attributes {a = #kernel.target<isa = "sse">}
// -----
// expected-error @+1 {{threads must be >= 1, but got 0}}
func.func private @no_threads() attributes {a = #kernel.target<isa = "generic", threads = 0>}
// -----
func.func @symbols_in_a_map(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>, %b: tensor<3xi32>) {
  // expected-error @+1 {{map (d0, d1)[s0] -> ((d1 + s0)) must not have symbols}}
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<3x4xi8>) epilogue(%b : tensor<3xi32>) -> tensor<2x3xi32> attributes {epilogue_maps = [affine_map<(d0, d1)[s0] -> (d1 + s0)>]} {
  ^bb0(%sum: i32, %e: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @three_bytes(%a: i8) {
  // expected-error @+1 {{expected 4 bytes per i32 or f32 element, but got 3 for 'f32'}}
  %0 = kernel.join %a, %a, %a : f32
  func.return
}
// -----
func.func @joined_to_a_byte(%a: i8) {
  // expected-error @+1 {{expected 4 bytes per i32 or f32 element, but got 4 for 'i16'}}
  %0 = kernel.join %a, %a, %a, %a : i16
  func.return
}
// -----
func.func @root_of_32_bits(%a: i32) {
  // expected-error @+1 {{operand 'value' at position 0 does not verify: Expected attribute i64 but got i32}}
  %0 = "kernel.reciprocal_root"(%a) : (i32) -> f32
  func.return
}
// -----
func.func @negative_total(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) {
  // expected-error @+1 {{input_total must be >= 0, but got -1}}
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x3xi32> attributes {input_total = -1 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
