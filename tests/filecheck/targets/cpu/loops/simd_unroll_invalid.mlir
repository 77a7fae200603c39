// RUN: qmlir-opt -p simd-unroll %s --verify-diagnostics --split-input-file

// expected-error @+1 {{must not take or return register tiles, but its type contains vector<2x8xi32>}}
func.func @taken(%a: vector<2x8xi32>) {
  func.return
}
