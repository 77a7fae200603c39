// RUN: qmlir-opt %s --split-input-file -p kernel-bufferize,kernel-outline,kernel-merge-functions | filecheck %s
// RUN: qmlir-opt %s --split-input-file --verify-each=exec -p kernel-bufferize,kernel-outline,kernel-merge-functions,verify-level{level=scheduled},kernel-merge-functions,kernel-plan-memory,convert-kernel-to-loops

// Two layers of one shape differ in a scale, which stands twice in the body, and in a zero point: one kernel reads both
// from memory. The limit that they have in common stays, and so does another kernel.
func.func @main(%x: tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8> {
  %w = arith.constant dense<1> : tensor<2x1x1x2xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) epilogue(%x : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>], origin = "conv1"} {
  ^bb0(%acc: i32, %residual: i8):
    %scale = arith.constant 5.000000e-01 : f32
    %zero = arith.constant 3 : i32
    %limit = arith.constant 7.000000e+00 : f32
    %same = arith.constant 5.000000e-01 : f32
    %wide = arith.extsi %residual : i8 to i32
    %sum = arith.addi %acc, %wide : i32
    %f = arith.sitofp %sum : i32 to f32
    %a = arith.mulf %f, %scale : f32
    %b = arith.mulf %a, %same : f32
    %c = arith.minimumf %b, %limit : f32
    %i = arith.fptosi %c : f32 to i32
    %moved = arith.addi %i, %zero : i32
    %r = arith.trunci %moved : i32 to i8
    kernel.yield %r : i8
  }
  %1 = kernel.conv ins(%0, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) epilogue(%x : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>], origin = "conv2"} {
  ^bb0(%acc: i32, %residual: i8):
    %scale = arith.constant 2.500000e-01 : f32
    %zero = arith.constant -5 : i32
    %limit = arith.constant 7.000000e+00 : f32
    %same = arith.constant 2.500000e-01 : f32
    %wide = arith.extsi %residual : i8 to i32
    %sum = arith.addi %acc, %wide : i32
    %f = arith.sitofp %sum : i32 to f32
    %a = arith.mulf %f, %scale : f32
    %b = arith.mulf %a, %same : f32
    %c = arith.minimumf %b, %limit : f32
    %i = arith.fptosi %c : f32 to i32
    %moved = arith.addi %i, %zero : i32
    %r = arith.trunci %moved : i32 to i8
    kernel.yield %r : i8
  }
  %2 = kernel.conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<2x1x1x2xi8>) -> tensor<1x4x4x2xi8> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%acc: i32):
    %r = arith.trunci %acc : i32 to i8
    kernel.yield %r : i8
  }
  func.return %2 : tensor<1x4x4x2xi8>
}

// -----

// Integers are divided by numbers that are known; sizes and kernels that differ in anything else stay too.
func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%a: i32, %old: i32):
    %n = arith.constant 3 : i32
    %q = arith.divsi %a, %n : i32
    linalg.yield %q : i32
  } -> tensor<8xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%a: i32, %old: i32):
    %n = arith.constant 5 : i32
    %q = arith.divsi %a, %n : i32
    linalg.yield %q : i32
  } -> tensor<8xi32>
  func.return %1 : tensor<8xi32>
}

// -----

// 0.0 and -0.0 are two numbers, and what is called in a loop gets its numbers from in front of it.
func.func private @first(%x: memref<4xf32>, %y: memref<4xf32> {kernel.may_overwrite = array<i64: 0>}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %n = arith.constant 0.0 : f32
    %q = arith.mulf %a, %n : f32
    linalg.yield %q : f32
  }
  func.return
}
func.func private @second(%x: memref<4xf32>, %y: memref<4xf32> {kernel.may_overwrite = array<i64: 0>}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %n = arith.constant -0.0 : f32
    %q = arith.mulf %a, %n : f32
    linalg.yield %q : f32
  }
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {nn.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    func.call @first(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @second(%y, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  }
  func.return
}

// CHECK: "memref.global"() <{sym_name = "parameters", type = memref<1xf32>, initial_value = dense<[5.000000e-01]> : tensor<1xf32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "parameters_2", type = memref<1xi32>, initial_value = dense<[3]> : tensor<1xi32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "parameters_3", type = memref<1xf32>, initial_value = dense<[2.500000e-01]> : tensor<1xf32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "parameters_4", type = memref<1xi32>, initial_value = dense<[-5]> : tensor<1xi32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "w", type = memref<2x1x1x2xi8>, initial_value = dense<1> : tensor<2x1x1x2xi8>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-LABEL: @conv1x1_4x4x2_i8(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<2x1x1x2xi8>, [[V2:%.+]]: memref<1x4x4x2xi8>, [[V3:%.+]]: memref<1xf32>, [[V4:%.+]]: memref<1xi32>, [[V5:%.+]]: memref<1x4x4x2xi8> {kernel.may_overwrite = array<i64: 2>}) attributes {origin = ["conv1", "conv2"]}
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V7:%.+]] = memref.load [[V3]][[[V6]]] : memref<1xf32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V9:%.+]] = memref.load [[V4]][[[V8]]] : memref<1xi32>
// CHECK-NEXT: kernel.conv ins([[V0]], [[V1]] : memref<1x4x4x2xi8>, memref<2x1x1x2xi8>) epilogue([[V2]] : memref<1x4x4x2xi8>) outs([[V5]] : memref<1x4x4x2xi8>) attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i32, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.constant 7.000000e+00 : f32
// CHECK-NEXT: [[V13:%.+]] = arith.extsi [[V11]] : i8 to i32
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V10]], [[V13]] : i32
// CHECK-NEXT: [[V15:%.+]] = arith.sitofp [[V14]] : i32 to f32
// CHECK-NEXT: [[V16:%.+]] = arith.mulf [[V15]], [[V7]] : f32
// CHECK-NEXT: [[V17:%.+]] = arith.mulf [[V16]], [[V7]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.minimumf [[V17]], [[V12]] : f32
// CHECK-NEXT: [[V19:%.+]] = arith.fptosi [[V18]] : f32 to i32
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V19]], [[V9]] : i32
// CHECK-NEXT: [[V21:%.+]] = arith.trunci [[V20]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V21]] : i8
// CHECK: func.return
// CHECK-LABEL: @conv1x1_4x4x2_i8_3(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<2x1x1x2xi8>, [[V2:%.+]]: memref<1x4x4x2xi8>)
// CHECK-NEXT: kernel.conv ins([[V0]], [[V1]] : memref<1x4x4x2xi8>, memref<2x1x1x2xi8>) outs([[V2]] : memref<1x4x4x2xi8>) attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.trunci [[V3]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V4]] : i8
// CHECK: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x2xi8>, [[V1:%.+]]: memref<1x4x4x2xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = memref.get_global @parameters : memref<1xf32>
// CHECK-NEXT: [[V3:%.+]] = memref.get_global @parameters_2 : memref<1xi32>
// CHECK-NEXT: [[V4:%.+]] = memref.get_global @parameters_3 : memref<1xf32>
// CHECK-NEXT: [[V5:%.+]] = memref.get_global @parameters_4 : memref<1xi32>
// CHECK-NEXT: [[V6:%.+]] = memref.get_global @w : memref<2x1x1x2xi8>
// CHECK-NEXT: [[V7:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x4x2xi8>
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8([[V0]], [[V6]], [[V0]], [[V2]], [[V3]], [[V7]]) {origin = "conv1"} : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>, memref<1xf32>, memref<1xi32>, memref<1x4x4x2xi8>) -> ()
// CHECK-NEXT: [[V8:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x4x2xi8>
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8([[V7]], [[V6]], [[V0]], [[V4]], [[V5]], [[V8]]) {origin = "conv2"} : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>, memref<1xf32>, memref<1xi32>, memref<1x4x4x2xi8>) -> ()
// CHECK-NEXT: func.call @conv1x1_4x4x2_i8_3([[V8]], [[V6]], [[V1]]) : (memref<1x4x4x2xi8>, memref<2x1x1x2xi8>, memref<1x4x4x2xi8>) -> ()
// CHECK-NEXT: func.return
// CHECK: // -----
// CHECK-LABEL: @map_8_i32(
// CHECK-SAME: [[V0:%.+]]: memref<8xi32>, [[V1:%.+]]: memref<8xi32> {kernel.may_overwrite = array<i64: 0>})
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<8xi32>) outs([[V1]] : memref<8xi32>) {
// CHECK-NEXT: ^bb0([[V2:%.+]]: i32, [[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V5:%.+]] = arith.divsi [[V2]], [[V4]] : i32
// CHECK-NEXT: linalg.yield [[V5]] : i32
// CHECK: func.return
// CHECK-LABEL: @map_8_i32_2(
// CHECK-SAME: [[V0:%.+]]: memref<8xi32>, [[V1:%.+]]: memref<8xi32> {kernel.may_overwrite = array<i64: 0>})
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<8xi32>) outs([[V1]] : memref<8xi32>) {
// CHECK-NEXT: ^bb0([[V2:%.+]]: i32, [[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.constant 5 : i32
// CHECK-NEXT: [[V5:%.+]] = arith.divsi [[V2]], [[V4]] : i32
// CHECK-NEXT: linalg.yield [[V5]] : i32
// CHECK: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<8xi32>, [[V1:%.+]]: memref<8xi32> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xi32>
// CHECK-NEXT: func.call @map_8_i32([[V0]], [[V2]]) : (memref<8xi32>, memref<8xi32>) -> ()
// CHECK-NEXT: func.call @map_8_i32_2([[V2]], [[V1]]) : (memref<8xi32>, memref<8xi32>) -> ()
// CHECK-NEXT: func.return
// CHECK: // -----
// CHECK: "memref.global"() <{sym_name = "parameters", type = memref<1xf32>, initial_value = dense<[0.000000e+00]> : tensor<1xf32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-NEXT: "memref.global"() <{sym_name = "parameters_2", type = memref<1xf32>, initial_value = dense<[-0.000000e+00]> : tensor<1xf32>, sym_visibility = "private", constant, alignment = 64 : i64}> : () -> ()
// CHECK-LABEL: @first(
// CHECK-SAME: [[V0:%.+]]: memref<4xf32>, [[V1:%.+]]: memref<1xf32>, [[V2:%.+]]: memref<4xf32> {kernel.may_overwrite = array<i64: 0>})
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = memref.load [[V1]][[[V3]]] : memref<1xf32>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<4xf32>) outs([[V2]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.mulf [[V5]], [[V4]] : f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK: func.return
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<4xf32>, [[V1:%.+]]: memref<4xf32> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = memref.get_global @parameters : memref<1xf32>
// CHECK-NEXT: [[V3:%.+]] = memref.get_global @parameters_2 : memref<1xf32>
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 3 : index
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V4]] to [[V6]] step [[V5]] {
// CHECK-NEXT: func.call @first([[V0]], [[V2]], [[V1]]) : (memref<4xf32>, memref<1xf32>, memref<4xf32>) -> ()
// CHECK-NEXT: func.call @first([[V1]], [[V3]], [[V1]]) : (memref<4xf32>, memref<1xf32>, memref<4xf32>) -> ()
// CHECK: func.return

// -----

// What a kernel begins with is one of the numbers in which it differs.
func.func private @bounded(%x: memref<4xf32>, %y: memref<4xf32>) {
  %low = arith.constant 1.000000e+00 : f32
  %high = arith.constant 2.000000e+00 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.maximumf %a, %low : f32
    %1 = arith.minimumf %0, %high : f32
    linalg.yield %1 : f32
  }
  func.return
}
func.func private @bounded_too(%x: memref<4xf32>, %y: memref<4xf32>) {
  %low = arith.constant 3.000000e+00 : f32
  %high = arith.constant 5.000000e+00 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.maximumf %a, %low : f32
    %1 = arith.minimumf %0, %high : f32
    linalg.yield %1 : f32
  }
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {nn.result}, %z: memref<4xf32> {nn.result}) {
  func.call @bounded(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @bounded_too(%x, %z) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK-LABEL: @bounded(
// CHECK-SAME: [[X:%.+]]: memref<4xf32>, [[P:%.+]]: memref<2xf32>, {{%.+}}: memref<4xf32>)
// CHECK: [[LOW:%.+]] = memref.load [[P]]
// CHECK: [[HIGH:%.+]] = memref.load [[P]]
// CHECK: [[M:%.+]] = arith.maximumf {{%.+}}, [[LOW]] : f32
// CHECK-NEXT: arith.minimumf [[M]], [[HIGH]] : f32
// CHECK-NOT: bounded_too

// -----

// A number that something is divided by stays in its kernel, whatever else it is used for.
func.func private @divided(%x: memref<4xi32>, %y: memref<4xi32> {kernel.may_overwrite = array<i64: 0>}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xi32>) outs(%y : memref<4xi32>) {
  ^bb0(%a: i32, %old: i32):
    %n = arith.constant 3 : i32
    %m = arith.addi %a, %n : i32
    %q = arith.divsi %m, %n : i32
    linalg.yield %q : i32
  }
  func.return
}
func.func private @divided_too(%x: memref<4xi32>, %y: memref<4xi32> {kernel.may_overwrite = array<i64: 0>}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xi32>) outs(%y : memref<4xi32>) {
  ^bb0(%a: i32, %old: i32):
    %n = arith.constant 5 : i32
    %m = arith.addi %a, %n : i32
    %q = arith.divsi %m, %n : i32
    linalg.yield %q : i32
  }
  func.return
}
func.func @main(%x: memref<4xi32>, %y: memref<4xi32> {nn.result}, %z: memref<4xi32> {nn.result}) {
  func.call @divided(%x, %y) : (memref<4xi32>, memref<4xi32>) -> ()
  func.call @divided_too(%x, %z) : (memref<4xi32>, memref<4xi32>) -> ()
  func.return
}
// CHECK-LABEL: @divided(
// CHECK: arith.constant 3 : i32
// CHECK-LABEL: @divided_too(
// CHECK: arith.constant 5 : i32
// CHECK: func.call @divided(
// CHECK-NEXT: func.call @divided_too(
