// What ONNX cannot say is one line that names the operation and what is accepted.
// RUN: not qmlir-translate --export-onnx %s 2>&1 | filecheck %s
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK: {{.*}}invalid.mlir:4:3: error: 'arith.addf' op cannot be exported to ONNX: only operations of the graph, profiled and quantized levels can; a package adds exporters through the entry point group 'qmlir.onnx_exporters'
// CHECK-NEXT: > [[V0:%.+]] = arith.addf([[V1:%.+]], [[V1]]) {fastmath = #arith.fastmath<none>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return([[V0]]) : (tensor<2xf32>) -> ()
