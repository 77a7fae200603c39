// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p 'convert-nn-to-kernel,canonicalize,cse,kernel-verify-custom' --verify-each=exec --verify-roundtrip | filecheck %s
// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-bufferize,kernel-verify-custom,kernel-outline,convert-kernel-to-loops,verify-level{level=loops} --verify-each=exec | filecheck %s --check-prefix=LOOPS

// The text keeps the region, so that the interpreter runs it and the kernel is compared with it.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[A:%.+]] = kernel.custom "tests.support.custom_kernels:squares" ins({{%.+}} : tensor<6xf32>) -> tensor<6xf32> computes {op = "soft.map", operands = [tensor<6xf32>], results = [tensor<6xf32>], text = "{{.*}}soft.map{{.*}}arith.mulf{{.*}}2.500000e-01{{.*}}"} {origin = "square1", overwrites = array<i64: 0>}
// CHECK-NEXT: func.return [[A]]
// LOOPS: kernel.custom "tests.support.custom_kernels:squares" ins({{%.+}} : memref<6xf32>) outs({{%.+}} : memref<6xf32>)
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = soft.map %x {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %e : f32
    %c = arith.constant 0.25 : f32
    %r = arith.addf %s, %c : f32
    soft.give %r : f32
  } {origin = "square1"} : tensor<6xf32> -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}
