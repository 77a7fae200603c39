// RUN: qmlir-opt %s -p kernel-mark-read-only | filecheck %s
// RUN: qmlir-opt %s -p kernel-mark-read-only,kernel-mark-read-only | filecheck %s

// A view of what is written is written; memory that is copied from is not.
func.func private @kernel(%x: memref<4xi8>, %y: memref<4xi8>, %z: memref<4xi8>, %n: index) {
  %v = arith.constant 1 : i8
  %c0 = arith.constant 0 : index
  %part = memref.collapse_shape %z [[0]] : memref<4xi8> into memref<4xi8>
  memref.store %v, %part[%c0] : memref<4xi8>
  "memref.copy"(%x, %y) : (memref<4xi8>, memref<4xi8>) -> ()
  func.return
}

// What callers see of a public function is not said again.
func.func @main(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}, %z: memref<4xi8>, %n: index) {
  func.call @kernel(%x, %y, %z, %n) : (memref<4xi8>, memref<4xi8>, memref<4xi8>, index) -> ()
  func.return
}

// CHECK: func.func private @kernel(%{{.*}}: memref<4xi8> {kernel.read_only}, %{{.*}}: memref<4xi8>, %{{.*}}: memref<4xi8>, %{{.*}}: index) {
// CHECK: func.func @main(%{{.*}}: memref<4xi8>, %{{.*}}: memref<4xi8> {nn.result}, %{{.*}}: memref<4xi8>, %{{.*}}: index) {
