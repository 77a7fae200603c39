// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2}' | filecheck %s --check-prefix=AVX2

// Weights of few bits: how many products 16 bits hold is known from the weights themselves.
func.func @four(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<-8> : tensor<16x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

func.func @five(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<-9> : tensor<16x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

func.func @six(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<31> : tensor<16x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

func.func @seven(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<-64> : tensor<16x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

func.func @eight(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<-65> : tensor<16x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

// Weights of 8 bits that prove by themselves that 16 bits hold the sums of one step, of two and of four.
func.func @short(%x: tensor<8x16xi8>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>) {
  %w = arith.constant dense<[[127, 1, -128, 0, 2, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<1x16xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %v = arith.constant dense<[[127, 1, -128, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]]> : tensor<1x16xi8>
  %1 = kernel.matmul ins(%x, %v : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %u = arith.constant dense<[[127, 1, -128, 0, -1, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 2]]> : tensor<1x16xi8>
  %2 = kernel.matmul ins(%x, %u : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1, %2 : tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>
}

// A type of four bits: two weights a byte, where a dot product takes bytes.
func.func @halves(%x: tensor<8x16xi8>) -> tensor<8x16xi32> {
  %w = arith.constant dense<-8> : tensor<16x16xi4>
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<16x16xi4>) -> tensor<8x16xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<8x16xi32>
}

// More terms than sums of those have.
func.func @long(%x: tensor<1x65794xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<-8> : tensor<1x65794xi4>
  %0 = kernel.matmul ins(%x, %w : tensor<1x65794xi8>, tensor<1x65794xi4>) -> tensor<1x1xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #w0 = dense<-8> : tensor<16x16xi8>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "u8s8_dot", rows = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #w1 = dense<-9> : tensor<16x16xi8>
// CHECK-NEXT: #w2 = dense<31> : tensor<16x16xi8>
// CHECK-NEXT: #w3 = dense<-64> : tensor<16x16xi8>
// CHECK-NEXT: #w4 = dense<-65> : tensor<16x16xi8>
// CHECK-NEXT: #w5 = dense<-8> : tensor<16x16xi4>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "u8s4_dot", rows = 8, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #w6 = #nn.weights<elided> : tensor<1x65794xi4>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "u8s8_dot", lanes = 16, k_unroll = 4>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @four(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @five(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @six(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @seven(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w3
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @eight(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w4
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @halves(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w5
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi4>) -> tensor<8x16xi32> attributes {schedule = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<8x16xi32>
// CHECK-LABEL: @long(
// CHECK-SAME: [[V0:%.+]]: tensor<1x65794xi8>) -> tensor<1x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w6
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x65794xi8>, tensor<1x65794xi4>) -> tensor<1x1xi32> attributes {schedule = #k3} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x1xi32>

// AVX2: #k0 = #kernel.target<isa = "avx2">
// AVX2-NEXT: #w0 = dense<-8> : tensor<16x16xi8>
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "u8s4_short", rows = 4, vectors = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #w1 = dense<-9> : tensor<16x16xi8>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "u8s5_short", rows = 4, vectors = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #w2 = dense<31> : tensor<16x16xi8>
// AVX2-NEXT: #k3 = #kernel.schedule<variant = "u8s6_short", rows = 4, vectors = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #w3 = dense<-64> : tensor<16x16xi8>
// AVX2-NEXT: #k4 = #kernel.schedule<variant = "u8s7_short", rows = 4, vectors = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #w4 = dense<-65> : tensor<16x16xi8>
// AVX2-NEXT: #k5 = #kernel.schedule<variant = "i16_pairs", rows = 4, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k6 = #kernel.schedule<variant = "u8s8_short", rows = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #k7 = #kernel.schedule<variant = "u8s8_short2", rows = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #k8 = #kernel.schedule<variant = "u8s8_short4", rows = 2, lanes = 8, k_unroll = 4>
// AVX2-NEXT: #w5 = dense<-8> : tensor<16x16xi4>
// AVX2-NEXT: #w6 = #nn.weights<elided> : tensor<1x65794xi4>
// AVX2-NEXT: #k9 = #kernel.schedule<variant = "u8s4_short", lanes = 8, k_unroll = 4>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @four(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w0
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @five(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w1
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k2} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @six(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w2
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k3} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @seven(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w3
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k4} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @eight(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w4
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi8>) -> tensor<8x16xi32> attributes {schedule = #k5} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @short(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>)
// AVX2-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}127, 1, -128, 0, 2, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0]]> : tensor<1x16xi8>
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> attributes {schedule = #k6} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: [[V4:%.+]] = arith.constant dense<{{\[\[}}127, 1, -128, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]]> : tensor<1x16xi8>
// AVX2-NEXT: [[V5:%.+]] = kernel.matmul ins([[V0]], [[V4]] : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> attributes {schedule = #k7} {
// AVX2-NEXT: ^bb0([[V6:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V6]] : i32
// AVX2: [[V7:%.+]] = arith.constant dense<{{\[\[}}127, 1, -128, 0, -1, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 2]]> : tensor<1x16xi8>
// AVX2-NEXT: [[V8:%.+]] = kernel.matmul ins([[V0]], [[V7]] : tensor<8x16xi8>, tensor<1x16xi8>) -> tensor<8x1xi32> attributes {schedule = #k8} {
// AVX2-NEXT: ^bb0([[V9:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V9]] : i32
// AVX2: func.return [[V2]], [[V5]], [[V8]] : tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>
// AVX2-LABEL: @halves(
// AVX2-SAME: [[V0:%.+]]: tensor<8x16xi8>) -> tensor<8x16xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w5
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<16x16xi4>) -> tensor<8x16xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<8x16xi32>
// AVX2-LABEL: @long(
// AVX2-SAME: [[V0:%.+]]: tensor<1x65794xi8>) -> tensor<1x1xi32>
// AVX2-NEXT: [[V1:%.+]] = arith.constant #w6
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x65794xi8>, tensor<1x65794xi4>) -> tensor<1x1xi32> attributes {schedule = #k9} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<1x1xi32>
