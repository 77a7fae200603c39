// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @taps(%x: tensor<1x5x4x3xi8>, %w: tensor<6x3x3x3xi16>) {
  // expected-error @+1 {{expected x of shape [N, H + 2, W + 2, C] and w of shape [O, 4, 4, C], but got [1, 5, 4, 3] and [6, 3, 3, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x3x3x3xi16>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @channels(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x2xi16>) {
  // expected-error @+1 {{x and w must have the same number of input channels, but got 3 and 2}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x2xi16>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @less_than_a_tile(%x: tensor<1x5x3x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{images must have at least 4 elements along each axis, but got [5, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x3x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x1x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @result(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{expected a result of shape [1, 3, 2, 6], but got [1, 4, 2, 6]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x4x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @zero_point_of_weights(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{weights must be signed, without zero points}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi32> attributes {weight_zero_point = 1 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @bytes_of_weights(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi8>) {
  // expected-error @+1 {{expected x of i8 or i16, w of i16 and accumulator i32, but got i8, i8 and i32}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi8>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @wide_sums(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{expected x of i8 or i16, w of i16 and accumulator i32, but got i8, i16 and i64}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi64> {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  func.return
}
// -----
func.func @algorithm(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{unknown algorithm 'f3' (available: f2, f4, f4_bytes)}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi32> attributes {algorithm = "f3"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @weights_of_the_other(%x: tensor<1x6x6x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{expected x of shape [N, H + 2, W + 2, C] and w of shape [O, 6, 6, C], but got [1, 6, 6, 3] and [6, 4, 4, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @less_than_a_larger_tile(%x: tensor<1x6x5x3xi8>, %w: tensor<6x6x6x3xi16>) {
  // expected-error @+1 {{images must have at least 6 elements along each axis, but got [6, 5]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x5x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x3x6xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @transformed_taps(%x: tensor<1x6x6x3xi8>, %w: tensor<6x6x6x3xi16>) {
  // expected-error @+1 {{expected x of shape [N, H + 2, W + 2, C] and w of shape [O, 3, 3, C], but got [1, 6, 6, 3] and [6, 6, 6, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4_bytes"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @wide_taps(%x: tensor<1x6x6x3xi8>, %w: tensor<6x3x3x3xi16>) {
  // expected-error @+1 {{expected x of i8 or i16, w of i8 and accumulator i32, but got i8, i16 and i32}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x3x3x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4_bytes"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @parts_of_odd_channels(%x: tensor<1x5x4x6xi8>, %w: tensor<6x4x4x6xi16>) {
  // expected-error @+1 {{expected an even number of channels per part and at most 4 parts, but got 2 parts of 6 channels}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x6xi8>, tensor<6x4x4x6xi16>) -> tensor<1x3x2x6xi32> attributes {parts = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @no_parts(%x: tensor<1x6x6x4xi8>, %w: tensor<6x6x6x4xi16>) {
  // expected-error @+1 {{expected an even number of channels per part and at most 64 parts, but got 0 parts of 4 channels}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x4xi8>, tensor<6x6x6x4xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4", parts = 0 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
