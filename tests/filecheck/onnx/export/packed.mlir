// Weights of 4 bits with a scale for each block of 2 are packed, two in a byte; from operator set 25 on those of 2 bits too.
// RUN: qmlir-translate --export-onnx %s | filecheck %s
// RUN: qmlir-translate --export-onnx %s --opset 25 | filecheck %s --check-prefix=NEWER
!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i4:f32:{1:2}, {{0.25, 0.5}}>
!v = !quant.uniform<i2:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x1x!y> {
  %w = nn.constant dense<[[3, -4, 7, -8], [1, 2, 3, 4]]> : tensor<2x4xi4> -> tensor<2x4x!w> {origin = "w"}
  %v = nn.constant dense<[[1, -2]]> : tensor<1x2xi2> -> tensor<1x2x!v> {origin = "v"}
  %0 = nn.fully_connected %x, %w : (tensor<1x4x!x>, tensor<2x4x!w>) -> tensor<1x2x!y> {origin = "fc"}
  %1 = nn.matmul %0, %v {transpose_b = true} : (tensor<1x2x!y>, tensor<1x2x!v>) -> tensor<1x1x!y> {origin = "mm"}
  func.return %1 : tensor<1x1x!y>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{.*}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (int8[1,4] input0) => (int8[1,1] output0)
// CHECK-NEXT: <int4[2,4] w = ..., int4[1,2] v = ..., float "fc/c0" =  {0.5}, int8 "fc/c1" =  {0}, float[2,2] "fc/c3" =  {0.25,0.5,0.25,0.5}, int4[2,2] "fc/c4" = ..., int64[2] "fc/c6" =  {2,4}, float "fc/c9" =  {0.75}, float "output0/c4" =  {0.25}, float "output0/c7" =  {-128}, float "output0/c8" =  {127}, int4[2,4] w, int4[1,2] v, int8[1,2] fc>
// CHECK-NEXT: {
// CHECK-NEXT: ["fc/DequantizeLinear"] "fc/DequantizeLinear2" = DequantizeLinear (input0, "fc/c0", "fc/c1")
// CHECK-NEXT: ["fc/DequantizeLinear.1"] "fc/DequantizeLinear5" = DequantizeLinear <axis: int = 1, block_size: int = 2> (w, "fc/c3", "fc/c4")
// CHECK-NEXT: ["fc/Reshape"] "fc/Reshape7" = Reshape ("fc/DequantizeLinear5", "fc/c6")
// CHECK-NEXT: ["fc/Gemm"] "fc/real8_0" = Gemm <transB: int = 1> ("fc/DequantizeLinear2", "fc/Reshape7")
// CHECK-NEXT: ["fc/QuantizeLinear"] fc = QuantizeLinear ("fc/real8_0", "fc/c9", "fc/c1")
// CHECK-NEXT: ["mm/Cast"] "output0/Cast0" = Cast <to: int = 3> (v)
// CHECK-NEXT: ["mm/Transpose"] "output0/Transpose1" = Transpose <perm: ints = [1, 0]> ("output0/Cast0")
// CHECK-NEXT: ["mm/MatMulInteger"] "output0/MatMulInteger2" = MatMulInteger (fc, "output0/Transpose1")
// CHECK-NEXT: ["mm/Cast.1"] "output0/Cast3" = Cast <to: int = 1> ("output0/MatMulInteger2")
// CHECK-NEXT: ["mm/Mul"] "output0/Mul5" = Mul ("output0/Cast3", "output0/c4")
// CHECK-NEXT: ["mm/Round"] "output0/Round6" = Round ("output0/Mul5")
// CHECK-NEXT: ["mm/Clip"] "output0/Clip9" = Clip ("output0/Round6", "output0/c7", "output0/c8")
// CHECK-NEXT: ["mm/Cast.2"] output0 = Cast <to: int = 3> ("output0/Clip9")

// NEWER: <
// NEWER-NEXT: ir_version: 13,
// NEWER-NEXT: opset_import: ["" : 25],
// NEWER-NEXT: producer_name: "qmlir",
// NEWER-NEXT: producer_version: "{{.*}}",
// NEWER-NEXT: metadata_props: ["qmlir.producer": ""]
// NEWER-NEXT: >
// NEWER-NEXT: main (int8[1,4] input0) => (int8[1,1] output0)
// NEWER-NEXT: <int4[2,4] w = ..., int2[1,2] v = ..., float "fc/c0" =  {0.5}, int8 "fc/c1" =  {0}, float[2,2] "fc/c3" =  {0.25,0.5,0.25,0.5}, int4[2,2] "fc/c4" = ..., int64[2] "fc/c6" =  {2,4}, float "fc/c9" =  {0.75}, float "output0/c4" =  {0.25}, float "output0/c7" =  {-128}, float "output0/c8" =  {127}, int4[2,4] w, int2[1,2] v, int8[1,2] fc>
// NEWER-NEXT: {
// NEWER-NEXT: ["fc/DequantizeLinear"] "fc/DequantizeLinear2" = DequantizeLinear (input0, "fc/c0", "fc/c1")
// NEWER-NEXT: ["fc/DequantizeLinear.1"] "fc/DequantizeLinear5" = DequantizeLinear <axis: int = 1, block_size: int = 2> (w, "fc/c3", "fc/c4")
// NEWER-NEXT: ["fc/Reshape"] "fc/Reshape7" = Reshape ("fc/DequantizeLinear5", "fc/c6")
// NEWER-NEXT: ["fc/Gemm"] "fc/real8_0" = Gemm <transB: int = 1> ("fc/DequantizeLinear2", "fc/Reshape7")
// NEWER-NEXT: ["fc/QuantizeLinear"] fc = QuantizeLinear ("fc/real8_0", "fc/c9", "fc/c1")
// NEWER-NEXT: ["mm/Cast"] "output0/Cast0" = Cast <to: int = 3> (v)
// NEWER-NEXT: ["mm/Transpose"] "output0/Transpose1" = Transpose <perm: ints = [1, 0]> ("output0/Cast0")
// NEWER-NEXT: ["mm/MatMulInteger"] "output0/MatMulInteger2" = MatMulInteger (fc, "output0/Transpose1")
// NEWER-NEXT: ["mm/Cast.1"] "output0/Cast3" = Cast <to: int = 1> ("output0/MatMulInteger2")
// NEWER-NEXT: ["mm/Mul"] "output0/Mul5" = Mul ("output0/Cast3", "output0/c4")
// NEWER-NEXT: ["mm/Round"] "output0/Round6" = Round ("output0/Mul5")
// NEWER-NEXT: ["mm/Clip"] "output0/Clip9" = Clip ("output0/Round6", "output0/c7", "output0/c8")
// NEWER-NEXT: ["mm/Cast.2"] output0 = Cast <to: int = 3> ("output0/Clip9")
