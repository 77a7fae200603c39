// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-verify-custom --verify-each=exec | filecheck %s
// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-verify-custom,kernel-bufferize,kernel-outline --verify-each=exec | filecheck %s --check-prefix=MEMORY
// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-bufferize,kernel-verify-custom,kernel-outline,convert-kernel-to-loops,verify-level{level=loops} --verify-each=exec | filecheck %s --check-prefix=LOOPS
// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-verify-custom --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATISTICS
// STATISTICS: kernel-verify-custom: 2 kernels compared

!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<i8<-100:100>:f32, 0.5:1>

// The function takes the place of the operation; the words keep what it computes. Two that are alike are one kernel.
// CHECK-LABEL: @main
// CHECK-NEXT: kernel.custom "tests.support.custom_kernels:threshold" ins(%x : tensor<2x3xf32>) -> tensor<2x3xf32> computes {op = "soft.threshold", operands = [tensor<2x3xf32>], results = [tensor<2x3xf32>], properties = {bound = 5.000000e-01 : f32}} {origin = "shrink1", op_type = "Soft", overwrites = array<i64: 0>}
// CHECK-NEXT: kernel.custom
// CHECK-NEXT: kernel.custom "tests.support.custom_kernels:split" ins(%q, %r : tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>, tensor<4xi8> computes {op = "soft.split", operands = [tensor<4x[[X:!.+]]>, tensor<4x{{!.+}}>], results = [tensor<4x[[X]]>, tensor<4x[[X]]>]}
// MEMORY-LABEL: func.func private @soft_2x3_f32(%x: memref<2x3xf32>, {{%.+}}: memref<2x3xf32> {kernel.may_overwrite = array<i64: 0>})
// MEMORY-NEXT: kernel.custom "tests.support.custom_kernels:threshold" ins(%x : memref<2x3xf32>) outs({{%.+}} : memref<2x3xf32>) computes
// MEMORY-NEXT: func.return
// MEMORY-LABEL: func.func private @split_4_i8(
// MEMORY-NEXT: kernel.custom "tests.support.custom_kernels:split" ins({{.*}}) outs({{%.+}}, {{%.+}} : memref<4xi8>, memref<4xi8>)
// MEMORY-LABEL: @main
// MEMORY: func.call @soft_2x3_f32({{.*}}) {origin = "shrink1", op_type = "Soft"}
// MEMORY: func.call @soft_2x3_f32({{.*}}) {origin = "shrink2", op_type = "Soft"}
// MEMORY: func.call @split_4_i8
// LOOPS-LABEL: func.func private @soft_2x3_f32
// LOOPS-NEXT: kernel.custom
func.func @main(%x: tensor<2x3xf32>, %q: tensor<4x!x>, %r: tensor<4x!y>) -> (tensor<2x3xf32>, tensor<4x!x>, tensor<4x!x>) {
  %0 = soft.threshold %x by 0.5 : f32 {origin = "shrink1", op_type = "Soft"} : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = soft.threshold %0 by 0.5 : f32 {origin = "shrink2", op_type = "Soft"} : tensor<2x3xf32> -> tensor<2x3xf32>
  %2, %3 = soft.split %q, %r : (tensor<4x!x>, tensor<4x!y>) -> (tensor<4x!x>, tensor<4x!x>)
  func.return %1, %2, %3 : tensor<2x3xf32>, tensor<4x!x>, tensor<4x!x>
}
