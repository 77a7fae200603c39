// RUN: qmlir-opt %s --print-upstream | filecheck %s
// RUN: qmlir-opt %s --print-upstream | qmlir-opt -p nn-decompose | filecheck %s --check-prefix=READ

// Upstream's dialect has no descriptions of targets: they are strings there, and read again as what they are.
// CHECK: quant.targets = ["#quant.target<\22t\22, keep = [\22gelu\22], supports = [{op = \22*\22}]>"]
// READ: nn.gelu
builtin.module attributes {quant.targets = [#quant.target<"t", keep = ["gelu"], supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.gelu %x : tensor<2xf32>
    func.return %0 : tensor<2xf32>
  }
}
