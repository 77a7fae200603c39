// RUN: qmlir-opt %s -p kernel-pack | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -p kernel-pack,kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize --verify-each=exec -o %t

// Products by two blocks of five terms, and their sum, are one operation: weights of a block behind each other, in steps
// of four terms, the last one padded; scales where the loops read them. What is read is 128 + 3 more than it counts.
// CHECK-LABEL: @summed(
// CHECK-DAG: [[W:%.+]] = arith.constant dense<"0x01020304FFFEFDFC0000000005000000FB0000000000000006070001FAF900FF0000000002000000FE00000000000000"> : tensor<1x1x2x2x12xi8>
// CHECK-DAG: [[S:%.+]] = arith.constant dense<{{\[\[\[5.000000e-01, 2.500000e-01, 0.000000e\+00\], \[1.500000e\+00, 3.000000e\+00, 0.000000e\+00\]\]\]}}> : tensor<1x2x3xf32>
// CHECK: kernel.packed_blocks ins({{%.+}}, [[W]], [[S]] : tensor<2x1x5xi8>, tensor<1x1x2x2x12xi8>, tensor<1x2x3xf32>) -> tensor<1x2xf32> attributes {
// CHECK-SAME: offset = 131 : i32}
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#of_channels = affine_map<(d0, d1, d2) -> (d0, d2)>
#sum = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @summed(%x: tensor<2x1x5xi8>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[[1, 2, 3, 4, 5], [-1, -2, -3, -4, -5]], [[6, 7, 0, 1, 2], [-6, -7, 0, -1, -2]]]> : tensor<2x2x5xi8>
  %s = arith.constant dense<[[0.5, 0.25], [1.5, 3.0]]> : tensor<2x2xf32>
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
