// The parts of one node of the model are one local function, which says what it was.
// RUN: qmlir-translate --export-onnx %s --functions | filecheck %s
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "fc1.bias"}
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32> {origin = "fc1", op_type = "Gemm", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32> {origin = "fc1", op_type = "Gemm", role = "bias_add"}
  %2 = nn.relu %1 : tensor<1x2xf32> {origin = "relu1", op_type = "Relu"}
  func.return %2 : tensor<1x2xf32>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21, "qmlir" : 1],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{.*}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (float[1,4] input0) => (float[1,2] output0)
// CHECK-NEXT: <float[2,4] "fc1.weight" =  {1,2,3,4,5,6,7,8}, float[2] "fc1.bias" =  {1,2}, float[2,4] "fc1.weight", float[2] "fc1.bias", float[1,2] "fc1/bias_add">
// CHECK-NEXT: {
// CHECK-NEXT: [Gemm_fc1] "fc1/bias_add" = qmlir.Gemm_fc1 (input0, "fc1.weight", "fc1.bias")
// CHECK-NEXT: [relu1] output0 = Relu ("fc1/bias_add")
// CHECK: <
// CHECK-NEXT: domain: "qmlir",
// CHECK-NEXT: opset_import: ["" : 21]
// CHECK-NEXT: >
// CHECK-NEXT: Gemm_fc1 (input0, "fc1.weight", "fc1.bias") => ("fc1/bias_add")
// CHECK-NEXT: {
// CHECK-NEXT: ["fc1/matmul"] "fc1/matmul" = Gemm <transB: int = 1> (input0, "fc1.weight")
// CHECK-NEXT: ["fc1/bias_add"] "fc1/bias_add" = Add ("fc1/matmul", "fc1.bias")
