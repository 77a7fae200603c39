// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-pack

func.func @long(%x: tensor<1x65794xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<-8> : tensor<1x65794xi4>
  // expected-error@+1 {{'kernel.matmul' op reduces 65794 terms, but variant 'u8s4_dot' supports at most 65793}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x65794xi8>, tensor<1x65794xi4>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @wide(%x: tensor<1x4xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[0, 1, 2, 8]]> : tensor<1x4xi8>
  // expected-error@+1 {{'kernel.matmul' op has weights from 0 to 8, but variant 'u8s4_short' requires [-8, 7]}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s4_short", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @computed_wide(%x: tensor<1x4xi8>, %w: tensor<1x4xi8>) -> tensor<1x1xi32> {
  // expected-error@+1 {{'kernel.matmul' op has weights from -128 to 127, but variant 'u8s7_short' requires [-64, 63]}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s7_short", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

// The positive weights of the first pair add up to 129.
func.func @pair(%x: tensor<1x4xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[127, 2, -128, 0]]> : tensor<1x4xi8>
  // expected-error@+1 {{'kernel.matmul' op has weights of one sign with sums -128 and 129 in 1 step, but variant 'u8s8_short' supports [-128, 128]}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s8_short", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

// Of two steps the first places are added, and the last ones.
func.func @steps(%x: tensor<1x8xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[0, 0, -128, 0, 0, 0, 0, -1]]> : tensor<1x8xi8>
  // expected-error@+1 {{'kernel.matmul' op has weights of one sign with sums -129 and 0 in 2 steps, but variant 'u8s8_short2' supports [-128, 128]}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x8xi8>, tensor<1x8xi8>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s8_short2", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @computed_pairs(%x: tensor<1x4xi8>, %w: tensor<1x4xi8>) -> tensor<1x1xi32> {
  // expected-error@+1 {{'kernel.matmul' op has computed weights, but variant 'u8s8_short' requires constants}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s8_short", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @computed(%x: tensor<1x6xi8>, %w: tensor<1x6xi4>) -> tensor<1x1xi32> {
  // expected-error@+1 {{'kernel.matmul' op has computed weights, but variant 'u8s4_dot' can pack only constants}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x6xi8>, tensor<1x6xi4>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @no_signs(%x: tensor<1x4xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[1, 0, -1, 1]]> : tensor<1x4xi2>
  // expected-error@+1 {{'kernel.matmul' op variant 's8u1_dot' requires a constant matrix of weights -1 and 1}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi2>) -> tensor<1x1xi32> attributes {
    schedule = #kernel.schedule<variant = "s8u1_dot", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

func.func @unsigned(%x: tensor<1x4xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[-128, 0, 0, 0]]> : tensor<1x4xi8>
  // expected-error@+1 {{'kernel.matmul' op has weights in [0, 128] after subtracting the zero point, but variant 'u8s8_short' requires signed bytes}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<1x4xi8>) -> tensor<1x1xi32> attributes {
    weight_unsigned, schedule = #kernel.schedule<variant = "u8s8_short", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// -----

#of_channels = affine_map<(d0, d1, d2) -> (d0, d2)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#sum = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @long_blocks(%x: tensor<1x1x65794xi8>) -> tensor<1x2xf32> {
  %w = arith.constant dense<1> : tensor<1x2x65794xi4>
  %s = arith.constant dense<0.5> : tensor<1x2xf32>
  // expected-error@+1 {{'kernel.matmul' op reduces 65794 terms, but variant 'u8s4_dot' supports at most 65793}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x1x65794xi8>, tensor<1x2x65794xi4>) epilogue(%s : tensor<1x2xf32>) -> tensor<1x1x2xf32> attributes {
    input_unsigned, epilogue_maps = [#of_channels], schedule = #kernel.schedule<variant = "u8s4_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32, %scale: f32):
    %a = arith.sitofp %acc : i32 to f32
    %b = arith.mulf %scale, %a : f32
    kernel.yield %b : f32
  }
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2xf32>) -> tensor<1x2xf32>
  %1 = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["reduction", "parallel", "parallel"]} ins(%0 : tensor<1x1x2xf32>) outs(%f : tensor<1x2xf32>) {
  ^bb0(%part: f32, %total: f32):
    %c = arith.addf %total, %part : f32
    linalg.yield %c : f32
  } -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}
