// RUN: qmlir-opt %s --verify-diagnostics -p kernel-plan-memory

func.func private @kernel(%x: memref<?xi8>) {
  func.return
}
func.func @main(%n: index) {
  // expected-error @+1 {{'memref.alloc' op allocates memref<?xi8>: accepted are known sizes of integers and floats}}
  %0 = memref.alloc(%n) : memref<?xi8>
  func.call @kernel(%0) : (memref<?xi8>) -> ()
  func.return
}
