// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -p canonicalize,cse,dce | filecheck %s

// It stays although it changes nothing that anybody sees.
// CHECK-LABEL: @ahead(
// CHECK-SAME: [[V0:%.+]]: memref<128xi16>, [[V1:%.+]]: index)
// CHECK-NEXT: simd.prefetch [[V0]][[[V1]]] : memref<128xi16>
// CHECK-NEXT: simd.prefetch [[V0]][[[V1]]] {level = 2 : i64} : memref<128xi16>
// CHECK-NEXT: func.return
func.func @ahead(%w: memref<128xi16>, %place: index) {
  simd.prefetch %w[%place] : memref<128xi16>
  simd.prefetch %w[%place] {level = 2} : memref<128xi16>
  func.return
}
