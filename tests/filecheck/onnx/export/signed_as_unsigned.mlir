// Signed integers of 8 bits that are multiplied are held unsigned, 128 higher; not what comes in and goes out, and not
// the factor on the right of one product, unless every session is to give the same. `--signed` leaves them as they are.
// RUN: qmlir-translate --export-onnx %s --format qoperator | filecheck %s
// RUN: qmlir-translate --export-onnx %s --format qoperator --exact | filecheck %s --check-prefix=EXACT
// RUN: qmlir-translate --export-onnx %s --format qoperator --signed | filecheck %s --check-prefix=SIGNED
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.75:4>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %w = nn.constant dense<[[3, -4], [100, 7]]> : tensor<2x2xi8> -> tensor<2x2x!w> {origin = "w"}
  %v = nn.constant dense<[[1, 2], [-3, -127]]> : tensor<2x2xi8> -> tensor<2x2x!w> {origin = "v"}
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y> {origin = "fc1"}
  %1 = nn.fully_connected %0, %v : (tensor<1x2x!y>, tensor<2x2x!w>) -> tensor<1x2x!x> {origin = "fc2"}
  %2 = nn.fully_connected %1, %v : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y> {origin = "fc3"}
  func.return %2 : tensor<1x2x!y>
}

// CHECK: <
// CHECK-NEXT: ir_version: 10,
// CHECK-NEXT: opset_import: ["" : 21, "com.microsoft" : 1],
// CHECK-NEXT: producer_name: "qmlir",
// CHECK-NEXT: producer_version: "{{.*}}",
// CHECK-NEXT: metadata_props: ["qmlir.producer": ""]
// CHECK-NEXT: >
// CHECK-NEXT: main (int8[1,2] input0) => (int8[1,2] output0)
// CHECK-NEXT: <uint8[2,2] w =  {131,124,228,135}, uint8[2,2] v =  {129,130,125,1}, int32 "fc1/c1" =  {128}, float "fc1/c4" =  {0.5}, uint8 "fc1/c5" =  {125}, float "fc1/c6" =  {0.25}, uint8 "fc1/c7" =  {128}, float "fc1/c8" =  {0.75}, uint8 "fc1/c9" =  {132}, float "fc2/c0" =  {0.75}, uint8 "fc2/c1" =  {132}, float "fc2/c2" =  {0.25}, uint8 "fc2/c3" =  {128}, float "fc2/c4" =  {0.5}, uint8 "fc2/c5" =  {125}, float "output0/c0" =  {0.5}, uint8 "output0/c1" =  {125}, float "output0/c2" =  {0.25}, uint8 "output0/c3" =  {128}, float "output0/c4" =  {0.75}, uint8 "output0/c5" =  {132}, int32 "output0/c8" =  {-128}, uint8[2,2] w, uint8[2,2] v, uint8[1,2] fc1, uint8[1,2] fc2>
// CHECK-NEXT: {
// CHECK-NEXT: ["fc1/Cast"] "fc1/Cast0" = Cast <to: int = 6> (input0)
// CHECK-NEXT: ["fc1/Add"] "fc1/Add2" = Add ("fc1/Cast0", "fc1/c1")
// CHECK-NEXT: ["fc1/Cast.1"] "fc1/Cast3" = Cast <to: int = 2> ("fc1/Add2")
// CHECK-NEXT: ["fc1/QGemm"] fc1 = com.microsoft.QGemm <transB: int = 1> ("fc1/Cast3", "fc1/c4", "fc1/c5", w, "fc1/c6", "fc1/c7", "", "fc1/c8", "fc1/c9")
// CHECK-NEXT: [fc2] fc2 = com.microsoft.QGemm <transB: int = 1> (fc1, "fc2/c0", "fc2/c1", v, "fc2/c2", "fc2/c3", "", "fc2/c4", "fc2/c5")
// CHECK-NEXT: ["fc3/QGemm"] "output0/held_0" = com.microsoft.QGemm <transB: int = 1> (fc2, "output0/c0", "output0/c1", v, "output0/c2", "output0/c3", "", "output0/c4", "output0/c5")
// CHECK-NEXT: ["fc3/Cast"] "output0/Cast7" = Cast <to: int = 6> ("output0/held_0")
// CHECK-NEXT: ["fc3/Add"] "output0/Add9" = Add ("output0/Cast7", "output0/c8")
// CHECK-NEXT: ["fc3/Cast.1"] output0 = Cast <to: int = 3> ("output0/Add9")

// EXACT: <
// EXACT-NEXT: ir_version: 10,
// EXACT-NEXT: opset_import: ["" : 21, "com.microsoft" : 1],
// EXACT-NEXT: producer_name: "qmlir",
// EXACT-NEXT: producer_version: "{{.*}}",
// EXACT-NEXT: metadata_props: ["qmlir.producer": ""]
// EXACT-NEXT: >
// EXACT-NEXT: main (int8[1,2] input0) => (int8[1,2] output0)
// EXACT-NEXT: <uint8[2,2] w =  {131,124,228,135}, uint8[2,2] v =  {129,130,125,1}, int32 "fc1/c1" =  {128}, float "fc1/c4" =  {0.5}, uint8 "fc1/c5" =  {125}, float "fc1/c6" =  {0.25}, uint8 "fc1/c7" =  {128}, float "fc1/c8" =  {0.75}, uint8 "fc1/c9" =  {132}, float "fc2/c0" =  {0.75}, uint8 "fc2/c1" =  {132}, float "fc2/c2" =  {0.25}, uint8 "fc2/c3" =  {128}, float "fc2/c4" =  {0.5}, uint8 "fc2/c5" =  {125}, float "output0/c0" =  {0.5}, uint8 "output0/c1" =  {125}, float "output0/c2" =  {0.25}, uint8 "output0/c3" =  {128}, float "output0/c4" =  {0.75}, uint8 "output0/c5" =  {132}, int32 "output0/c8" =  {-128}, uint8[2,2] w, uint8[2,2] v, uint8[1,2] fc1, uint8[1,2] fc2>
// EXACT-NEXT: {
// EXACT-NEXT: ["fc1/Cast"] "fc1/Cast0" = Cast <to: int = 6> (input0)
// EXACT-NEXT: ["fc1/Add"] "fc1/Add2" = Add ("fc1/Cast0", "fc1/c1")
// EXACT-NEXT: ["fc1/Cast.1"] "fc1/Cast3" = Cast <to: int = 2> ("fc1/Add2")
// EXACT-NEXT: ["fc1/QGemm"] fc1 = com.microsoft.QGemm <transB: int = 1> ("fc1/Cast3", "fc1/c4", "fc1/c5", w, "fc1/c6", "fc1/c7", "", "fc1/c8", "fc1/c9")
// EXACT-NEXT: [fc2] fc2 = com.microsoft.QGemm <transB: int = 1> (fc1, "fc2/c0", "fc2/c1", v, "fc2/c2", "fc2/c3", "", "fc2/c4", "fc2/c5")
// EXACT-NEXT: ["fc3/QGemm"] "output0/held_0" = com.microsoft.QGemm <transB: int = 1> (fc2, "output0/c0", "output0/c1", v, "output0/c2", "output0/c3", "", "output0/c4", "output0/c5")
// EXACT-NEXT: ["fc3/Cast"] "output0/Cast7" = Cast <to: int = 6> ("output0/held_0")
// EXACT-NEXT: ["fc3/Add"] "output0/Add9" = Add ("output0/Cast7", "output0/c8")
// EXACT-NEXT: ["fc3/Cast.1"] output0 = Cast <to: int = 3> ("output0/Add9")

// SIGNED: <
// SIGNED-NEXT: ir_version: 10,
// SIGNED-NEXT: opset_import: ["" : 21, "com.microsoft" : 1],
// SIGNED-NEXT: producer_name: "qmlir",
// SIGNED-NEXT: producer_version: "{{.*}}",
// SIGNED-NEXT: metadata_props: ["qmlir.producer": ""]
// SIGNED-NEXT: >
// SIGNED-NEXT: main (int8[1,2] input0) => (int8[1,2] output0)
// SIGNED-NEXT: <int8[2,2] w =  {3,-4,100,7}, int8[2,2] v =  {1,2,-3,-127}, float "fc1/c0" =  {0.5}, int8 "fc1/c1" =  {-3}, float "fc1/c2" =  {0.25}, int8 "fc1/c3" =  {0}, float "fc1/c4" =  {0.75}, int8 "fc1/c5" =  {4}, float "fc2/c0" =  {0.75}, int8 "fc2/c1" =  {4}, float "fc2/c2" =  {0.25}, int8 "fc2/c3" =  {0}, float "fc2/c4" =  {0.5}, int8 "fc2/c5" =  {-3}, float "output0/c0" =  {0.5}, int8 "output0/c1" =  {-3}, float "output0/c2" =  {0.25}, int8 "output0/c3" =  {0}, float "output0/c4" =  {0.75}, int8 "output0/c5" =  {4}, int8[2,2] w, int8[2,2] v, int8[1,2] fc1, int8[1,2] fc2>
// SIGNED-NEXT: {
// SIGNED-NEXT: [fc1] fc1 = com.microsoft.QGemm <transB: int = 1> (input0, "fc1/c0", "fc1/c1", w, "fc1/c2", "fc1/c3", "", "fc1/c4", "fc1/c5")
// SIGNED-NEXT: [fc2] fc2 = com.microsoft.QGemm <transB: int = 1> (fc1, "fc2/c0", "fc2/c1", v, "fc2/c2", "fc2/c3", "", "fc2/c4", "fc2/c5")
// SIGNED-NEXT: [fc3] output0 = com.microsoft.QGemm <transB: int = 1> (fc2, "output0/c0", "output0/c1", v, "output0/c2", "output0/c3", "", "output0/c4", "output0/c5")
