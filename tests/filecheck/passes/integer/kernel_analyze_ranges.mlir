// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-analyze-ranges

// Channel by channel, with its own bias each: the first row gives [-384, 381] + 1000, the second [-892, 893] - 1000.
func.func @bias(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
  %b = arith.constant dense<[1000, -1000]> : tensor<2xi32>
  // expected-remark @+1 {{'kernel.matmul' op (fc1) sums are in [-892, 893]; with addends in [-1892, 1381]; operands in [-128, 127] and [-4, 3] fit pairs of i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) epilogue(%b : tensor<2xi32>) -> tensor<1x2xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>], origin = "fc1"} {
  ^bb0(%acc: i32, %e: i32):
    %1 = arith.addi %acc, %e : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x2xi32>
}
// -----
// u8 by i8 with zero points: x - 3 in [-3, 252], 3 taps of weight 1, -1 and 2; requantized in f32, exactly.
func.func @conv(%x: tensor<1x5x1xi8>) -> tensor<1x3x1xi8> {
  %w = arith.constant dense<[[[2], [0], [3]]]> : tensor<1x3x1xi8>
  %m = arith.constant dense<0.5> : tensor<f32>
  // expected-remark @+1 {{'kernel.conv' op sums are in [-261, 759]; the epilogue is exact in f32; operands in [-3, 252] and [-1, 2] fit pairs of i16; F(2, 3) with [-255, 504] by [-4, 6] and sums in [-522, 1518] fit}}
  %0 = kernel.conv ins(%x, %w : tensor<1x5x1xi8>, tensor<1x3x1xi8>) epilogue(%m : tensor<f32>) -> tensor<1x3x1xi8> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, input_zero_point = 3 : i32, weight_zero_point = 1 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2) -> ()>]} {
  ^bb0(%acc: i32, %e: f32):
    %1 = kernel.requantize %acc, %e {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<1x3x1xi8>
}
// -----
// Limits of a requantization go through a reshape, a border of 0 and a slice into the next sum.
func.func @flow(%a: tensor<2x2xi32>, %m: f32, %w: tensor<3x2xi16>) -> tensor<3x3xi32> {
  %e = tensor.empty() : tensor<2x2xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<2x2xi32>) outs(%e : tensor<2x2xi8>) {
  ^bb0(%s: i32, %o: i8):
    %r = kernel.requantize %s, %m {mode = #kernel.requantize<f32>, zero_point = 5 : i64, minimum = 4 : i64, maximum = 9 : i64} : i32, f32 -> i8
    %u = arith.constant 0 : i8
    %n = arith.subi %u, %r : i8
    linalg.yield %n : i8
  } -> tensor<2x2xi8>
  %1 = kernel.reshape %0 : tensor<2x2xi8> to tensor<4xi8>
  %2 = kernel.reshape %1 : tensor<4xi8> to tensor<2x2xi8>
  %zero = arith.constant 0 : i8
  %b = tensor.empty() : tensor<4x2xi8>
  %f = linalg.fill ins(%zero : i8) outs(%b : tensor<4x2xi8>) -> tensor<4x2xi8>
  %3 = tensor.insert_slice %2 into %f[1, 0] [2, 2] [1, 1] : tensor<2x2xi8> into tensor<4x2xi8>
  %4 = tensor.extract_slice %3[0, 0] [3, 2] [1, 1] : tensor<4x2xi8> to tensor<3x2xi8>
  // expected-remark @+1 {{sums are in [-589806, 589824]; operands in [-9, 0] and [-32768, 32767] fit pairs of i16}}
  %5 = kernel.matmul ins(%4, %w : tensor<3x2xi8>, tensor<3x2xi16>) -> tensor<3x3xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %5 : tensor<3x3xi32>
}
// -----
// A state that a loop carries: its table bounds it, however often the loop runs.
func.func @state(%h: tensor<1x4xi8>, %w: tensor<4x4xi8>) -> tensor<1x4xi8> {
  %table = arith.constant dense<[0, 1, 3, 7]> : tensor<4xi8>
  %zero = arith.constant 0 : i8
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty() : tensor<1x4xi8>
  %f = linalg.fill ins(%zero : i8) outs(%e : tensor<1x4xi8>) -> tensor<1x4xi8>
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %f) -> (tensor<1x4xi8>) {
    // expected-remark @+1 {{sums are in [-3584, 3556]; operands in [0, 7] and [-128, 127] fit pairs of i16}}
    %0 = kernel.matmul ins(%s, %w : tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi8> {
    ^bb0(%acc: i32):
      %three = arith.constant 3 : i32
      %1 = arith.andi %acc, %three : i32
      %2 = arith.index_cast %1 : i32 to index
      %3 = tensor.extract %table[%2] : tensor<4xi8>
      kernel.yield %3 : i8
    }
    scf.yield %0 : tensor<1x4xi8>
  }
  func.return %r : tensor<1x4xi8>
}
// -----
// The bias may leave i32, and f32 does not hold what is requantized.
func.func @wraps(%x: tensor<1x2xi16>, %w: tensor<1x2xi8>, %b: tensor<1xi32>, %m: tensor<f32>) -> tensor<1x1xi8> {
  // expected-remark @+1 {{sums are in [-8388352, 8388608]; with addends in [-2147483648, 2147483647]; the epilogue may wrap; the epilogue rounds in f32; operands in [-32768, 32767] and [-128, 127] fit pairs of i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi16>, tensor<1x2xi8>) epilogue(%b, %m : tensor<1xi32>, tensor<f32>) -> tensor<1x1xi8> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>]} {
  ^bb0(%acc: i32, %e: i32, %f: f32):
    %1 = arith.addi %acc, %e : i32
    %2 = kernel.requantize %1, %f {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    kernel.yield %2 : i8
  }
  func.return %0 : tensor<1x1xi8>
}
// -----
// The largest sums alone leave i32.
func.func @wraps_above(%x: tensor<1x1xi8>, %w: tensor<1x1xi8>) -> tensor<1x1xi32> {
  %b = arith.constant dense<2147480000> : tensor<1xi32>
  // expected-remark @+1 {{sums are in [-16256, 16384]; with addends in [-2147483648, 2147483647]; the epilogue may wrap; operands in [-128, 127] and [-128, 127] fit pairs of i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x1xi8>, tensor<1x1xi8>) epilogue(%b : tensor<1xi32>) -> tensor<1x1xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%acc: i32, %e: i32):
    %1 = arith.addi %acc, %e : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x1xi32>
}
// -----
// Bytes of 255 by 16 bits: 16 bits do not hold the transformed weights.
func.func @wide(%x: tensor<1x4x4x1xi8>, %w: tensor<1x3x3x1xi16>) -> tensor<1x2x2x1xi32> {
  // expected-remark @+1 {{sums are in [-75202560, 75200265]; operands in [0, 255] and [-32768, 32767] fit pairs of i16; F(2x2, 3x3) with [-510, 1020] by [-294912, 294907] and sums in [-300810240, 300801060] don't fit}}
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi16>) -> tensor<1x2x2x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_unsigned} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}
// -----
func.func @unproven(%x: tensor<1x4xi16>, %w: tensor<1x4xi16>) -> tensor<1x1xi32> {
  // expected-error @+1 {{'kernel.matmul' op (fc2) sums in [-4294836224, 4294967296] overflow i32: operands are in [-32768, 32767] and [-32768, 32767], with 4 terms}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi16>, tensor<1x4xi16>) -> tensor<1x1xi32> attributes {origin = "fc2"} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}
// -----
// In i64 they are held.
func.func @proven(%x: tensor<1x4xi16>, %w: tensor<1x4xi16>) -> tensor<1x1xi64> {
  // expected-remark @+1 {{sums are in [-4294836224, 4294967296]; operands in [-32768, 32767] and [-32768, 32767] don't fit pairs of i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi16>, tensor<1x4xi16>) -> tensor<1x1xi64> {
  ^bb0(%acc: i64):
    kernel.yield %acc : i64
  }
  func.return %0 : tensor<1x1xi64>
}
// -----
// Floats have no bounds to prove.
func.func @floats(%x: tensor<1x4xf32>, %w: tensor<1x4xf32>) -> tensor<1x1xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1xf32> {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return %0 : tensor<1x1xf32>
}
// -----
// A Winograd algorithm scales its sums by 2^2; they are any numbers of 32 bits before they are divided by that.
func.func @winograd(%x: tensor<1x4x4x1xi8>, %w: tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> {
  // expected-remark @+1 {{'kernel.winograd' op sums are in [-536870912, 536870911]}}
  %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x1xi8>, tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2x2x3xi32>
}
// -----
// The integers of a row add up to at most 70000: 70000 * 128, although 2048 terms alone would allow 2048 * 32768 * 128.
func.func @total(%x: tensor<1x2048xi16>, %w: tensor<1x2048xi8>) -> tensor<1x1xi32> {
  // expected-remark @+1 {{'kernel.matmul' op sums are in [-8960000, 8960000]; operands in [-32768, 32767] and [-128, 127] fit pairs of i16}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x2048xi16>, tensor<1x2048xi8>) -> tensor<1x1xi32> attributes {input_total = 70000 : i64} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}
