// Exact sums of 8 bits, their requantization spelled out: product with the ratio of the scales, rounding, zero point,
// limits. A sigmoid of 8 bits is the table that it is.
// RUN: qmlir-translate --export-onnx %s --format integer | filecheck %s
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75:2>
!s = !quant.uniform<u2:f32, 0.25>
!t = !quant.uniform<u2:f32, 0.5:1>
func.func @main(%x: tensor<1x2x!x>, %t: tensor<2x!t>) -> (tensor<1x1x!y>, tensor<2x!s>) {
  %w = nn.constant dense<[[3, -4]]> : tensor<1x2xi8> -> tensor<1x2x!w> {origin = "w"}
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!x>, tensor<1x2x!w>) -> tensor<1x1x!y> {origin = "fc"}
  %1 = nn.sigmoid %t : (tensor<2x!t>) -> tensor<2x!s> {origin = "sigmoid"}
  func.return %0, %1 : tensor<1x1x!y>, tensor<2x!s>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{.*}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (int8[1,2] input0, uint8[2] input1) => (int8[1,1] output0, uint8[2] output1)
// CHECK-NEXT: <uint8[1,2] w =  {131,124}, int32 "output0/c1" =  {128}, uint8 "output0/c5" =  {125}, uint8 "output0/c6" =  {128}, float "output0/c9" =  {0.16666667}, float "output0/c12" =  {130}, float "output0/c14" =  {0}, float "output0/c15" =  {255}, int32 "output0/c19" =  {-128}, uint8[4] "qmlir/table/d04204ad1cc0a920369295fc" =  {2,2,2,3}, uint8[1,2] w>
// CHECK-NEXT: {
// CHECK-NEXT: ["fc/Cast"] "output0/Cast0" = Cast <to: int = 6> (input0)
// CHECK-NEXT: ["fc/Add"] "output0/Add2" = Add ("output0/Cast0", "output0/c1")
// CHECK-NEXT: ["fc/Cast.1"] "output0/Cast3" = Cast <to: int = 2> ("output0/Add2")
// CHECK-NEXT: ["fc/Transpose"] "output0/Transpose4" = Transpose <perm: ints = [1, 0]> (w)
// CHECK-NEXT: ["fc/MatMulInteger"] "output0/MatMulInteger7" = MatMulInteger ("output0/Cast3", "output0/Transpose4", "output0/c5", "output0/c6")
// CHECK-NEXT: ["fc/Cast.2"] "output0/Cast8" = Cast <to: int = 1> ("output0/MatMulInteger7")
// CHECK-NEXT: ["fc/Mul"] "output0/Mul10" = Mul ("output0/Cast8", "output0/c9")
// CHECK-NEXT: ["fc/Round"] "output0/Round11" = Round ("output0/Mul10")
// CHECK-NEXT: ["fc/Add.1"] "output0/Add13" = Add ("output0/Round11", "output0/c12")
// CHECK-NEXT: ["fc/Clip"] "output0/Clip16" = Clip ("output0/Add13", "output0/c14", "output0/c15")
// CHECK-NEXT: ["fc/Cast.3"] "output0/held_0" = Cast <to: int = 2> ("output0/Clip16")
// CHECK-NEXT: ["fc/Cast.4"] "output0/Cast18" = Cast <to: int = 6> ("output0/held_0")
// CHECK-NEXT: ["fc/Add.2"] "output0/Add20" = Add ("output0/Cast18", "output0/c19")
// CHECK-NEXT: ["fc/Cast.5"] output0 = Cast <to: int = 3> ("output0/Add20")
// CHECK-NEXT: ["sigmoid/Cast"] "output1/Cast0" = Cast <to: int = 6> (input1)
// CHECK-NEXT: ["sigmoid/Gather"] output1 = Gather ("qmlir/table/d04204ad1cc0a920369295fc", "output1/Cast0")
