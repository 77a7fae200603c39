// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{unknown variant 'magic' (available: u8s8_dot, u8s4_dot, u8s2_dot, s8u4_dot, s8u2_dot, s8u1_dot, s8u4_short, s8u2_short, u8s4_short, u8s5_short, u8s6_short, u8s7_short, u8s8_short, u8s8_short2, u8s8_short4, s8s8_dot, s8s8_lanes, i16_pairs, i16_bytes, depthwise, splat_bytes, depthwise_bytes, depthwise_bytes_taps, i16_dots, i16_rows, i16_shifted_rows, u16_rows, depthwise_dot, depthwise_pairs, splat, splat_fma, f32s8, f32s4, f32s2, f32e2m1, f32e3m4, f32e4m3, f32e5m2, winograd, winograd_f4, winograd_f4_bytes)}}
func.func private @unknown_variant() attributes {a = #kernel.layout<variant = "magic", vectors = 1, lanes = 4>}
// -----
// expected-error @+1 {{vectors and lanes must be >= 1, but got 0 and 4}}
func.func private @no_vectors() attributes {a = #kernel.layout<variant = "splat", vectors = 0, lanes = 4>}
// -----
func.func @weights(%x: tensor<2x8xi8>, %w: tensor<1x2x1x16xi8>) {
  // expected-error @+1 {{layout #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4> expects weights of shape [1, 2, 2, 16] and type i8, but got 'tensor<1x2x1x16xi8>'}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x1x16xi8>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @weight_type(%x: tensor<2x8xi8>, %w: tensor<1x2x2x16xi32>) {
  // expected-error @+1 {{layout #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4> expects weights of shape [1, 2, 2, 16] and type i8, but got 'tensor<1x2x2x16xi32>'}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x2x16xi32>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @input_type(%x: tensor<2x8xi16>, %w: tensor<1x2x2x16xi8>) {
  // expected-error @+1 {{variant 'u8s8_dot' expects x of type i8, but got i16}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi16>, tensor<1x2x2x16xi8>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @not_widened(%x: tensor<2x8xi8>, %w: tensor<1x2x4x8xi16>) {
  // expected-error @+1 {{variant 'i16_pairs' expects x of type i16, but got i8}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x4x8xi16>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "i16_pairs", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @accumulator(%x: tensor<2x8xi8>, %w: tensor<1x2x2x16xi8>) {
  // expected-error @+1 {{variant 'u8s8_dot' accumulates in i32, but got i64}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x2x16xi8>) -> tensor<2x7xi64> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  func.return
}
// -----
func.func @result(%x: tensor<2x8xi8>, %w: tensor<1x2x2x16xi8>) {
  // expected-error @+1 {{expected a result of shape [2, 7], but got [3, 7]}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x2x16xi8>) -> tensor<3x7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @vector(%x: tensor<8xi8>, %w: tensor<1x2x2x16xi8>) {
  // expected-error @+1 {{x must have rank >= 2, but got shape [8]}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<8xi8>, tensor<1x2x2x16xi8>) -> tensor<7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @lanes_of_the_schedule(%x: tensor<2x8xi8>, %w: tensor<1x2x2x16xi8>) {
  // expected-error @+1 {{schedule may only set rows, block, prefetch, ahead and threads (the layout sets the rest), but got #kernel.schedule<rows = 2, lanes = 4>}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi8>, tensor<1x2x2x16xi8>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, schedule = #kernel.schedule<rows = 2, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @lanewise_product(%x: tensor<2x8xi32>, %w: tensor<1x2x8x4xi32>) {
  // expected-error @+1 {{variant 'depthwise' requires a depthwise convolution}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x8xi32>, tensor<1x2x8x4xi32>) -> tensor<2x7xi32> attributes {layout = #kernel.layout<variant = "depthwise", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @windows(%x: tensor<1x5x5x2xi8>, %w: tensor<1x1x3x1x2x16xi8>) {
  // expected-error @+1 {{strides, dilations and groups must be >= 1}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x1x3x1x2x16xi8>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: -500, 1>, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @axes(%x: tensor<1x5x5x2xi8>, %w: tensor<1x1x3x1x2x16xi8>) {
  // expected-error @+1 {{expected 2 taps, strides and dilations for x of shape [1, 5, 5, 2], but got [3], [1, 1] and [1, 1]}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x1x3x1x2x16xi8>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @no_taps(%x: tensor<1x5x5x2xi8>, %w: tensor<1x1x3x1x2x16xi8>) {
  // expected-error @+1 {{expected 2 taps, strides and dilations for x of shape [1, 5, 5, 2], but got [0, 3], [1, 1] and [1, 1]}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x1x3x1x2x16xi8>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 0, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @taps(%x: tensor<1x5x5x2xi8>, %w: tensor<1x1x3x1x2x16xi8>) {
  // expected-error @+1 {{expected a result of shape [1, 4, 3, 4], but got [1, 3, 3, 4]}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x1x3x1x2x16xi8>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 2, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @groups(%x: tensor<1x5x5x2xi8>, %w: tensor<1x1x3x1x2x16xi8>) {
  // expected-error @+1 {{groups (3) must divide the input channels (2) and output channels (4)}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<1x1x3x1x2x16xi8>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 3 : i64, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @lanewise_groups(%x: tensor<1x5x5x4xi8>, %w: tensor<1x1x3x3x2x4xi32>) {
  // expected-error @+1 {{variant 'depthwise' requires a depthwise convolution}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x4xi8>, tensor<1x1x3x3x2x4xi32>) -> tensor<1x3x3x4xi32> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, layout = #kernel.layout<variant = "depthwise", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @lanes(%x: tensor<1x5x5x8xi8>, %w: tensor<1x1x1x3x1x32xi8>) {
  // expected-error @+1 {{'kernel.packed_conv' op variant 'depthwise_dot' requires 4 vectors of a multiple of 4 lanes, but got 4 vectors of 2 lanes}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x8xi8>, tensor<1x1x1x3x1x32xi8>) -> tensor<1x3x3x8xi32> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @pairs(%x: tensor<1x5x5x8xi8>, %w: tensor<1x1x2x3x1x32xi16>) {
  // expected-error @+1 {{requires 2 vectors of a multiple of 4 lanes, but got 4 vectors of 4 lanes}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x5x8xi8>, tensor<1x1x2x3x1x32xi16>) -> tensor<1x3x3x8xi32> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64, layout = #kernel.layout<variant = "depthwise_pairs", vectors = 4, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @rows_only(%x: tensor<1x5x8xi8>, %w: tensor<1x1x1x1x64xi8>) {
  // expected-error @+1 {{variant 'depthwise_dot' requires 2 spatial axes, but got 1}}
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x5x8xi8>, tensor<1x1x1x1x64xi8>) -> tensor<1x3x8xi32> attributes {kernel_shape = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, groups = 8 : i64, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @algorithm(%x: tensor<1x6x6x2xi8>, %w: tensor<1x1x6x6x1x8xi16>) {
  // expected-error @+1 {{unknown algorithm 'f8' (available: f2, f4, f4_bytes)}}
  %0 = kernel.packed_winograd ins(%x, %w : tensor<1x6x6x2xi8>, tensor<1x1x6x6x1x8xi16>) -> tensor<1x4x4x4xi32> attributes {algorithm = "f8", layout = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @packed_for_the_other(%x: tensor<1x6x6x1xi8>, %w: tensor<1x1x6x6x1x2xi16>) {
  // expected-error @+1 {{algorithm 'f4' requires weights packed for variant 'winograd_f4', but got 'winograd'}}
  %0 = kernel.packed_winograd ins(%x, %w : tensor<1x6x6x1xi8>, tensor<1x1x6x6x1x2xi16>) -> tensor<1x4x4x1xi32> attributes {algorithm = "f4", layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @less_than_a_tile(%x: tensor<1x6x5x1xi8>, %w: tensor<1x1x6x6x1x2xi16>) {
  // expected-error @+1 {{images must have at least 6 elements along each axis, but got [6, 5]}}
  %0 = kernel.packed_winograd ins(%x, %w : tensor<1x6x5x1xi8>, tensor<1x1x6x6x1x2xi16>) -> tensor<1x4x3x1xi32> attributes {algorithm = "f4", layout = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @rows_of_blocks(%x: tensor<2x8xi8>, %w: tensor<1x1x2x32xi8>) {
  // expected-error @+1 {{x must have shape [blocks, rows, terms], but got [2, 8]}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x8xi8>, tensor<1x1x2x32xi8>) -> tensor<2x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @scales_of_blocks(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x16xi8>) {
  // expected-error @+1 {{layout #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4> expects weights of shape [1, 1, 2, 32] and type i8, but got 'tensor<1x1x2x16xi8>'}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x16xi8>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @type_of_scales(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x48xi8>) {
  // expected-error @+1 {{scale_type must be one of f16, bf16, f32, but got f64}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x48xi8>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, scale_type = f64} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @undivided_super_blocks(%x: tensor<3x1x4xi8>, %w: tensor<1x1x2x48xi8>) {
  // expected-error @+1 {{super_block must divide the number of blocks (3), but got 2}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<3x1x4xi8>, tensor<1x1x2x48xi8>) -> tensor<1x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, scale_type = f16, super_block = 2 : i32} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @weights_of_super_blocks(%x: tensor<4x1x4xi8>, %w: tensor<1x1x4x24xi8>) {
  // expected-error @+1 {{expects weights of shape [1, 1, 2, 48] and type i8, but got 'tensor<1x1x4x24xi8>'}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<4x1x4xi8>, tensor<1x1x4x24xi8>) -> tensor<1x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, scale_type = f16, super_block = 2 : i32} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @starts_of_blocks(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x32xi8>, %s: tensor<3x2xi32>) {
  // expected-error @+1 {{expected starts of shape [2, 3] and type i32, but got 'tensor<3x2xi32>'}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x32xi8>) starts(%s : tensor<3x2xi32>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @exact_sum_of_blocks(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x32xi8>) {
  // expected-error @+1 {{accumulator must be f32, but got i32}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x32xi8>) -> tensor<3x4xi32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @variant_of_blocks(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x32xi8>) {
  // expected-error @+1 {{variant 'u8s4_short' does not support sums per block}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x32xi8>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "u8s4_short", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @bytes_by_loops_of_floats(%x: tensor<2x3x4xi8>, %w: tensor<1x1x2x32xi8>) {
  // expected-error @+1 {{variant 'f32s8' accumulates in f32, but got i32}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x1x2x32xi8>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "f32s8", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @floats_by_bytes(%x: tensor<2x3x4xf32>, %w: tensor<1x1x2x32xi8>) {
  // expected-error @+1 {{variant 'u8s8_dot' expects x of type i8, but got f32}}
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xf32>, tensor<1x1x2x32xi8>) -> tensor<3x4xf32> attributes {layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return
}
// -----
func.func @offset_of_pairs(%x: tensor<1x4xi16>, %w: tensor<1x1x2x8xi16>) {
  // expected-error @+1 {{variant 'i16_pairs' does not support an offset}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<1x4xi16>, tensor<1x1x2x8xi16>) -> tensor<1x4xi32> attributes {offset = 3 : i32, layout = #kernel.layout<variant = "i16_pairs", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @terms_of_dots(%x: tensor<2x1x12xi16>, %w: tensor<2x4x1x8xi8>) {
  // expected-error @+1 {{variant 'i16_dots' requires a multiple of 8 terms, but got 12}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x1x12xi16>, tensor<2x4x1x8xi8>) -> tensor<2x1x4xi32> attributes {layout = #kernel.layout<variant = "i16_dots", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @channels_of_rows(%x: tensor<2x1x4xi16>, %w: tensor<2x1x2x12xi8>) {
  // expected-error @+1 {{variant 'i16_rows' requires a multiple of 2 terms, and a multiple of 4 channels, but got 4 and 6}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x1x4xi16>, tensor<2x1x2x12xi8>) -> tensor<2x1x6xi32> attributes {layout = #kernel.layout<variant = "i16_rows", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @channels_of_words(%x: tensor<2x1x4xi16>, %w: tensor<2x1x1x32xi8>) {
  // expected-error @+1 {{variant 'u16_rows' requires a multiple of 4 terms, and a multiple of 16 channels, but got 4 and 8}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x1x4xi16>, tensor<2x1x1x32xi8>) -> tensor<2x1x8xi32> attributes {layout = #kernel.layout<variant = "u16_rows", vectors = 4, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @vectors_of_words(%x: tensor<2x1x4xi16>, %w: tensor<2x1x1x64xi8>) {
  // expected-error @+1 {{variant 'u16_rows' requires a multiple of 4 vectors, but got 2}}
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x1x4xi16>, tensor<2x1x1x64xi8>) -> tensor<2x1x16xi32> attributes {layout = #kernel.layout<variant = "u16_rows", vectors = 2, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
