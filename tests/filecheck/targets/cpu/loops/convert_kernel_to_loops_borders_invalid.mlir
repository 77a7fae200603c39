// RUN: qmlir-opt %s --verify-diagnostics -p convert-kernel-to-loops

func.func @ranks(%v: i8, %y: memref<4x5xi8>) {
  // expected-error@+1 {{'linalg.fill' op kernel.overwritten must have 2 offsets and 2 sizes, but got [array<i64: 1>, array<i64: 2>]}}
  linalg.fill {kernel.overwritten = [array<i64: 1>, array<i64: 2>]} ins(%v : i8) outs(%y : memref<4x5xi8>)
  func.return
}
