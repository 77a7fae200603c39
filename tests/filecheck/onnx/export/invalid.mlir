// What ONNX cannot say is one line that names the operation and what is accepted.
// RUN: not qmlir-translate --export-onnx %s 2>&1 | filecheck %s
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = calib.observe %x "x" : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// CHECK: {{.*}}invalid.mlir:4:3: error: 'calib.observe' op cannot be written as ONNX: operations of the graph, profiled and quantized levels are; a package adds exporters through the entry point group 'qmlir.onnx_exporters'
// CHECK-NEXT: > [[V0:%.+]] = calib.observe([[V1:%.+]]) {key = "x"} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return([[V0]]) : (tensor<2xf32>) -> ()
