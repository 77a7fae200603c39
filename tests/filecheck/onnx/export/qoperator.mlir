// QLinear operators where they compute the same integers; what is moved is moved as the integers that it is.
// RUN: qmlir-translate --export-onnx %s --format qoperator | filecheck %s
!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.125}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.0625}>
!y = !quant.uniform<u8:f32, 0.75:3>
func.func @main(%x: tensor<1x1x2x2xf32>) -> tensor<1x8xf32> {
  %0 = quant.qcast %x {origin = "in"} : tensor<1x1x2x2xf32> to tensor<1x1x2x2x!x>
  %w = nn.constant dense<[[[[3]]], [[[-4]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!w> {origin = "w"}
  %b = nn.constant dense<[10, -10]> : tensor<2xi32> -> tensor<2x!b> {origin = "b"}
  %1 = nn.conv %0, %w, %b : (tensor<1x1x2x2x!x>, tensor<2x1x1x1x!w>, tensor<2x!b>) -> tensor<1x2x2x2x!y> {origin = "conv"}
  %2 = nn.reshape %1 : (tensor<1x2x2x2x!y>) -> tensor<1x8x!y> {origin = "flat"}
  %3 = quant.dcast %2 {origin = "out"} : tensor<1x8x!y> to tensor<1x8xf32>
  func.return %3 : tensor<1x8xf32>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{.*}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (float[1,1,2,2] input0) => (float[1,8] output0)
// CHECK-NEXT: <float "in/c0" =  {0.5}, uint8 "in/c1" =  {128}, uint8[2,1,1,1] w =  {131,124}, int32[2] b =  {10,-10}, float "conv/c0" =  {0.5}, uint8 "conv/c1" =  {128}, float[2] "conv/c2" =  {0.25,0.125}, uint8[2] "conv/c3" =  {128,128}, float "conv/c4" =  {0.75}, uint8 "conv/c5" =  {3}, int64[2] "flat/c0" =  {1,8}, float "output0/c0" =  {0.75}, uint8 "output0/c1" =  {3}, uint8[1,1,2,2] in, uint8[2,1,1,1] w, int32[2] b, uint8[1,2,2,2] conv, uint8[1,8] flat>
// CHECK-NEXT: {
// CHECK-NEXT: [in] in = QuantizeLinear (input0, "in/c0", "in/c1")
// CHECK-NEXT: [conv] conv = QLinearConv <group: int = 1> (in, "conv/c0", "conv/c1", w, "conv/c2", "conv/c3", "conv/c4", "conv/c5", b)
// CHECK-NEXT: [flat] flat = Reshape (conv, "flat/c0")
// CHECK-NEXT: [out] output0 = DequantizeLinear (flat, "output0/c0", "output0/c1")
