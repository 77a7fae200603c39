// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @level(%w: memref<128xi16>, %place: index) {
  // expected-error @+1 {{levels of caches are 1, 2 and 3, found 4}}
  simd.prefetch %w[%place] {level = 4} : memref<128xi16>
  func.return
}
// -----
func.func @two_axes(%w: memref<4x128xi16>, %place: index) {
  // expected-error @+1 {{takes an index for each axis of memref<4x128xi16>, found 1}}
  simd.prefetch %w[%place] : memref<4x128xi16>
  func.return
}
