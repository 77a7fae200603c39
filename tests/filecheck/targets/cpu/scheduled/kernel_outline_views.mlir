// RUN: qmlir-opt %s -p kernel-bufferize,kernel-outline | filecheck %s
// RUN: qmlir-opt %s --verify-each=exec -p kernel-bufferize,kernel-outline

// A kernel does not know where the memory begins that it is given, nor do its views of it, of whichever kind.
// CHECK-LABEL: func.func private @loop(
// CHECK-SAME: [[HALF:%.+]]: memref<2x6xi8, strided<[6, 1], offset: ?>>, {{%.+}}: memref<12xi8>)
// CHECK: [[ROW:%.+]] = kernel.reshape [[HALF]] : memref<2x6xi8, strided<[6, 1], offset: ?>> to memref<12xi8, strided<[1], offset: ?>>
// CHECK-NEXT: memref.subview [[ROW]][3] [4] [1] : memref<12xi8, strided<[1], offset: ?>> to memref<4xi8, strided<[1], offset: ?>>
// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<4x6xi8>) -> tensor<12xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i8
  %half = tensor.extract_slice %x[2, 0] [2, 6] [1, 1] : tensor<4x6xi8> to tensor<2x6xi8>
  %e = tensor.empty() : tensor<12xi8>
  %f = linalg.fill ins(%zero : i8) outs(%e : tensor<12xi8>) -> tensor<12xi8>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %f) -> (tensor<12xi8>) {
    %row = kernel.reshape %half : tensor<2x6xi8> to tensor<12xi8>
    %part = tensor.extract_slice %row[3] [4] [1] : tensor<12xi8> to tensor<4xi8>
    %t = tensor.insert_slice %part into %s[%i] [4] [1] : tensor<4xi8> into tensor<12xi8>
    scf.yield %t : tensor<12xi8>
  }
  func.return %r : tensor<12xi8>
}
