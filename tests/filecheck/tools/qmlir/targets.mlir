// RUN: not qmlir compile %s --device tpu -o %t 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not qmlir quantize %s --device cpu,cpu --data %s -o %t 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not qmlir run %s --device cpu --engine interpreter 2>&1 | filecheck %s --check-prefix=ENGINE

// UNKNOWN: error: unknown target 'tpu'; did you mean 'cpu'? (available:
// TWICE: error: duplicate target 'cpu'
// ENGINE: qmlir run: error: --device requires --engine compiled
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
