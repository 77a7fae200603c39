// RUN: qmlir-opt %s -p kernel-pack | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -p kernel-pack,kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize --verify-each=exec -o %t

// Products by two blocks of five terms, and their sum, are one operation: weights of a block behind each other, in steps
// of four terms, the last one padded, then its scales, in f32 as f16 doesn't hold 0.3. What is read is 128 + 3 more than it counts.
// CHECK: #w0 = dense<"0x01020304FFFEFDFC0000000005000000FB000000000000000000003F9A99993E0000000006070001FAF900FF0000000002000000FE000000000000000000C03F0000404000000000"> : tensor<1x1x2x36xi8>
// CHECK-LABEL: @summed(
// CHECK: [[W:%.+]] = arith.constant #w0
// CHECK: kernel.packed_blocks ins({{%.+}}, [[W]] : tensor<2x1x5xi8>, tensor<1x1x2x36xi8>) -> tensor<1x2xf32> attributes {
// CHECK-SAME: offset = 131 : i32}
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#of_channels = affine_map<(d0, d1, d2) -> (d0, d2)>
#sum = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @summed(%x: tensor<2x1x5xi8>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[[1, 2, 3, 4, 5], [-1, -2, -3, -4, -5]], [[6, 7, 0, 1, 2], [-6, -7, 0, -1, -2]]]> : tensor<2x2x5xi8>
  %s = arith.constant dense<[[0.5, 0.3], [1.5, 3.0]]> : tensor<2x2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x5xi8>, tensor<2x2x5xi8>) epilogue(%s : tensor<2x2xf32>) -> tensor<2x1x2xf32> attributes {
    input_zero_point = 3 : i32, epilogue_maps = [#of_channels], schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 3, k_unroll = 4>} {
  ^bb0(%acc: i32, %scale: f32):
    %a = arith.sitofp %acc : i32 to f32
    %b = arith.mulf %scale, %a : f32
    kernel.yield %b : f32
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<2x1x2xf32>) outs(%f : tensor<1x2xf32>) {
  ^bb0(%part: f32, %total: f32):
    %c = arith.addf %total, %part : f32
    linalg.yield %c : f32
  } -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}

// A sum that begins with something else stays one of its own.
// CHECK-LABEL: @begun(
// CHECK-NOT: packed_blocks
// CHECK: kernel.packed_matmul
func.func @begun(%x: tensor<2x1x5xi8>, %f: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<1> : tensor<2x2x5xi8>
  %s = arith.constant dense<[[0.5, 0.25], [1.5, 3.0]]> : tensor<2x2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x5xi8>, tensor<2x2x5xi8>) epilogue(%s : tensor<2x2xf32>) -> tensor<2x1x2xf32> attributes {
    epilogue_maps = [#of_channels], schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 3, k_unroll = 4>} {
  ^bb0(%acc: i32, %scale: f32):
    %a = arith.sitofp %acc : i32 to f32
    %b = arith.mulf %scale, %a : f32
    kernel.yield %b : f32
  }
  %1 = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<2x1x2xf32>) outs(%f : tensor<1x2xf32>) {
  ^bb0(%part: f32, %total: f32):
    %c = arith.addf %total, %part : f32
    linalg.yield %c : f32
  } -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}

// So does one of products that something else reads, too.
// CHECK-LABEL: @read_twice(
// CHECK: kernel.packed_matmul
// CHECK: linalg.generic
func.func @read_twice(%x: tensor<2x1x5xi8>) -> (tensor<1x2xf32>, tensor<2x1x2xf32>) {
  %w = arith.constant dense<1> : tensor<2x2x5xi8>
  %s = arith.constant dense<[[0.5, 0.25], [1.5, 3.0]]> : tensor<2x2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x5xi8>, tensor<2x2x5xi8>) epilogue(%s : tensor<2x2xf32>) -> tensor<2x1x2xf32> attributes {
    epilogue_maps = [#of_channels], schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 3, k_unroll = 4>} {
  ^bb0(%acc: i32, %scale: f32):
    %a = arith.sitofp %acc : i32 to f32
    %b = arith.mulf %scale, %a : f32
    kernel.yield %b : f32
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<2x1x2xf32>) outs(%f : tensor<1x2xf32>) {
  ^bb0(%part: f32, %total: f32):
    %c = arith.addf %total, %part : f32
    linalg.yield %c : f32
  } -> tensor<1x2xf32>
  func.return %1, %0 : tensor<1x2xf32>, tensor<2x1x2xf32>
}

// Scales 0.5, 1.5, 3.5 and 127.5 are 1, 3, 7 and 255 times the f16 number 0.5 of a super-block, which is before it.
// CHECK-LABEL: @two_levels(
// CHECK: [[W:%.+]] = arith.constant dense<"0x003801020304010506070803FFFEFDFC0700010203FF"> : tensor<1x1x1x22xi8>
// CHECK: kernel.packed_blocks ins({{%.+}}, [[W]] : tensor<4x1x4xi8>, tensor<1x1x1x22xi8>) -> tensor<1x1xf32> attributes {
// CHECK-SAME: scale_type = f16, super_block = 4 : i32
func.func @two_levels(%x: tensor<4x1x4xi8>) -> tensor<1x1xf32> {
  %w = arith.constant dense<[[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[-1, -2, -3, -4]], [[0, 1, 2, 3]]]> : tensor<4x1x4xi8>
  %s = arith.constant dense<[[0.5], [1.5], [3.5], [127.5]]> : tensor<4x1xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<4x1x4xi8>, tensor<4x1x4xi8>) epilogue(%s : tensor<4x1xf32>) -> tensor<4x1x1xf32> attributes {
    epilogue_maps = [#of_channels], schedule = #kernel.schedule<variant = "s8s8_dot", lanes = 1, k_unroll = 4>} {
  ^bb0(%acc: i32, %scale: f32):
    %a = arith.sitofp %acc : i32 to f32
    %b = arith.mulf %scale, %a : f32
    kernel.yield %b : f32
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1xf32>) -> tensor<1x1xf32>
  %1 = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<4x1x1xf32>) outs(%f : tensor<1x1xf32>) {
  ^bb0(%part: f32, %total: f32):
    %c = arith.addf %total, %part : f32
    linalg.yield %c : f32
  } -> tensor<1x1xf32>
  func.return %1 : tensor<1x1xf32>
}
