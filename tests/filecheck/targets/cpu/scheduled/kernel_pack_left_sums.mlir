// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Sums of weights of 4 bits are 16 times too large. The bias takes the factor up, and the scale gives it back: 0.5 is
// 0.03125, and the correction for bytes with a sign, -128 times 3, joins the bias before.
func.func @scaled(%x: tensor<1x2xi8>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1, 2], [-3, 4]]> : tensor<2x2xi4>
  %bias = arith.constant dense<[10, 20]> : tensor<2xi32>
  %scale = arith.constant dense<[0.5, 0.0]> : tensor<2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi4>)
      epilogue(%bias, %scale : tensor<2xi32>, tensor<2xf32>) -> tensor<1x2xf32> attributes {
    epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "u8s4_dot", lanes = 2, k_unroll = 4>
  } {
  ^bb0(%sum: i32, %start: i32, %factor: f32):
    %1 = arith.addi %sum, %start : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %2, %factor : f32
    kernel.yield %3 : f32
  }
  func.return %0 : tensor<1x2xf32>
}

// 2 bits: 64 times. The bias is what the zero point of the input makes necessary.
func.func @corrected(%x: tensor<1x2xi8>) -> tensor<1x1xf32> {
  %w = arith.constant dense<[[1, -2]]> : tensor<1x2xi2>
  %scale = arith.constant dense<[64.0]> : tensor<1xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<1x2xi2>) epilogue(%scale : tensor<1xf32>) -> tensor<1x1xf32>
      attributes {
    input_unsigned, input_zero_point = 5 : i32, epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "u8s2_dot", k_unroll = 4>
  } {
  ^bb0(%sum: i32, %factor: f32):
    %1 = arith.sitofp %sum : i32 to f32
    %2 = arith.mulf %1, %factor : f32
    kernel.yield %2 : f32
  }
  func.return %0 : tensor<1x1xf32>
}

// The largest sum with its bias is 2^27, so that 16 times of it are no 32 bits.
func.func @large_bias(%x: tensor<1x2xi8>) -> tensor<1x1xf32> {
  %w = arith.constant dense<[[1, 0]]> : tensor<1x2xi4>
  %bias = arith.constant dense<[134217473]> : tensor<1xi32>
  %scale = arith.constant dense<[0.5]> : tensor<1xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<1x2xi4>)
      epilogue(%bias, %scale : tensor<1xi32>, tensor<1xf32>) -> tensor<1x1xf32> attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>
  } {
  ^bb0(%sum: i32, %start: i32, %factor: f32):
    %1 = arith.addi %sum, %start : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %2, %factor : f32
    kernel.yield %3 : f32
  }
  func.return %0 : tensor<1x1xf32>
}

// A 16th of the scale would be subnormal; a scale that all channels share stays, too.
func.func @other_scales(%x: tensor<1x2xi8>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %w = arith.constant dense<[[1, 1]]> : tensor<1x2xi4>
  %bias = arith.constant dense<[1]> : tensor<1xi32>
  %small = arith.constant dense<[1.0e-37]> : tensor<1xf32>
  %same = arith.constant dense<0.5> : tensor<f32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<1x2xi4>)
      epilogue(%bias, %small : tensor<1xi32>, tensor<1xf32>) -> tensor<1x1xf32> attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>
  } {
  ^bb0(%sum: i32, %start: i32, %factor: f32):
    %1 = arith.addi %sum, %start : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %2, %factor : f32
    kernel.yield %3 : f32
  }
  %4 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<1x2xi4>)
      epilogue(%bias, %same : tensor<1xi32>, tensor<f32>) -> tensor<1x1xf32> attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>],
    schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>
  } {
  ^bb0(%sum: i32, %start: i32, %factor: f32):
    %1 = arith.addi %sum, %start : i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %2, %factor : f32
    kernel.yield %3 : f32
  }
  func.return %0, %4 : tensor<1x1xf32>, tensor<1x1xf32>
}

// CHECK: #k0 = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 2>
// CHECK-NEXT: #k1 = #kernel.layout<variant = "u8s2_dot", vectors = 1, lanes = 1>
// CHECK-NEXT: #k2 = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 1>
// CHECK-LABEL: @scaled(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xi8>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-5984, -1728]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[3.125000e-02, 0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 2, 0, 0, 13, 4, 0, 0]]]]> : tensor<1x1x1x8xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x2xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x2xi8>) outs([[V4]] : tensor<1x2xi8>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK-NEXT: } -> tensor<1x2xi8>
// CHECK-NEXT: [[V8:%.+]] = kernel.packed_matmul ins([[V5]], [[V3]] : tensor<1x2xi8>, tensor<1x1x1x8xi8>) epilogue([[V1]], [[V2]] : tensor<2xi32>, tensor<2xf32>) -> tensor<1x2xf32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: i32, [[V11:%.+]]: f32):
// CHECK-NEXT: [[V12:%.+]] = arith.constant 4 : i32
// CHECK-NEXT: [[V13:%.+]] = arith.shli [[V9]], [[V12]] : i32
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V13]], [[V10]] : i32
// CHECK-NEXT: [[V15:%.+]] = arith.sitofp [[V14]] : i32 to f32
// CHECK-NEXT: [[V16:%.+]] = arith.mulf [[V15]], [[V11]] : f32
// CHECK-NEXT: kernel.yield [[V16]] : f32
// CHECK: func.return [[V8]] : tensor<1x2xf32>
// CHECK-LABEL: @corrected(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xi8>) -> tensor<1x1xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[320]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[1.000000e+00]> : tensor<1xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 2, 0, 0]]]]> : tensor<1x1x1x4xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x2xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x2xi8>) outs([[V4]] : tensor<1x2xi8>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK-NEXT: } -> tensor<1x2xi8>
// CHECK-NEXT: [[V8:%.+]] = kernel.packed_matmul ins([[V5]], [[V3]] : tensor<1x2xi8>, tensor<1x1x1x4xi8>) epilogue([[V2]], [[V1]] : tensor<1xf32>, tensor<1xi32>) -> tensor<1x1xf32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], layout = #k1} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: f32, [[V11:%.+]]: i32):
// CHECK-NEXT: [[V12:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V13:%.+]] = arith.shli [[V9]], [[V12]] : i32
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V13]], [[V11]] : i32
// CHECK-NEXT: [[V15:%.+]] = arith.sitofp [[V14]] : i32 to f32
// CHECK-NEXT: [[V16:%.+]] = arith.mulf [[V15]], [[V10]] : f32
// CHECK-NEXT: kernel.yield [[V16]] : f32
// CHECK: func.return [[V8]] : tensor<1x1xf32>
// CHECK-LABEL: @large_bias(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xi8>) -> tensor<1x1xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[134217473]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[5.000000e-01]> : tensor<1xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 0, 0, 0]]]]> : tensor<1x1x1x4xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x2xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x2xi8>) outs([[V4]] : tensor<1x2xi8>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK-NEXT: } -> tensor<1x2xi8>
// CHECK-NEXT: [[V8:%.+]] = kernel.packed_matmul ins([[V5]], [[V3]] : tensor<1x2xi8>, tensor<1x1x1x4xi8>) epilogue([[V1]], [[V2]] : tensor<1xi32>, tensor<1xf32>) -> tensor<1x1xf32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], layout = #k2} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32, [[V10:%.+]]: i32, [[V11:%.+]]: f32):
// CHECK-NEXT: [[V12:%.+]] = arith.addi [[V9]], [[V10]] : i32
// CHECK-NEXT: [[V13:%.+]] = arith.sitofp [[V12]] : i32 to f32
// CHECK-NEXT: [[V14:%.+]] = arith.mulf [[V13]], [[V11]] : f32
// CHECK-NEXT: kernel.yield [[V14]] : f32
// CHECK: func.return [[V8]] : tensor<1x1xf32>
// CHECK-LABEL: @other_scales(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xi8>) -> (tensor<1x1xf32>, tensor<1x1xf32>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[1]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[1.0e-37]> : tensor<1xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: [[V4:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 1, 0, 0]]]]> : tensor<1x1x1x4xi8>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<1x2xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x2xi8>) outs([[V5]] : tensor<1x2xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<1x2xi8>
// CHECK-NEXT: [[V9:%.+]] = kernel.packed_matmul ins([[V6]], [[V4]] : tensor<1x2xi8>, tensor<1x1x1x4xi8>) epilogue([[V1]], [[V2]] : tensor<1xi32>, tensor<1xf32>) -> tensor<1x1xf32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], layout = #k2} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i32, [[V11:%.+]]: i32, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.addi [[V10]], [[V11]] : i32
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V13]] : i32 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.mulf [[V14]], [[V12]] : f32
// CHECK-NEXT: kernel.yield [[V15]] : f32
// CHECK: [[V16:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 1, 0, 0]]]]> : tensor<1x1x1x4xi8>
// CHECK-NEXT: [[V17:%.+]] = tensor.empty() : tensor<1x2xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x2xi8>) outs([[V17]] : tensor<1x2xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK-NEXT: } -> tensor<1x2xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.packed_matmul ins([[V18]], [[V16]] : tensor<1x2xi8>, tensor<1x1x1x4xi8>) epilogue([[V1]], [[V3]] : tensor<1xi32>, tensor<f32>) -> tensor<1x1xf32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>], layout = #k2} {
// CHECK-NEXT: ^bb0([[V22:%.+]]: i32, [[V23:%.+]]: i32, [[V24:%.+]]: f32):
// CHECK-NEXT: [[V25:%.+]] = arith.addi [[V22]], [[V23]] : i32
// CHECK-NEXT: [[V26:%.+]] = arith.sitofp [[V25]] : i32 to f32
// CHECK-NEXT: [[V27:%.+]] = arith.mulf [[V26]], [[V24]] : f32
// CHECK-NEXT: kernel.yield [[V27]] : f32
// CHECK: func.return [[V9]], [[V21]] : tensor<1x1xf32>, tensor<1x1xf32>
