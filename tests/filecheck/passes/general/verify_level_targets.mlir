// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'verify-level{level=primitive}'

// Without `keep` the targets of the module say which composites may stay whole.
builtin.module attributes {target.specs = [#target.spec<"t", keep = ["softmax"], supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = nn.softmax %x : tensor<2xf32>
    // expected-error @+1 {{is a composite, but level 'primitive' allows only primitives; run nn-decompose}}
    %1 = nn.gelu %0 : tensor<2xf32>
    func.return %1 : tensor<2xf32>
  }
}
