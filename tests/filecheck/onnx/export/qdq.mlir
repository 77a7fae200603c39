// Float operators between casts: a convolution with a scale for each channel, whose storage range is narrower than its
// container (a Clip keeps it), and integers that are moved between casts that undo each other.
// RUN: qmlir-translate --export-onnx %s | filecheck %s
!x = !quant.uniform<u8:f32, 0.5:128>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.25, 0.125}>
!b = !quant.uniform<i32:f32:0, {0.125, 0.0625}>
!y = !quant.uniform<i8<-127:127>:f32, 0.75:-3>
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
// CHECK-NEXT: <float "in/c0" =  {0.5}, uint8 "in/c1" =  {128}, uint8[2,1,1,1] w =  {131,124}, int32[2] b =  {10,-10}, float "conv/c0" =  {0.5}, uint8 "conv/c1" =  {128}, float[2] "conv/c3" =  {0.25,0.125}, uint8[2] "conv/c4" =  {128,128}, float[2] "conv/c6" =  {0.125,0.0625}, float "conv/c9" =  {0.75}, uint8 "conv/c10" =  {125}, uint8 "conv/c12" =  {1}, uint8 "conv/c13" =  {255}, float "flat/c0" =  {0.75}, uint8 "flat/c1" =  {125}, int64[2] "flat/c3" =  {1,8}, float "output0/c0" =  {0.75}, uint8 "output0/c1" =  {125}, uint8[1,1,2,2] in, uint8[2,1,1,1] w, int32[2] b, uint8[1,2,2,2] conv, uint8[1,8] flat>
// CHECK-NEXT: {
// CHECK-NEXT: [in] in = QuantizeLinear (input0, "in/c0", "in/c1")
// CHECK-NEXT: ["conv/DequantizeLinear"] "conv/DequantizeLinear2" = DequantizeLinear (in, "conv/c0", "conv/c1")
// CHECK-NEXT: ["conv/DequantizeLinear.1"] "conv/DequantizeLinear5" = DequantizeLinear <axis: int = 0> (w, "conv/c3", "conv/c4")
// CHECK-NEXT: ["conv/DequantizeLinear.2"] "conv/DequantizeLinear7" = DequantizeLinear <axis: int = 0> (b, "conv/c6")
// CHECK-NEXT: ["conv/Conv"] "conv/real8_0" = Conv <group: int = 1> ("conv/DequantizeLinear2", "conv/DequantizeLinear5", "conv/DequantizeLinear7")
// CHECK-NEXT: ["conv/QuantizeLinear"] "conv/QuantizeLinear11" = QuantizeLinear ("conv/real8_0", "conv/c9", "conv/c10")
// CHECK-NEXT: ["conv/Clip"] conv = Clip ("conv/QuantizeLinear11", "conv/c12", "conv/c13")
// CHECK-NEXT: ["flat/DequantizeLinear"] "flat/DequantizeLinear2" = DequantizeLinear (conv, "flat/c0", "flat/c1")
// CHECK-NEXT: ["flat/Reshape"] "flat/moved3_0" = Reshape ("flat/DequantizeLinear2", "flat/c3")
// CHECK-NEXT: ["flat/QuantizeLinear"] flat = QuantizeLinear ("flat/moved3_0", "flat/c0", "flat/c1")
// CHECK-NEXT: [out] output0 = DequantizeLinear (flat, "output0/c0", "output0/c1")
