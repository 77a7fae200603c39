// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @on_tensors
// CHECK-NEXT: kernel.custom "mine.kernels:silu" ins(%x : tensor<2x3xf32>) -> tensor<2x3xf32> computes {op = "nn.swish", operands = [tensor<2x3xf32>], results = [tensor<2x3xf32>], properties = {alpha = 2.000000e+00 : f32}} {origin = "act1", overwrites = array<i64: 0>}
func.func @on_tensors(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = kernel.custom "mine.kernels:silu" ins(%x : tensor<2x3xf32>) -> tensor<2x3xf32> computes {op = "nn.swish", operands = [tensor<2x3xf32>], results = [tensor<2x3xf32>], properties = {alpha = 2.0 : f32}} {origin = "act1", overwrites = array<i64: 0>}
  func.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: @on_memory
// CHECK-NEXT: kernel.custom "mine.kernels:pair" ins(%x, %y : memref<4xi8>, memref<4xi8>) outs(%z, %t : memref<4xi8>, memref<4xi8, strided<[2]>>) computes {op = "mine.pair", operands = [tensor<4xui8>, tensor<4xi8>], results = [tensor<4xi8>, tensor<4xi8>]} {any_strides}
func.func @on_memory(%x: memref<4xi8>, %y: memref<4xi8>, %z: memref<4xi8>, %t: memref<4xi8, strided<[2]>>) {
  kernel.custom "mine.kernels:pair" ins(%x, %y : memref<4xi8>, memref<4xi8>) outs(%z, %t : memref<4xi8>, memref<4xi8, strided<[2]>>) computes {op = "mine.pair", operands = [tensor<4xui8>, tensor<4xi8>], results = [tensor<4xi8>, tensor<4xi8>]} {any_strides}
  func.return
}
