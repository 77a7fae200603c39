// RUN: not qmlir-opt %s -p 'kernel-split-tables{isa=sse}'
// RUN: qmlir-opt %s -p 'kernel-split-tables{isa=avx2}' -o %t.same && qmlir-opt %s | diff %t.same -

func.func @main() {
  func.return
}
