// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'verify-level{level=primitive keep=softmax}'
// RUN: not qmlir-opt %s -p 'verify-level{level=attic}' 2>&1 | filecheck %s

// CHECK: error: unknown level 'attic' (available: graph, primitive, profiled, quantized, integer, scheduled, loops)

func.func @primitive(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.softmax %x : tensor<2xf32>
  %1 = nn.relu %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
// -----
func.func @composite(%x: tensor<2xf32>) {
  // expected-error @+1 {{'nn.gelu' op (act) is a composite, but level 'primitive' allows only primitives; run nn-decompose}}
  %0 = nn.gelu %x : tensor<2xf32> {origin = "act"}
  func.return
}
// -----
func.func @dialect(%x: f32) {
  // expected-error @+1 {{is not allowed at level 'primitive' (dialects: builtin, check, func, nn)}}
  %0 = arith.addf %x, %x : f32
  func.return
}
// -----
// expected-error @+1 {{level 'primitive' allows only plain elements, but got a value of type tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>}}
func.func @element(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  func.return
}
