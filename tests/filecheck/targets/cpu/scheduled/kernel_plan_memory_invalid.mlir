// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-plan-memory

func.func private @kernel(%x: memref<?xi8>) {
  func.return
}
func.func @main(%n: index) {
  // expected-error @+1 {{'memref.alloc' op allocations must have a static shape of integers or floats, but got memref<?xi8>}}
  %0 = memref.alloc(%n) : memref<?xi8>
  func.call @kernel(%0) : (memref<?xi8>) -> ()
  func.return
}
// -----
func.func private @kernel(%x: memref<1099511627776xi8>) {
  func.return
}
func.func @main() {
  // expected-error @+1 {{'memref.alloc' op needs an arena of 1099511627776, over the limit of 8589934592; raise it with --limit arena-bytes=N}}
  %0 = memref.alloc() : memref<1099511627776xi8>
  func.call @kernel(%0) : (memref<1099511627776xi8>) -> ()
  func.return
}
// -----
func.func private @kernel(%x: memref<6442450944xi8>, %y: memref<6442450944xi8>) {
  func.return
}
// expected-error @+1 {{'func.func' op needs an arena of 12884901888, over the limit of 8589934592}}
func.func @main() {
  %0 = memref.alloc() : memref<6442450944xi8>
  %1 = memref.alloc() : memref<6442450944xi8>
  func.call @kernel(%0, %1) : (memref<6442450944xi8>, memref<6442450944xi8>) -> ()
  func.return
}
