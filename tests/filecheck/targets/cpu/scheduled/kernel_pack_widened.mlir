// RUN: qmlir-opt %s -p kernel-pack | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -p kernel-pack,kernel-bufferize,kernel-outline,kernel-plan-memory,convert-kernel-to-loops,simd-legalize --verify-each=exec -o %t

// CHECK: [[L:#.+]] = #kernel.layout<variant = "f32e5m2", vectors = 1, lanes = 2>
#matrix = affine_map<(d0, d1) -> (d0, d1)>
#moved = affine_map<(d0, d1) -> (d1, d0)>
#channel = affine_map<(d0, d1) -> (d0)>

// The bits of f8E5M2 are the upper half of those of f16. 4 is the largest number and gets the highest exponent, 31: its
// code is 31 * 4, that of 1.5 = 1.5 * 2^0 is 29 * 4 + 2, that of -2 is 30 * 4 with the sign. The exponents are 14 more
// than those of the format, whose bias is 15, and scales 2^-14 of what they were: subnormal in f16, so stored in bf16.
// CHECK-LABEL: @one_row(
// CHECK: [[X:%.+]] = linalg.generic
// CHECK: [[W:%.+]] = arith.constant dense<"0x76787CF86C0034740074007400740074003840B9"> : tensor<1x1x1x20xi8>
// CHECK-NEXT: kernel.packed_blocks ins([[X]], [[W]] : tensor<1x1x8xf32>, tensor<1x1x1x20xi8>) -> tensor<1x2xf32>
// CHECK-SAME: layout = [[L]], scale_type = bf16}
func.func @one_row(%x: tensor<1x8xf32>) -> tensor<1x2xf32> {
  %codes = arith.constant dense<[[62, 64], [68, -64], [52, 0], [1, 60], [0, 60], [0, 60], [0, 60], [0, 60]]> : tensor<8x2xi8>
  %scales = arith.constant dense<[0.5, -3.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %w = linalg.generic {indexing_maps = [#moved, #channel, #matrix], iterator_types = ["parallel", "parallel"]} ins(%codes, %scales : tensor<8x2xi8>, tensor<2xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%code: i8, %scale: f32, %o: f32):
    %wide = arith.extui %code : i8 to i16
    %eight = arith.constant 8 : i16
    %bits = arith.shli %wide, %eight : i16
    %half = arith.bitcast %bits : i16 to f16
    %number = arith.extf %half : f16 to f32
    %real = arith.mulf %scale, %number : f32
    linalg.yield %real : f32
  } -> tensor<2x8xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<1x2xf32> attributes {schedule = #kernel.schedule<variant = "splat_fma", lanes = 2>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return %0 : tensor<1x2xf32>
}

// More rows than 8: floats are made of all weights in each run, in the order of packed ones, from constants in that order.
// A product makes up for the bias of f32, which is 112 more.
// CHECK-LABEL: @many_rows(
// CHECK: [[W:%.+]] = arith.constant dense<"0x767800007CF800006C0000003474000000740000007400000074000000740000"> : tensor<8x4xi8>
// CHECK-NEXT: [[S:%.+]] = arith.constant dense<[3.0517578e-05, 0.00018310547, 0.000000e+00, 0.000000e+00]> : tensor<4xf32>
// CHECK: [[R:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], {{.*}} ins([[W]], [[S]] :
// CHECK: [[WIDE:%.+]] = arith.extsi {{%.+}} : i8 to i32
// CHECK: [[LEFT:%.+]] = arith.constant 21 : i32
// CHECK: arith.shli [[WIDE]], [[LEFT]] : i32
// CHECK: arith.constant 5.192297e+33 : f32
// CHECK: linalg.yield
// CHECK: kernel.packed_matmul ins({{%.+}}, [[R]] : tensor<9x8xf32>, tensor<1x1x8x4xf32>)
func.func @many_rows(%x: tensor<9x8xf32>) -> tensor<9x2xf32> {
  %codes = arith.constant dense<[[62, 64], [68, -64], [52, 0], [1, 60], [0, 60], [0, 60], [0, 60], [0, 60]]> : tensor<8x2xi8>
  %scales = arith.constant dense<[0.5, 3.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %w = linalg.generic {indexing_maps = [#moved, #channel, #matrix], iterator_types = ["parallel", "parallel"]} ins(%codes, %scales : tensor<8x2xi8>, tensor<2xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%code: i8, %scale: f32, %o: f32):
    %wide = arith.extui %code : i8 to i16
    %eight = arith.constant 8 : i16
    %bits = arith.shli %wide, %eight : i16
    %half = arith.bitcast %bits : i16 to f16
    %number = arith.extf %half : f16 to f32
    %real = arith.mulf %scale, %number : f32
    linalg.yield %real : f32
  } -> tensor<2x8xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<9x8xf32>, tensor<2x8xf32>) -> tensor<9x2xf32> attributes {schedule = #kernel.schedule<variant = "splat_fma", rows = 3, lanes = 4>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return %0 : tensor<9x2xf32>
}

// NaN has no code of a plain float: what makes floats of weights stays as it is, and reads them in their new order.
// CHECK-LABEL: @no_number(
// CHECK: arith.constant dense<{{\[\[}}62, 126], [68, -64], [52, 0], [1, 60], [0, 60], [0, 60], [0, 60], [0, 60]]> : tensor<8x2xi8>
// CHECK: arith.extf
// CHECK: kernel.packed_matmul
func.func @no_number(%x: tensor<1x8xf32>) -> tensor<1x2xf32> {
  %codes = arith.constant dense<[[62, 126], [68, -64], [52, 0], [1, 60], [0, 60], [0, 60], [0, 60], [0, 60]]> : tensor<8x2xi8>
  %e = tensor.empty() : tensor<2x8xf32>
  %w = linalg.generic {indexing_maps = [#moved, #matrix], iterator_types = ["parallel", "parallel"]} ins(%codes : tensor<8x2xi8>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%code: i8, %o: f32):
    %wide = arith.extui %code : i8 to i16
    %eight = arith.constant 8 : i16
    %bits = arith.shli %wide, %eight : i16
    %half = arith.bitcast %bits : i16 to f16
    %number = arith.extf %half : f16 to f32
    %scale = arith.constant 0.5 : f32
    %real = arith.mulf %scale, %number : f32
    linalg.yield %real : f32
  } -> tensor<2x8xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<1x2xf32> attributes {schedule = #kernel.schedule<variant = "splat_fma", lanes = 2>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return %0 : tensor<1x2xf32>
}

// Loops without fused products get f32.
// CHECK-LABEL: @without_fused_products(
// CHECK-NOT: linalg.generic
// CHECK: arith.constant dense<{{\[\[\[\[}}7.500000e-01, 1.000000e+00], [2.000000e+00, -1.000000e+00]]]]> : tensor<1x1x2x2xf32>
// CHECK-NEXT: kernel.packed_matmul
func.func @without_fused_products(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %codes = arith.constant dense<[[62, 64], [68, -64]]> : tensor<2x2xi8>
  %e = tensor.empty() : tensor<2x2xf32>
  %w = linalg.generic {indexing_maps = [#moved, #matrix], iterator_types = ["parallel", "parallel"]} ins(%codes : tensor<2x2xi8>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%code: i8, %o: f32):
    %wide = arith.extui %code : i8 to i16
    %eight = arith.constant 8 : i16
    %bits = arith.shli %wide, %eight : i16
    %half = arith.bitcast %bits : i16 to f16
    %number = arith.extf %half : f16 to f32
    %scale = arith.constant 0.5 : f32
    %real = arith.mulf %scale, %number : f32
    linalg.yield %real : f32
  } -> tensor<2x2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> attributes {schedule = #kernel.schedule<variant = "splat", lanes = 2>} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return %0 : tensor<1x2xf32>
}
