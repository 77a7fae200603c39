// RUN: qmlir-opt %s -p 'kernel-winograd{tuned="%S/Inputs/tuned.json"},kernel-assign-schedule{tuned="%S/Inputs/tuned.json"}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{tuned="%S/Inputs/tuned.json"}' -o %t 2>&1 | filecheck %s --check-prefix=TOLD
// What was found for one thread says nothing about two.
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{tuned="%S/Inputs/tuned.json" threads=2}' | filecheck %s --check-prefix=TWO
// RUN: qmlir-opt %s -p 'kernel-winograd{tuned="%S/Inputs/tuned.json"}' --verify-each=exec --exec-function '*' -o %t.checked
// RUN: not qmlir-opt %s -p 'kernel-assign-schedule{tuned="%t.gone"}' 2>&1 | filecheck %s --check-prefix=GONE
// RUN: not qmlir-opt %s -p 'kernel-assign-schedule{tuned="%s"}' 2>&1 | filecheck %s --check-prefix=NONE

// Other numbers, and other names, have the same schedule.
func.func @found(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>) {
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {
    input_zero_point = 3 : i32, origin = "fc1"} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1 : tensor<8x32xi32>, tensor<8x32xi32>
}

// One that nobody timed, one that has a schedule by hand, and one whose entry says what it cannot have.
func.func @others(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>, %y: tensor<8x24xi8>, %v: tensor<32x24xi8>)
    -> (tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>) {
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> {
  ^bb0(%acc: i32):
    %2 = arith.addi %acc, %acc : i32
    kernel.yield %2 : i32
  }
  %1 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {
    schedule = #kernel.schedule<variant = "scalar">} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %3 = kernel.matmul ins(%y, %v : tensor<8x24xi8>, tensor<32x24xi8>) -> tensor<8x32xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1, %3 : tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>
}

// A convolution that the table leaves direct, by the algorithm that was found to be faster.
func.func @algorithm(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32> {
  %w = arith.constant dense<[[[[1], [2], [1]], [[0], [0], [0]], [[0], [0], [-1]]]]> : tensor<1x3x3x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2x2x1xi32>
}

// CHECK: #k0 = #kernel.target<isa = "generic">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "splat", rows = 8, lanes = 4>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "splat", rows = 4, vectors = 2, lanes = 4>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "scalar">
// CHECK-NEXT: #k4 = #kernel.schedule<variant = "winograd", lanes = 4, k_unroll = 2>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @found(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>, [[V1:%.+]]: tensor<32x16xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>)
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {kernel.tuned, schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {origin = "fc1", kernel.tuned, input_zero_point = 3 : i32, schedule = #k1} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V5]] : i32
// CHECK: func.return [[V2]], [[V4]] : tensor<8x32xi32>, tensor<8x32xi32>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<8x16xi8>, [[V1:%.+]]: tensor<32x16xi8>, [[V2:%.+]]: tensor<8x24xi8>, [[V3:%.+]]: tensor<32x24xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>)
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {schedule = #k2} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V5]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: [[V7:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {schedule = #k3} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V8]] : i32
// CHECK: [[V9:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<8x24xi8>, tensor<32x24xi8>) -> tensor<8x32xi32> attributes {schedule = #k2} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V10]] : i32
// CHECK: func.return [[V4]], [[V7]], [[V9]] : tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>
// CHECK-LABEL: @algorithm(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}4], [8], [0], [4]], {{\[\[}}2], [3], [-1], [0]], {{\[\[}}2], [3], [-1], [0]], {{\[\[}}0], [-2], [-2], [-4]]]]> : tensor<1x4x4x1xi16>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<1x4x4x1xi16>) -> tensor<1x2x2x1xi32> attributes {kernel.tuned, schedule = #k4} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x2x2x1xi32>

// TOLD: warning: '{{.*}}tuned.json': 1 damaged entry is left out
// TOLD-NEXT: {{.*}}kernel_assign_schedule_tuned.mlir:36:3: warning: 'kernel.matmul' op ignoring #kernel.schedule<variant = "splat", rows = 4, vectors = 2, lanes = 64> of '{{.*}}tuned.json', which is invalid for this operation
// TOLD-NEXT: [[V0:%.+]] = kernel.matmul ins([[V1:%.+]], [[V2:%.+]] : tensor<8x24xi8>, tensor<32x24xi8>) -> tensor<8x32xi32> {
// TOLD-NEXT: ^

// TWO: #k0 = #kernel.target<isa = "generic", threads = 2>
// TWO-NEXT: #k1 = #kernel.schedule<variant = "splat", rows = 4, vectors = 2, lanes = 4>
// TWO-NEXT: #k2 = #kernel.schedule<variant = "scalar">
// TWO-NEXT: #k3 = #kernel.schedule<variant = "splat", rows = 2, lanes = 4>
// TWO-NEXT: builtin.module attributes {kernel.target = #k0} {
// TWO-LABEL: @found(
// TWO-SAME: [[V0:%.+]]: tensor<8x16xi8>, [[V1:%.+]]: tensor<32x16xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>)
// TWO-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {schedule = #k1} {
// TWO-NEXT: ^bb0([[V3:%.+]]: i32):
// TWO-NEXT: kernel.yield [[V3]] : i32
// TWO: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {origin = "fc1", input_zero_point = 3 : i32, schedule = #k1} {
// TWO-NEXT: ^bb0([[V5:%.+]]: i32):
// TWO-NEXT: kernel.yield [[V5]] : i32
// TWO: func.return [[V2]], [[V4]] : tensor<8x32xi32>, tensor<8x32xi32>
// TWO-LABEL: @others(
// TWO-SAME: [[V0:%.+]]: tensor<8x16xi8>, [[V1:%.+]]: tensor<32x16xi8>, [[V2:%.+]]: tensor<8x24xi8>, [[V3:%.+]]: tensor<32x24xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>)
// TWO-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {schedule = #k1} {
// TWO-NEXT: ^bb0([[V5:%.+]]: i32):
// TWO-NEXT: [[V6:%.+]] = arith.addi [[V5]], [[V5]] : i32
// TWO-NEXT: kernel.yield [[V6]] : i32
// TWO: [[V7:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {schedule = #k2} {
// TWO-NEXT: ^bb0([[V8:%.+]]: i32):
// TWO-NEXT: kernel.yield [[V8]] : i32
// TWO: [[V9:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<8x24xi8>, tensor<32x24xi8>) -> tensor<8x32xi32> attributes {schedule = #k1} {
// TWO-NEXT: ^bb0([[V10:%.+]]: i32):
// TWO-NEXT: kernel.yield [[V10]] : i32
// TWO: func.return [[V4]], [[V7]], [[V9]] : tensor<8x32xi32>, tensor<8x32xi32>, tensor<8x32xi32>
// TWO-LABEL: @algorithm(
// TWO-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>) -> tensor<1x2x2x1xi32>
// TWO-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1], [2], [1]], {{\[\[}}0], [0], [0]], {{\[\[}}0], [0], [-1]]]]> : tensor<1x3x3x1xi8>
// TWO-NEXT: [[V2:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<1x3x3x1xi8>) -> tensor<1x2x2x1xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k3} {
// TWO-NEXT: ^bb0([[V3:%.+]]: i32):
// TWO-NEXT: kernel.yield [[V3]] : i32
// TWO: func.return [[V2]] : tensor<1x2x2x1xi32>

// GONE: error: cannot read the tuned schedules '{{.*}}kernel_assign_schedule_tuned.mlir.tmp.gone': No such file or directory

// NONE: error: '{{.*}}kernel_assign_schedule_tuned.mlir' does not contain tuned schedules: it is not JSON: line 1, column 1: expecting value
