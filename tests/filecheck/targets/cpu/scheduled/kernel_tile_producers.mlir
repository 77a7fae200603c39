// RUN: qmlir-opt %s -p kernel-tile-producers | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-tile-producers,kernel-tile-producers' -o %t.twice && qmlir-opt %s -p kernel-tile-producers | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-tile-producers --verify-each=exec -o %t.checked

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d3)>

// A megabyte of sums in two parts; the other convolution reads every second row, and rows of a residual.
// CHECK-LABEL: @strided(
// CHECK-SAME: [[V0:%.+]]: tensor<1x66x64x4xi8>, [[V1:%.+]]: tensor<64x3x1x4xi8>, [[V2:%.+]]: tensor<1x128x128x4xi8>, [[V3:%.+]]: tensor<64x1x1x4xi8>, [[V4:%.+]]: tensor<64xi32>, [[V5:%.+]]: tensor<1x64x64x64xi8>) -> tensor<1x64x64x64xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<1x64x64x64xi8>
// CHECK-NEXT: [[V7:%.+]] = tensor.extract_slice [[V0]][0, 0, 0, 0] [1, 34, 64, 4] [1, 1, 1, 1] {origin = "b"} : tensor<1x66x64x4xi8> to tensor<1x34x64x4xi8>
// CHECK-NEXT: [[V8:%.+]] = kernel.conv ins([[V7]], [[V1]] : tensor<1x34x64x4xi8>, tensor<64x3x1x4xi8>) epilogue([[V4]] : tensor<64xi32>) -> tensor<1x32x64x64xi32> attributes {origin = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: i32):
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V9]], [[V10]] {origin = "b"} : i32
// CHECK-NEXT: kernel.yield [[V11]] {origin = "b"} : i32
// CHECK: [[V12:%.+]] = tensor.extract_slice [[V5]][0, 0, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1] {origin = "b"} : tensor<1x64x64x64xi8> to tensor<1x32x64x64xi8>
// CHECK-NEXT: [[V13:%.+]] = tensor.extract_slice [[V2]][0, 0, 0, 0] [1, 63, 128, 4] [1, 1, 1, 1] {origin = "b"} : tensor<1x128x128x4xi8> to tensor<1x63x128x4xi8>
// CHECK-NEXT: [[V14:%.+]] = kernel.conv ins([[V13]], [[V3]] : tensor<1x63x128x4xi8>, tensor<64x1x1x4xi8>) epilogue([[V8]], [[V12]] : tensor<1x32x64x64xi32>, tensor<1x32x64x64xi8>) -> tensor<1x32x64x64xi8> attributes {origin = "b", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i32, [[V16:%.+]]: i32, [[V17:%.+]]: i8):
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V15]], [[V16]] {origin = "b"} : i32
// CHECK-NEXT: [[V19:%.+]] = arith.trunci [[V18]] {origin = "b"} : i32 to i8
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V19]], [[V17]] {origin = "b"} : i8
// CHECK-NEXT: kernel.yield [[V20]] {origin = "b"} : i8
// CHECK: [[V21:%.+]] = tensor.insert_slice [[V14]] into [[V6]][0, 0, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1] {origin = "b"} : tensor<1x32x64x64xi8> into tensor<1x64x64x64xi8>
// CHECK-NEXT: [[V22:%.+]] = tensor.extract_slice [[V0]][0, 32, 0, 0] [1, 34, 64, 4] [1, 1, 1, 1] {origin = "b"} : tensor<1x66x64x4xi8> to tensor<1x34x64x4xi8>
// CHECK-NEXT: [[V23:%.+]] = kernel.conv ins([[V22]], [[V1]] : tensor<1x34x64x4xi8>, tensor<64x3x1x4xi8>) epilogue([[V4]] : tensor<64xi32>) -> tensor<1x32x64x64xi32> attributes {origin = "a", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// CHECK-NEXT: ^bb0([[V24:%.+]]: i32, [[V25:%.+]]: i32):
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V24]], [[V25]] {origin = "b"} : i32
// CHECK-NEXT: kernel.yield [[V26]] {origin = "b"} : i32
// CHECK: [[V27:%.+]] = tensor.extract_slice [[V5]][0, 32, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1] {origin = "b"} : tensor<1x64x64x64xi8> to tensor<1x32x64x64xi8>
// CHECK-NEXT: [[V28:%.+]] = tensor.extract_slice [[V2]][0, 64, 0, 0] [1, 63, 128, 4] [1, 1, 1, 1] {origin = "b"} : tensor<1x128x128x4xi8> to tensor<1x63x128x4xi8>
// CHECK-NEXT: [[V29:%.+]] = kernel.conv ins([[V28]], [[V3]] : tensor<1x63x128x4xi8>, tensor<64x1x1x4xi8>) epilogue([[V23]], [[V27]] : tensor<1x32x64x64xi32>, tensor<1x32x64x64xi8>) -> tensor<1x32x64x64xi8> attributes {origin = "b", strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V30:%.+]]: i32, [[V31:%.+]]: i32, [[V32:%.+]]: i8):
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V30]], [[V31]] {origin = "b"} : i32
// CHECK-NEXT: [[V34:%.+]] = arith.trunci [[V33]] {origin = "b"} : i32 to i8
// CHECK-NEXT: [[V35:%.+]] = arith.addi [[V34]], [[V32]] {origin = "b"} : i8
// CHECK-NEXT: kernel.yield [[V35]] {origin = "b"} : i8
// CHECK: [[V36:%.+]] = tensor.insert_slice [[V29]] into [[V21]][0, 32, 0, 0] [1, 32, 64, 64] [1, 1, 1, 1] {origin = "b"} : tensor<1x32x64x64xi8> into tensor<1x64x64x64xi8>
// CHECK-NEXT: func.return [[V36]] : tensor<1x64x64x64xi8>
func.func @strided(%x: tensor<1x66x64x4xi8>, %w: tensor<64x3x1x4xi8>, %z: tensor<1x128x128x4xi8>, %v: tensor<64x1x1x4xi8>, %b: tensor<64xi32>, %r: tensor<1x64x64x64xi8>) -> tensor<1x64x64x64xi8> {
  %0 = kernel.conv ins(%x, %w : tensor<1x66x64x4xi8>, tensor<64x3x1x4xi8>) epilogue(%b : tensor<64xi32>) -> tensor<1x64x64x64xi32>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [#channel], origin = "a"} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  %2 = kernel.conv ins(%z, %v : tensor<1x128x128x4xi8>, tensor<64x1x1x4xi8>) epilogue(%0, %r : tensor<1x64x64x64xi32>, tensor<1x64x64x64xi8>) -> tensor<1x64x64x64xi8>
      attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, epilogue_maps = [#id, #id], origin = "b"} {
  ^bb0(%sum: i32, %other: i32, %e: i8):
    %3 = arith.addi %sum, %other : i32
    %4 = arith.trunci %3 : i32 to i8
    %5 = arith.addi %4, %e : i8
    kernel.yield %5 : i8
  }
  func.return %2 : tensor<1x64x64x64xi8>
}

// Half a megabyte is near.
// CHECK-LABEL: @near(
// CHECK-SAME: [[V0:%.+]]: tensor<1x32x64x4xi8>, [[V1:%.+]]: tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi8>
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) epilogue([[V2]] : tensor<1x32x64x64xi32>) -> tensor<1x32x64x64xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32, [[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V6]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.trunci [[V7]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V8]] : i8
// CHECK: func.return [[V4]] : tensor<1x32x64x64xi8>
func.func @near(%x: tensor<1x32x64x4xi8>, %w: tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi8> {
  %0 = kernel.conv ins(%x, %w : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x32x64x64xi32>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = kernel.conv ins(%x, %w : tensor<1x32x64x4xi8>, tensor<64x1x1x4xi8>) epilogue(%0 : tensor<1x32x64x64xi32>) -> tensor<1x32x64x64xi8>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [#id]} {
  ^bb0(%sum: i32, %other: i32):
    %2 = arith.addi %sum, %other : i32
    %3 = arith.trunci %2 : i32 to i8
    kernel.yield %3 : i8
  }
  func.return %1 : tensor<1x32x64x64xi8>
}

// Sums that somebody else reads, too, are wanted whole.
// CHECK-LABEL: @wanted(
// CHECK-SAME: [[V0:%.+]]: tensor<1x64x64x4xi8>, [[V1:%.+]]: tensor<64x1x1x4xi8>) -> (tensor<1x64x64x64xi32>, tensor<1x64x64x64xi8>)
// CHECK-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x64x64x64xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: [[V4:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) epilogue([[V2]] : tensor<1x64x64x64xi32>) -> tensor<1x64x64x64xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32, [[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V6]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.trunci [[V7]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V8]] : i8
// CHECK: func.return [[V2]], [[V4]] : tensor<1x64x64x64xi32>, tensor<1x64x64x64xi8>
func.func @wanted(%x: tensor<1x64x64x4xi8>, %w: tensor<64x1x1x4xi8>) -> (tensor<1x64x64x64xi32>, tensor<1x64x64x64xi8>) {
  %0 = kernel.conv ins(%x, %w : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) -> tensor<1x64x64x64xi32>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = kernel.conv ins(%x, %w : tensor<1x64x64x4xi8>, tensor<64x1x1x4xi8>) epilogue(%0 : tensor<1x64x64x64xi32>) -> tensor<1x64x64x64xi8>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [#id]} {
  ^bb0(%sum: i32, %other: i32):
    %2 = arith.addi %sum, %other : i32
    %3 = arith.trunci %2 : i32 to i8
    kernel.yield %3 : i8
  }
  func.return %0, %1 : tensor<1x64x64x64xi32>, tensor<1x64x64x64xi8>
}
