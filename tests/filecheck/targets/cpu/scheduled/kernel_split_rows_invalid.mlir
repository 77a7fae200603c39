// RUN: not qmlir-opt %s -p 'kernel-split-rows{isa=sse}'
// RUN: qmlir-opt %s -p 'kernel-split-rows{isa=avx2}' -o %t.same && qmlir-opt %s | diff %t.same -

func.func @main() {
  func.return
}
