// An operator that the operator set has not is an error where the user chose the set.
// RUN: not qmlir-translate --export-onnx %s --opset 21 2>&1 | filecheck %s
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %axis = nn.constant dense<0> : tensor<i64>
  %0 = nn.cum_prod %x, %axis : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32> {origin = "product"}
  func.return %0 : tensor<2xf32>
}

// CHECK: {{.*}}invalid_opset.mlir:5:3: error: 'nn.cum_prod' op (product) requires operator set 26 for CumProd, but got 21; help: pass --opset 26 (opset=26)
// CHECK-NEXT: [[V0:%.+]] = nn.constant() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: > [[V1:%.+]] = nn.cum_prod([[V2:%.+]], [[V0]]) {origin = "product"} : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>
// CHECK-NEXT: func.return([[V1]]) : (tensor<2xf32>) -> ()
