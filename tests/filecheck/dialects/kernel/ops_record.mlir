// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @on_tensors
// CHECK-NEXT: kernel.record %x at %p in %r bins 4 : i64 : tensor<?x3xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
func.func @on_tensors(%x: tensor<?x3xf32>, %p: tensor<1xi64>, %r: tensor<60xi64>) -> tensor<60xi64> {
  %0 = kernel.record %x at %p in %r bins 4 : i64 : tensor<?x3xf32>, tensor<1xi64>, tensor<60xi64> -> tensor<60xi64>
  func.return %0 : tensor<60xi64>
}
// CHECK-LABEL: @on_memory
// CHECK-NEXT: kernel.record %x at %p in %r bins 2 : i64 axis 1 : i64 {origin = "conv1"} : memref<2x3xf32>, memref<1xi64>, memref<70xi64>
func.func @on_memory(%x: memref<2x3xf32>, %p: memref<1xi64>, %r: memref<70xi64>) {
  kernel.record %x at %p in %r bins 2 : i64 axis 1 : i64 {origin = "conv1"} : memref<2x3xf32>, memref<1xi64>, memref<70xi64>
  func.return
}
// CHECK-LABEL: @of_runs
// CHECK-NEXT: kernel.record %x at %p in %r runs %n bins 2 : i64 : memref<60xf32>, memref<1xi64>, memref<70xi64>, memref<2xi64>
func.func @of_runs(%x: memref<60xf32>, %p: memref<1xi64>, %r: memref<70xi64>, %n: memref<2xi64>) {
  kernel.record %x at %p in %r runs %n bins 2 : i64 : memref<60xf32>, memref<1xi64>, memref<70xi64>, memref<2xi64>
  func.return
}
