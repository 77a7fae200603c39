// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-fuse-attention

// A step of a decoder has one query: its rows are the heads, and all of them are near each other.
func.func @decode(%q: tensor<1x8x1x8xi8>, %k: tensor<8x1x8x16xi32>) -> tensor<1x8x1x16xi8> {
  %y = tensor.empty() : tensor<1x8x1x16xi8>
  // expected-remark @+1 {{'kernel.packed_matmul' op (decode) is not fused with the adjacent row-wise operation: would fuse 0 of 8 rows, but fusing requires at least 8 rows and fewer than all}}
  %scores = kernel.packed_matmul ins(%q, %k : tensor<1x8x1x8xi8>, tensor<8x1x8x16xi32>) -> tensor<1x8x1x16xi8> attributes {origin = "decode", layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<1x8x1x16xi8>) -> tensor<1x8x1x16xi8> attributes {rows = array<i64: 8>} {
  ^bb0(%z: tensor<1x8x1x16xi8>):
    %d = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores : tensor<1x8x1x16xi8>) outs(%z : tensor<1x8x1x16xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<1x8x1x16xi8>
    kernel.yield %d : tensor<1x8x1x16xi8>
  }
  func.return %r : tensor<1x8x1x16xi8>
}
// -----
// A prime number of rows, more than go together: one alone would go at a time.
func.func @prime(%q: tensor<2x1021x8xi8>, %k: tensor<2x4x8x16xi32>) -> tensor<2x1021x64xi8> {
  %y = tensor.empty() : tensor<2x1021x64xi8>
  // expected-remark @+1 {{'kernel.packed_matmul' op (prime) is not fused with the adjacent row-wise operation: would fuse 1 of 2x1021 rows, but fusing requires at least 8 rows and fewer than all}}
  %scores = kernel.packed_matmul ins(%q, %k : tensor<2x1021x8xi8>, tensor<2x4x8x16xi32>) -> tensor<2x1021x64xi8> attributes {origin = "prime", layout = #kernel.layout<variant = "splat", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    %0 = arith.trunci %sum : i32 to i8
    kernel.yield %0 : i8
  }
  %r = kernel.row_fusion outs(%y : tensor<2x1021x64xi8>) -> tensor<2x1021x64xi8> attributes {rows = array<i64: 2, 1021>} {
  ^bb0(%z: tensor<2x1021x64xi8>):
    %d = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scores : tensor<2x1021x64xi8>) outs(%z : tensor<2x1021x64xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<2x1021x64xi8>
    kernel.yield %d : tensor<2x1021x64xi8>
  }
  func.return %r : tensor<2x1021x64xi8>
}
// -----
// Groups of four bytes: the last row of 18 would be read past its end, which scratch memory has not.
func.func @groups(%x: tensor<2x16x18xi8>, %k: tensor<2x1x5x64xi8>) -> tensor<2x16x16xi32> {
  %y = tensor.empty() : tensor<2x16x18xi8>
  %r = kernel.row_fusion outs(%y : tensor<2x16x18xi8>) -> tensor<2x16x18xi8> attributes {rows = array<i64: 2, 16>} {
  ^bb0(%z: tensor<2x16x18xi8>):
    %d = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x16x18xi8>) outs(%z : tensor<2x16x18xi8>) {
    ^bb0(%a: i8, %o: i8):
      %1 = arith.muli %a, %a : i8
      linalg.yield %1 : i8
    } -> tensor<2x16x18xi8>
    kernel.yield %d : tensor<2x16x18xi8>
  }
  // expected-remark @+1 {{'kernel.packed_matmul' op (values) is not fused with the adjacent row-wise operation: 18 terms do not fill whole groups, so it would read past the end of the last row}}
  %0 = kernel.packed_matmul ins(%r, %k : tensor<2x16x18xi8>, tensor<2x1x5x64xi8>) -> tensor<2x16x16xi32> attributes {origin = "values", layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 16>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<2x16x16xi32>
}
