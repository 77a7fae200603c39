// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @taps(%x: tensor<1x5x4x3xi8>, %w: tensor<6x3x3x3xi16>) {
  // expected-error @+1 {{takes x [N, H + 2, W + 2, C] and w [O, 4, 4, C], found [1, 5, 4, 3] and [6, 3, 3, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x3x3x3xi16>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @channels(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x2xi16>) {
  // expected-error @+1 {{has 3 input channels of x and 2 of w}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x2xi16>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @less_than_a_tile(%x: tensor<1x5x3x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{takes images of 4 elements or more along each axis, found [5, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x3x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x1x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @result(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{computes a result of the shape [1, 3, 2, 6], found [1, 4, 2, 6]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x4x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @zero_point_of_weights(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{takes weights that are signed, and without zero points}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi32> attributes {weight_zero_point = 1 : i32} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @bytes_of_weights(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi8>) {
  // expected-error @+1 {{multiplies i8 or i16 by i16 and sums in i32, found i8 by i8 in i32}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi8>) -> tensor<1x3x2x6xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @wide_sums(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{multiplies i8 or i16 by i16 and sums in i32, found i8 by i16 in i64}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi64> {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  }
  func.return
}
// -----
func.func @algorithm(%x: tensor<1x5x4x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{computes by 'f3', there are f2, f4, f4_bytes}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x3x2x6xi32> attributes {algorithm = "f3"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @weights_of_the_other(%x: tensor<1x6x6x3xi8>, %w: tensor<6x4x4x3xi16>) {
  // expected-error @+1 {{takes x [N, H + 2, W + 2, C] and w [O, 6, 6, C], found [1, 6, 6, 3] and [6, 4, 4, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x4x4x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @less_than_a_larger_tile(%x: tensor<1x6x5x3xi8>, %w: tensor<6x6x6x3xi16>) {
  // expected-error @+1 {{takes images of 6 elements or more along each axis, found [6, 5]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x5x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x3x6xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @transformed_taps(%x: tensor<1x6x6x3xi8>, %w: tensor<6x6x6x3xi16>) {
  // expected-error @+1 {{takes x [N, H + 2, W + 2, C] and w [O, 3, 3, C], found [1, 6, 6, 3] and [6, 6, 6, 3]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4_bytes"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @wide_taps(%x: tensor<1x6x6x3xi8>, %w: tensor<6x3x3x3xi16>) {
  // expected-error @+1 {{multiplies i8 or i16 by i8 and sums in i32, found i8 by i16 in i32}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<6x3x3x3xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4_bytes"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @parts_of_odd_channels(%x: tensor<1x5x4x6xi8>, %w: tensor<6x4x4x6xi16>) {
  // expected-error @+1 {{adds parts of one even number of channels, 4 of them at most: found 2 of 6 channels}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x5x4x6xi8>, tensor<6x4x4x6xi16>) -> tensor<1x3x2x6xi32> attributes {parts = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
// -----
func.func @no_parts(%x: tensor<1x6x6x4xi8>, %w: tensor<6x6x6x4xi16>) {
  // expected-error @+1 {{adds parts of one even number of channels, 64 of them at most: found 0 of 4 channels}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x4xi8>, tensor<6x6x6x4xi16>) -> tensor<1x4x4x6xi32> attributes {algorithm = "f4", parts = 0 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
