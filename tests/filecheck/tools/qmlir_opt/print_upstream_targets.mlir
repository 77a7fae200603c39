// RUN: qmlir-opt %s --print-upstream | filecheck %s
// RUN: qmlir-opt %s --print-upstream | qmlir-opt -p nn-decompose | filecheck %s --check-prefix=READ

// Descriptions of targets are of a dialect of ours, of which upstream's tools carry the text along.
// CHECK: #t0 = #target.spec<"t", keep = ["gelu"], supports = [{op = "*"}]>
// CHECK: target.specs = [#t0]
// READ: nn.gelu
builtin.module attributes {target.specs = [#target.spec<"t", keep = ["gelu"], supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.gelu %x : tensor<2xf32>
    func.return %0 : tensor<2xf32>
  }
}
