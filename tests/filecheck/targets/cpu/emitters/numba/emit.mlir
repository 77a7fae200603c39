// RUN: qmlir-opt %s -p kernel-mark-read-only,team-divide | qmlir-translate --emit-numba | filecheck %s

builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni", threads = 2>} {
"memref.global"() <{constant, sym_name = "bias", sym_visibility = "private", type = memref<16xi32>, initial_value = dense<7> : tensor<16xi32>}> : () -> ()
func.func private @conv(%x: memref<4x64xi8>, %w: memref<1024xi8>, %b: memref<16xi32>, %y: memref<4x16xi8, strided<[32, 1], offset: ?>>) attributes {origin = "c1"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %m = arith.constant 0.001 : f32
  %mv = vector.broadcast %m : f32 to vector<16xf32>
  %lo = arith.constant dense<[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]> : vector<16xi32>
  scf.for %row = %c0 to %c4 step %c1 {
    %b0 = simd.load %b[%c0] : memref<16xi32> to vector<16xi32>
    %acc = scf.for %k = %c0 to %c16 step %c1 iter_args(%a = %b0) -> (vector<16xi32>) {
      %k4 = arith.muli %k, %c4 : index
      %g = simd.load_group_splat %x[%row, %k4] : memref<4x64xi8> to vector<64xi8>
      %k64 = arith.muli %k, %c64 : index
      %wv = simd.load %w[%k64] : memref<1024xi8> to vector<64xi8>
      %n = simd.dot_accumulate %a, %g, %wv {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
      scf.yield %n : vector<16xi32>
    }
    %f = simd.convert %acc {kind = "sitofp"} : vector<16xi32> to vector<16xf32>
    %s = arith.mulf %f, %mv : vector<16xf32>
    %i = simd.round_to_int %s : vector<16xf32> to vector<16xi32>
    %i2 = arith.addi %i, %lo : vector<16xi32>
    %r = simd.narrow %i2 : vector<16xi32> to vector<16xi8>
    simd.store %r, %y[%row, %c0] : vector<16xi8>, memref<4x16xi8, strided<[32, 1], offset: ?>>
  }
  func.return
}
func.func private @relu(%x: memref<4x32xi8>, %y: memref<4x32xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %z = arith.constant 0 : i8
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %c0 to %c32 step %c1 {
      %v = memref.load %x[%i, %j] : memref<4x32xi8>
      %w = arith.maxsi %v, %z : i8
      memref.store %w, %y[%i, %j] : memref<4x32xi8>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func @main(%x: memref<4x64xi8> {nn.name = "x"}, %w: memref<1024xi8> {nn.name="w"}, %y: memref<4x32xi8> {nn.result, nn.name = "y"}) {
  %off = arith.constant 64 : index
  %arena = memref.alloc() {alignment = 64 : i64} : memref<1024xi8>
  %t = memref.view %arena[%off][] : memref<1024xi8> to memref<4x32xi8>
  %b = memref.get_global @bias : memref<16xi32>
  %l = memref.subview %t[0, 0] [4, 16] [1, 1] : memref<4x32xi8> to memref<4x16xi8, strided<[32, 1]>>
  %r = memref.subview %t[0, 16] [4, 16] [1, 1] : memref<4x32xi8> to memref<4x16xi8, strided<[32, 1], offset: 16>>
  %lc = "memref.cast"(%l) : (memref<4x16xi8, strided<[32, 1]>>) -> memref<4x16xi8, strided<[32, 1], offset: ?>>
  %rc = "memref.cast"(%r) : (memref<4x16xi8, strided<[32, 1], offset: 16>>) -> memref<4x16xi8, strided<[32, 1], offset: ?>>
  func.call @conv(%x, %w, %b, %lc) : (memref<4x64xi8>, memref<1024xi8>, memref<16xi32>, memref<4x16xi8, strided<[32, 1], offset: ?>>) -> ()
  func.call @conv(%x, %w, %b, %rc) : (memref<4x64xi8>, memref<1024xi8>, memref<16xi32>, memref<4x16xi8, strided<[32, 1], offset: ?>>) -> ()
  func.call @relu(%t, %y) : (memref<4x32xi8>, memref<4x32xi8>) -> ()
  func.return
}
}

// CHECK: """Kernels of a neural network, emitted by qmlir; `main` runs them over the arena."""
// CHECK: import numpy as np
// CHECK: from .runtime.operations import (
// CHECK-NEXT: addresses,
// CHECK-NEXT: alone,
// CHECK-NEXT: array_at,
// CHECK-NEXT: by_intrinsics,
// CHECK-NEXT: call,
// CHECK-NEXT: chunk_begin,
// CHECK-NEXT: chunk_end,
// CHECK-NEXT: f32,
// CHECK-NEXT: finished,
// CHECK-NEXT: i8,
// CHECK-NEXT: kernel,
// CHECK-NEXT: load,
// CHECK-NEXT: load_group_splat,
// CHECK-NEXT: maxsi,
// CHECK-NEXT: narrow_i8,
// CHECK-NEXT: requires,
// CHECK-NEXT: round_to_int,
// CHECK-NEXT: splat,
// CHECK-NEXT: store,
// CHECK-NEXT: tail,
// CHECK-NEXT: taken,
// CHECK-NEXT: view,
// CHECK-NEXT: )
// CHECK-NEXT: from .runtime.operations.threads import together
// CHECK: DIGEST = "{{[0-9a-f]+}}"
// CHECK-NEXT: CONSTANTS = [
// CHECK-NEXT: ("bias", "int32", 16),
// CHECK-NEXT: ]
// CHECK-NEXT: INPUTS = [
// CHECK-NEXT: ("x", "int8", (4, 64), False, 0),
// CHECK-NEXT: ("w", "int8", (1024,), False, 0),
// CHECK-NEXT: ]
// CHECK-NEXT: OUTPUTS = [
// CHECK-NEXT: ("y", "int8", (4, 32), False, 0),
// CHECK-NEXT: ]
// CHECK-NEXT: IN_PLACE = {{\[\[\]\]}}
// CHECK-NEXT: CALLS = [
// CHECK-NEXT: ("conv", []),
// CHECK-NEXT: ("conv", []),
// CHECK-NEXT: ("relu", []),
// CHECK-NEXT: ]
// CHECK-NEXT: ARENA_BYTES = 1088
// CHECK-NEXT: requires("avx512bw", "avx512dq", "avx512f", "avx512vl", "avx512vnni")
// CHECK-NEXT: dot_us = by_intrinsics("dot_us", (128, "llvm.x86.avx512.vpdpbusd.128"), (256, "llvm.x86.avx512.vpdpbusd.256"), (512, "llvm.x86.avx512.vpdpbusd.512"))
// CHECK-NEXT: LANES_0 = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], np.int32)
// CHECK: @kernel("const int8", "const int8", "const int32", "int8")
// CHECK-NEXT: def conv(x, w, b, y):
// CHECK-NEXT: """c1"""
// CHECK-NEXT: mv = splat(f32(0.001), 16)
// CHECK-NEXT: lo = load(LANES_0, 0, 16)
// CHECK-NEXT: for row in range(4):
// CHECK-NEXT: b0 = load(b, 0, 16)
// CHECK-NEXT: a = b0
// CHECK-NEXT: for k in range(16):
// CHECK-NEXT: g = load_group_splat(x, row*64 + k*4, 64)
// CHECK-NEXT: wv = load(w, k*64, 64)
// CHECK-NEXT: a = dot_us(a, g, wv)
// CHECK-NEXT: store(y, row*32, narrow_i8(round_to_int(f32(a) * mv) + lo))
// CHECK: @kernel("int64", "value index", "const int8", "int8")
// CHECK-NEXT: def relu(team, number, x, y):
// CHECK-NEXT: chunk = taken(team, number, -1, 2)
// CHECK-NEXT: while chunk >= 0:
// CHECK-NEXT: begin = chunk_begin(team, chunk, 2, 4)
// CHECK-NEXT: end = chunk_end(team, chunk, 2, 4)
// CHECK-NEXT: for i in range(begin, end):
// CHECK-NEXT: for j in range(32):
// CHECK-NEXT: v = load(x, i*32 + j)
// CHECK-NEXT: store(y, i*32 + j, maxsi(v, i8(0)))
// CHECK-NEXT: chunk = taken(team, number, chunk, 2)
// CHECK-NEXT: finished(team, number, 2)
// CHECK: @kernel("int64", "value index", "const int64")
// CHECK-NEXT: def steps(team, number, job):
// CHECK-NEXT: kernels = array_at(job, 0, 2, "int64")
// CHECK-NEXT: arena = array_at(job, 1, 1088, "int8")
// CHECK-NEXT: constants = array_at(job, 2, 1, "int64")
// CHECK-NEXT: x = array_at(job, 3, 256, "int8")
// CHECK-NEXT: w = array_at(job, 4, 1024, "int8")
// CHECK-NEXT: y = array_at(job, 5, 128, "int8")
// CHECK-NEXT: bias = array_at(constants, 0, 16, "int32")
// CHECK-NEXT: t = view(arena, 64, 128, "int8")
// CHECK-NEXT: if alone(team, number):
// CHECK-NEXT: call(kernels, 0, x, w, bias, t)  # conv
// CHECK-NEXT: call(kernels, 0, x, w, bias, tail(t, 16))  # conv
// CHECK-NEXT: finished(team, number, 0)
// CHECK-NEXT: call(kernels, 1, team, number, t, y)  # relu
// CHECK: KERNELS = addresses(conv, relu, steps)
// CHECK-NEXT: TEAM = together(DIGEST, 2)
// CHECK: def main(arena, constants, *arrays):
// CHECK-NEXT: """Compute: `arrays` are inputs and memory for outputs, each flat; constants are addresses."""
// CHECK-NEXT: TEAM(steps, KERNELS, arena, constants, *arrays)
