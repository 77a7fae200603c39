// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -o %t.mlir && qmlir-opt %t.mlir | filecheck %s

// Tensors of any plain elements and sequences go in and out; the nodes are bytes.
// CHECK-LABEL: @island
func.func @island(%x: tensor<?x3xf32>, %s: !nn.sequence<tensor<?xi64>>, %t: tensor<2x!nn.string>) -> (tensor<?x3xf16>, !nn.sequence<tensor<*xi1>>) {
  // CHECK-NEXT: {{%.+}}, {{%.+}} = nn.onnx_island %x, %s, %t {model = dense<[1, 2, -3]> : tensor<3xi8>, reason = "qmlir has no operation for Fancy"} : (tensor<?x3xf32>, {{.*}}, tensor<2x!nn.string>) -> (tensor<?x3xf16>, {{.*}}) {origin = "f", op_type = "Fancy"}
  %0, %1 = nn.onnx_island %x, %s, %t {model = dense<[1, 2, -3]> : tensor<3xi8>, reason = "qmlir has no operation for Fancy"} : (tensor<?x3xf32>, !nn.sequence<tensor<?xi64>>, tensor<2x!nn.string>) -> (tensor<?x3xf16>, !nn.sequence<tensor<*xi1>>) {origin = "f", op_type = "Fancy"}
  func.return %0, %1 : tensor<?x3xf16>, !nn.sequence<tensor<*xi1>>
}

// One that nothing takes, and nothing uses.
// CHECK-LABEL: @random
func.func @random() -> tensor<3xf32> {
  // CHECK-NEXT: {{%.+}} = nn.onnx_island {model = dense<7> : tensor<4xi8>, reason = ""} : () -> tensor<3xf32>
  %0 = nn.onnx_island {model = dense<7> : tensor<4xi8>, reason = ""} : () -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
