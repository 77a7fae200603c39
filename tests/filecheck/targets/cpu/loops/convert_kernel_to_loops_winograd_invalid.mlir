// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @no_schedule(%x: memref<1x4x4x1xi8>, %w: memref<1x4x4x1xi16>, %y: memref<1x2x2x1xi32>) {
  // expected-error@+1 {{'kernel.winograd' op is not packed for variant 'winograd'; run kernel-pack}}
  kernel.winograd ins(%x, %w : memref<1x4x4x1xi8>, memref<1x4x4x1xi16>) outs(%y : memref<1x2x2x1xi32>) {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// -----

func.func @gaps(%x: memref<1x4x4x2xi8, strided<[64, 16, 4, 2]>>, %w: memref<1x1x4x4x1x8xi16>, %y: memref<1x2x2x1xi32>) {
  // expected-error@+1 {{requires contiguous memory along the last axis, but got memref<1x4x4x2xi8, strided<[64, 16, 4, 2]>>}}
  kernel.packed_winograd ins(%x, %w : memref<1x4x4x2xi8, strided<[64, 16, 4, 2]>>, memref<1x1x4x4x1x8xi16>) outs(%y : memref<1x2x2x1xi32>) attributes {
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// -----

func.func @other_operation(%x: memref<1x2xi8>, %w: memref<1x1x1x2xi16>, %y: memref<1x1xi32>) {
  // expected-error@+1 {{'kernel.packed_matmul' op is packed for variant 'winograd', which requires kernel.packed_winograd}}
  kernel.packed_matmul ins(%x, %w : memref<1x2xi8>, memref<1x1x1x2xi16>) outs(%y : memref<1x1xi32>) attributes {
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}
