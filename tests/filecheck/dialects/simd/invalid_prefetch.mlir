// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @level(%w: memref<128xi16>, %place: index) {
  // expected-error @+1 {{cache level must be 1, 2 or 3, but got 4}}
  simd.prefetch %w[%place] {level = 4} : memref<128xi16>
  func.return
}
// -----
func.func @two_axes(%w: memref<4x128xi16>, %place: index) {
  // expected-error @+1 {{expected one index per axis of 'memref<4x128xi16>', but got 1}}
  simd.prefetch %w[%place] : memref<4x128xi16>
  func.return
}
