// The integer modes in ONNX's operators, which have no arithmetic shift: floor(v / 2^n) is (v - mod(v, 2^n)) / 2^n.
// RUN: qmlir-translate --export-onnx %s | filecheck %s
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
!z = !quant.uniform<i8:f32, 0.75:1>
func.func @main(%x: tensor<2x!x>) -> (tensor<2x!y>, tensor<2x!z>) {
  %0 = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x!x>) -> tensor<2x!y> {origin = "even"}
  %1 = nn.relu %x {requantize = #kernel.requantize<single_round>} : (tensor<2x!x>) -> tensor<2x!z> {origin = "once"}
  func.return %0, %1 : tensor<2x!y>, tensor<2x!z>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{[0-9.]+}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (int8[2] input0) => (int8[2] output0, int8[2] output1)
// CHECK-NEXT: <int32 "output0/c1" =  {0}, int64 "output0/c4" =  {2}, int64 "output0/c8" =  {0}, int64 "output0/c11" =  {1}, int64 "output0/c19" =  {-128}, int64 "output0/c21" =  {127}, int32 "output1/c1" =  {0}, int64 "output1/c4" =  {1431655765}, int64 "output1/c6" =  {2147483648}, int64 "output1/c8" =  {4294967296}, int64 "output1/c12" =  {1}>
// CHECK-NEXT: {
// CHECK-NEXT: ["even/Cast"] "output0/Cast0" = Cast <to: int = 6> (input0)
// CHECK-NEXT: ["even/Max"] "output0/Max2" = Max ("output0/Cast0", "output0/c1")
// CHECK-NEXT: ["even/Cast.1"] "output0/Cast3" = Cast <to: int = 7> ("output0/Max2")
// CHECK-NEXT: ["even/Mod"] "output0/Mod5" = Mod ("output0/Cast3", "output0/c4")
// CHECK-NEXT: ["even/Sub"] "output0/Sub6" = Sub ("output0/Cast3", "output0/Mod5")
// CHECK-NEXT: ["even/Div"] "output0/Div7" = Div ("output0/Sub6", "output0/c4")
// CHECK-NEXT: ["even/Mul"] "output0/Mul9" = Mul ("output0/Mod5", "output0/c4")
// CHECK-NEXT: ["even/Mod.1"] "output0/Mod10" = Mod ("output0/Div7", "output0/c4")
// CHECK-NEXT: ["even/Equal"] "output0/Equal12" = Equal ("output0/Mod10", "output0/c11")
// CHECK-NEXT: ["even/Equal.1"] "output0/Equal13" = Equal ("output0/Mul9", "output0/c4")
// CHECK-NEXT: ["even/And"] "output0/And14" = And ("output0/Equal13", "output0/Equal12")
// CHECK-NEXT: ["even/Greater"] "output0/Greater15" = Greater ("output0/Mul9", "output0/c4")
// CHECK-NEXT: ["even/Or"] "output0/Or16" = Or ("output0/Greater15", "output0/And14")
// CHECK-NEXT: ["even/Cast.2"] "output0/Cast17" = Cast <to: int = 7> ("output0/Or16")
// CHECK-NEXT: ["even/Add"] "output0/Add18" = Add ("output0/Div7", "output0/Cast17")
// CHECK-NEXT: ["even/Max.1"] "output0/Max20" = Max ("output0/Add18", "output0/c19")
// CHECK-NEXT: ["even/Min"] "output0/Min22" = Min ("output0/Max20", "output0/c21")
// CHECK-NEXT: ["even/Cast.3"] output0 = Cast <to: int = 3> ("output0/Min22")
// CHECK-NEXT: ["once/Cast"] "output1/Cast0" = Cast <to: int = 6> (input0)
// CHECK-NEXT: ["once/Max"] "output1/Max2" = Max ("output1/Cast0", "output1/c1")
// CHECK-NEXT: ["once/Cast.1"] "output1/Cast3" = Cast <to: int = 7> ("output1/Max2")
// CHECK-NEXT: ["once/Mul"] "output1/Mul5" = Mul ("output1/Cast3", "output1/c4")
// CHECK-NEXT: ["once/Add"] "output1/Add7" = Add ("output1/Mul5", "output1/c6")
// CHECK-NEXT: ["once/Mod"] "output1/Mod9" = Mod ("output1/Add7", "output1/c8")
// CHECK-NEXT: ["once/Sub"] "output1/Sub10" = Sub ("output1/Add7", "output1/Mod9")
// CHECK-NEXT: ["once/Div"] "output1/Div11" = Div ("output1/Sub10", "output1/c8")
// CHECK-NEXT: ["once/Add.1"] "output1/Add13" = Add ("output1/Div11", "output1/c12")
// CHECK-NEXT: ["once/Cast.2"] output1 = Cast <to: int = 3> ("output1/Add13")
