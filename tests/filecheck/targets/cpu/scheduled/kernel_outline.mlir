// RUN: qmlir-opt %s -p kernel-bufferize,kernel-outline | filecheck %s
// RUN: qmlir-opt %s --verify-each=exec -p kernel-bufferize,kernel-outline,verify-level{level=scheduled},kernel-outline
// RUN: qmlir-opt %s --pass-statistics -p kernel-bufferize -o %t.bufferized 2>&1 | filecheck %s --check-prefix=STATISTICS

// STATISTICS: kernel-bufferize: {{.*}}1 tensors written into a slice

// Two layers of one shape share a kernel, which stands for both; a third one has a different constant in its body. A loop
// is one kernel. What is a part of something is passed as memory that may begin anywhere, so that where does not matter.
func.func @main(%x: tensor<1x4x4x2xi8>) -> tensor<1x4x4x4xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %w = arith.constant dense<1> : tensor<2x1x1x2xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, origin = "conv1"} {
  ^bb0(%acc: i32):
    %r = arith.trunci %acc : i32 to i8
    kernel.yield %r : i8
  }
  %1 = kernel.conv ins(%0, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, origin = "conv2", role = "sum"} {
  ^bb0(%acc: i32):
    %r = arith.trunci %acc : i32 to i8
    kernel.yield %r : i8
  }
  %2 = kernel.conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) epilogue(%x : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>], origin = "conv3"} {
  ^bb0(%acc: i32, %residual: i8):
    %low = arith.trunci %acc : i32 to i8
    %r = arith.addi %low, %residual : i8
    kernel.yield %r : i8
  }
  %e = tensor.empty() : tensor<1x4x4x4xi8>
  %3 = tensor.insert_slice %x into %e[0, 0, 0, 0] [1, 4, 4, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> into tensor<1x4x4x4xi8>
  %4 = tensor.insert_slice %2 into %3[0, 0, 0, 2] [1, 4, 4, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> into tensor<1x4x4x4xi8>
  %first = tensor.extract %x[%c0, %c0, %c0, %c0] : tensor<1x4x4x2xi8>
  %5 = scf.for %i = %c0 to %c3 step %c1 iter_args(%all = %4) -> (tensor<1x4x4x4xi8>) {
    %6 = tensor.insert %first into %all[%c0, %i, %i, %i] : tensor<1x4x4x4xi8>
    scf.yield %6 : tensor<1x4x4x4xi8>
  }
  func.return %5 : tensor<1x4x4x4xi8>
}

// CHECK: "memref.global"() <{sym_name = "w", type = memref<2x1x1x2xi8>, initial_value = dense<1> : tensor<2x1x1x2xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-LABEL: @conv1x1_4x4x2_i8(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<2x1x1x2xi8>, [[V2:%.+]]: memref<1x4x4x2xi8>) attributes {origin = ["conv1", "conv2"], role = ["", "sum"]}
// CHECK-NEXT: kernel.conv ins([[V0]], [[V1]] : memref<1x4x4x2xi8>, memref<2x1x1x2xi8>) outs([[V2]] : memref<1x4x4x2xi8>) attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.trunci [[V3]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V4]] : i8
// CHECK: func.return
// CHECK-LABEL: @conv1x1_4x4x2_i8_2(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<2x1x1x2xi8>, [[V2:%.+]]: memref<1x4x4x2xi8>, [[V3:%.+]]: memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>) attributes {origin = "conv3"}
// CHECK-NEXT: kernel.conv ins([[V0]], [[V1]] : memref<1x4x4x2xi8>, memref<2x1x1x2xi8>) epilogue([[V2]] : memref<1x4x4x2xi8>) outs([[V3]] : memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>) attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.trunci [[V4]] : i32 to i8
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V6]], [[V5]] : i8
// CHECK-NEXT: kernel.yield [[V7]] : i8
// CHECK: func.return
// CHECK-LABEL: @copy_1x4x4x2_i8(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]] : memref<1x4x4x2xi8>) outs([[V1]] : memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V2:%.+]]: i8, [[V3:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V2]] : i8
// CHECK: func.return
// CHECK-LABEL: @loop(
// CHECK-SAME: [[V0:%.+]]: i8, [[V1:%.+]]: memref<1x4x4x4xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V5:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: memref.store [[V0]], [[V1]][[[V2]], [[V5]], [[V5]], [[V5]]] : memref<1x4x4x4xi8>
// CHECK: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<1x4x4x4xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = memref.get_global @w : memref<2x1x1x2xi8>
// CHECK-NEXT: [[V4:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x4x2xi8>
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8([[V0]], [[V3]], [[V4]]) {origin = "conv1"} : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>) -> ()
// CHECK-NEXT: [[V5:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x4x2xi8>
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8([[V4]], [[V3]], [[V5]]) {origin = "conv2", role = "sum"} : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>) -> ()
// CHECK-NEXT: [[V6:%.+]] = memref.subview [[V1]][0, 0, 0, 2] [1, 4, 4, 2] [1, 1, 1, 1] : memref<1x4x4x4xi8> to memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: 2>>
// CHECK-NEXT: [[V7:%.+]] = "memref.cast"([[V6]]) : (memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: 2>>) -> memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8_2([[V5]], [[V3]], [[V0]], [[V7]]) {origin = "conv3"} : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>, memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>) -> ()
// CHECK-NEXT: [[V8:%.+]] = memref.subview [[V1]][0, 0, 0, 0] [1, 4, 4, 2] [1, 1, 1, 1] : memref<1x4x4x4xi8> to memref<1x4x4x2xi8, strided<[64, 16, 4, 1]>>
// CHECK-NEXT: [[V9:%.+]] = "memref.cast"([[V8]]) : (memref<1x4x4x2xi8, strided<[64, 16, 4, 1]>>) -> memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>
// CHECK-NEXT: func.call @copy_1x4x4x2_i8([[V0]], [[V9]]) : (memref<1x4x4x2xi8>, memref<1x4x4x2xi8, strided<[64, 16, 4, 1], offset: ?>>) -> ()
// CHECK-NEXT: [[V10:%.+]] = memref.load [[V0]][[[V2]], [[V2]], [[V2]], [[V2]]] : memref<1x4x4x2xi8>
// CHECK-NEXT: func.call @loop([[V10]], [[V1]]) : (i8, memref<1x4x4x4xi8>) -> ()
// CHECK-NEXT: func.return
