// RUN: qmlir-opt %s -p 'nn-quantize-dynamically{scope=row},canonicalize,cse,dce' | filecheck %s
// RUN: qmlir-opt %s -p 'nn-quantize-dynamically{scope=tensor scheme=symmetric},canonicalize,cse,dce' | filecheck %s --check-prefix=SYMMETRIC

!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
!v = !quant.uniform<i8:f32:1, {0.5:1, 0.25:-2}>
!k = !quant.uniform<i8:f32:0, {0.5, 2.0}>

// A row of data has its own scale and zero point; the bias is added in f32. Both products read the same integers.
func.func @rows(%x: tensor<4x3xf32>, %b: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!w> {origin = "w"}
  %1 = quant.dcast %0 {origin = "w"} : tensor<2x3x!w> to tensor<2x3xf32>
  %2 = nn.fully_connected %x, %1, %b : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "fc", tensor = "y"}
  %3 = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!v> {origin = "v"}
  %4 = quant.dcast %3 {origin = "v"} : tensor<3x2x!v> to tensor<3x2xf32>
  %5 = nn.matmul %x, %4 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> {origin = "mm", role = "matmul"}
  func.return %2, %5 : tensor<4x2xf32>, tensor<4x2xf32>
}

// Padding has the zero point of the data. One scale for all, as the images of a batch.
func.func @conv(%x: tensor<2x3x5x5xf32>, %b: tensor<2xf32>) -> tensor<2x2x3x3xf32> {
  %0 = nn.constant dense<2> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!k> {origin = "k"}
  %1 = quant.dcast %0 {origin = "k"} : tensor<2x3x3x3x!k> to tensor<2x3x3x3xf32>
  %2 = nn.conv %x, %1, %b {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<2x3x5x5xf32>, tensor<2x3x3x3xf32>, tensor<2xf32>) -> tensor<2x2x3x3xf32> {origin = "conv"}
  func.return %2 : tensor<2x2x3x3xf32>
}

// Products of weights in float, or of two values at run time, stay; so does what a recipe leaves in float.
func.func @others(%x: tensor<4x3xf32>, %y: tensor<3x4xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = nn.matmul %x, %y : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  %1 = nn.constant dense<1.0> : tensor<3x2xf32>
  %2 = nn.matmul %x, %1 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %3 = nn.constant dense<1> : tensor<3x2xi8> -> tensor<3x2x!quant.uniform<i8:f32, 0.5>>
  %4 = quant.dcast %3 : tensor<3x2x!quant.uniform<i8:f32, 0.5>> to tensor<3x2xf32>
  %5 = nn.matmul %x, %4 : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> {nn.keep_float}
  func.return %0, %2, %5 : tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}

// A whole layer has one range for the data of each step, in u8.
func.func @lstm(%x: tensor<?x1x3xf32>) -> tensor<?x1x1x2xf32> {
  %0 = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!quant.uniform<i8:f32, 0.5>>
  %1 = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!quant.uniform<i8:f32, 0.5>>
  %2 = quant.dcast %0 : tensor<1x8x3x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x3xf32>
  %3 = quant.dcast %1 : tensor<1x8x2x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x2xf32>
  %4, %5, %6 = nn.lstm %x, %2, %3 {hidden_size = 2} : (tensor<?x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return %4 : tensor<?x1x1x2xf32>
}

// SYMMETRIC: !q0 = !quant.uniform<i8:f32, 1.000000e+00>
// SYMMETRIC-NEXT: !q1 = !quant.uniform<i32:f32, 1.000000e+00>
// SYMMETRIC-NEXT: !q2 = !quant.uniform<i8:f32:1, {1.000000e+00:1, 1.000000e+00:-2}>
// SYMMETRIC-NEXT: !q3 = !quant.uniform<i8:f32, 5.000000e-01>
// SYMMETRIC-LABEL: @rows(
// SYMMETRIC-SAME: [[V0:%.+]]: tensor<4x3xf32>, [[V1:%.+]]: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
// SYMMETRIC-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!q0> {origin = "w"}
// SYMMETRIC-NEXT: [[V3:%.+]], [[V4:%.+]], [[V5:%.+]] = nn.dynamic_quantize [[V0]] {storage = "i8", scheme = "symmetric"} : (tensor<4x3xf32>) -> (tensor<4x3xi8>, tensor<f32>, tensor<i8>) {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// SYMMETRIC-NEXT: [[V6:%.+]] = quant.scast [[V3]] {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]} : tensor<4x3xi8> to tensor<4x3x!q0>
// SYMMETRIC-NEXT: [[V7:%.+]] = nn.fully_connected [[V6]], [[V2]] : (tensor<4x3x!q0>, tensor<2x3x!q0>) -> tensor<4x2x!q1> {origin = "fc", role = "dynamic"}
// SYMMETRIC-NEXT: [[V8:%.+]] = quant.scast [[V7]] {origin = "fc", role = "dynamic"} : tensor<4x2x!q1> to tensor<4x2xi32>
// SYMMETRIC-NEXT: [[V9:%.+]] = nn.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// SYMMETRIC-NEXT: [[V10:%.+]] = nn.mul [[V4]], [[V9]] : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// SYMMETRIC-NEXT: [[V11:%.+]] = nn.cast [[V8]] : (tensor<4x2xi32>) -> tensor<4x2xf32> {origin = "fc", role = "dynamic"}
// SYMMETRIC-NEXT: [[V12:%.+]] = nn.mul [[V11]], [[V10]] : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "fc", role = "dynamic"}
// SYMMETRIC-NEXT: [[V13:%.+]] = nn.add [[V12]], [[V1]] : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "fc", tensor = "y"}
// SYMMETRIC-NEXT: [[V14:%.+]] = nn.constant dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!q2> {origin = "v"}
// SYMMETRIC-NEXT: [[V15:%.+]] = nn.matmul [[V6]], [[V14]] : (tensor<4x3x!q0>, tensor<3x2x!q2>) -> tensor<4x2x!q1> {origin = "mm", role = "matmul/dynamic"}
// SYMMETRIC-NEXT: [[V16:%.+]] = quant.scast [[V15]] {origin = "mm", role = "matmul/dynamic"} : tensor<4x2x!q1> to tensor<4x2xi32>
// SYMMETRIC-NEXT: [[V17:%.+]] = nn.cast [[V16]] : (tensor<4x2xi32>) -> tensor<4x2xf32> {origin = "mm", role = "matmul/dynamic"}
// SYMMETRIC-NEXT: [[V18:%.+]] = nn.mul [[V17]], [[V10]] : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "mm", role = "matmul"}
// SYMMETRIC-NEXT: func.return [[V13]], [[V18]] : tensor<4x2xf32>, tensor<4x2xf32>
// SYMMETRIC-LABEL: @conv(
// SYMMETRIC-SAME: [[V0:%.+]]: tensor<2x3x5x5xf32>, [[V1:%.+]]: tensor<2xf32>) -> tensor<2x2x3x3xf32>
// SYMMETRIC-NEXT: [[V2:%.+]] = nn.constant dense<2> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!q0> {origin = "k"}
// SYMMETRIC-NEXT: [[V3:%.+]], [[V4:%.+]], [[V5:%.+]] = nn.dynamic_quantize [[V0]] {storage = "i8", scheme = "symmetric"} : (tensor<2x3x5x5xf32>) -> (tensor<2x3x5x5xi8>, tensor<f32>, tensor<i8>) {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V6:%.+]] = quant.scast [[V3]] {origin = "conv", role = "dynamic"} : tensor<2x3x5x5xi8> to tensor<2x3x5x5x!q0>
// SYMMETRIC-NEXT: [[V7:%.+]] = nn.conv [[V6]], [[V2]] {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<2x3x5x5x!q0>, tensor<2x3x3x3x!q0>) -> tensor<2x2x3x3x!q1> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V8:%.+]] = quant.scast [[V7]] {origin = "conv", role = "dynamic"} : tensor<2x2x3x3x!q1> to tensor<2x2x3x3xi32>
// SYMMETRIC-NEXT: [[V9:%.+]] = nn.reshape [[V1]] : (tensor<2xf32>) -> tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V10:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}5.000000e-01]], {{\[\[}}2.000000e+00]]]]> : tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V11:%.+]] = nn.mul [[V4]], [[V10]] : (tensor<f32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V12:%.+]] = nn.cast [[V8]] : (tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xf32> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V13:%.+]] = nn.mul [[V12]], [[V11]] : (tensor<2x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<2x2x3x3xf32> {origin = "conv", role = "dynamic"}
// SYMMETRIC-NEXT: [[V14:%.+]] = nn.add [[V13]], [[V9]] : (tensor<2x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<2x2x3x3xf32> {origin = "conv"}
// SYMMETRIC-NEXT: func.return [[V14]] : tensor<2x2x3x3xf32>
// SYMMETRIC-LABEL: @others(
// SYMMETRIC-SAME: [[V0:%.+]]: tensor<4x3xf32>, [[V1:%.+]]: tensor<3x4xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
// SYMMETRIC-NEXT: [[V2:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// SYMMETRIC-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+00> : tensor<3x2xf32>
// SYMMETRIC-NEXT: [[V4:%.+]] = nn.matmul [[V0]], [[V3]] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// SYMMETRIC-NEXT: [[V5:%.+]] = nn.constant dense<1> : tensor<3x2xi8> -> tensor<3x2x!q3>
// SYMMETRIC-NEXT: [[V6:%.+]] = quant.dcast [[V5]] : tensor<3x2x!q3> to tensor<3x2xf32>
// SYMMETRIC-NEXT: [[V7:%.+]] = nn.matmul [[V0]], [[V6]] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> {nn.keep_float}
// SYMMETRIC-NEXT: func.return [[V2]], [[V4]], [[V7]] : tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>
// SYMMETRIC-LABEL: @lstm(
// SYMMETRIC-SAME: [[V0:%.+]]: tensor<?x1x3xf32>) -> tensor<?x1x1x2xf32>
// SYMMETRIC-NEXT: [[V1:%.+]] = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!q3>
// SYMMETRIC-NEXT: [[V2:%.+]] = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!q3>
// SYMMETRIC-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<1x8x3x!q3> to tensor<1x8x3xf32>
// SYMMETRIC-NEXT: [[V4:%.+]] = quant.dcast [[V2]] : tensor<1x8x2x!q3> to tensor<1x8x2xf32>
// SYMMETRIC-NEXT: [[V5:%.+]], [[V6:%.+]], [[V7:%.+]] = nn.lstm [[V0]], [[V3]], [[V4]] {hidden_size = 2} : (tensor<?x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
// SYMMETRIC-NEXT: func.return [[V5]] : tensor<?x1x1x2xf32>

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.000000e+00>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32:1, {1.000000e+00:1, 1.000000e+00:-2}>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-LABEL: @rows(
// CHECK-SAME: [[V0:%.+]]: tensor<4x3xf32>, [[V1:%.+]]: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8> -> tensor<2x3x!q0> {origin = "w"}
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]], [[V5:%.+]] = nn.dynamic_quantize [[V0]] {axes = [-1]} : (tensor<4x3xf32>) -> (tensor<4x3xui8>, tensor<4x1xf32>, tensor<4x1xui8>) {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// CHECK-NEXT: [[V6:%.+]] = nn.cast [[V3]] : (tensor<4x3xui8>) -> tensor<4x3xi8> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// CHECK-NEXT: [[V7:%.+]] = quant.scast [[V6]] {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]} : tensor<4x3xi8> to tensor<4x3x!q1>
// CHECK-NEXT: [[V8:%.+]] = nn.fully_connected [[V7]], [[V2]] : (tensor<4x3x!q1>, tensor<2x3x!q0>) -> tensor<4x2x!q2> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V9:%.+]] = quant.scast [[V8]] {origin = "fc", role = "dynamic"} : tensor<4x2x!q2> to tensor<4x2xi32>
// CHECK-NEXT: [[V10:%.+]] = nn.cast [[V5]] : (tensor<4x1xui8>) -> tensor<4x1xi32> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// CHECK-NEXT: [[V11:%.+]] = nn.constant dense<{{\[\[}}6, 15]]> : tensor<1x2xi32> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V12:%.+]] = nn.mul [[V10]], [[V11]] : (tensor<4x1xi32>, tensor<1x2xi32>) -> tensor<4x2xi32> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V13:%.+]] = nn.sub [[V9]], [[V12]] : tensor<4x2xi32> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// CHECK-NEXT: [[V15:%.+]] = nn.mul [[V4]], [[V14]] : (tensor<4x1xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = ["fc", "mm"], role = ["dynamic", "matmul/dynamic"]}
// CHECK-NEXT: [[V16:%.+]] = nn.cast [[V13]] : (tensor<4x2xi32>) -> tensor<4x2xf32> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V16]], [[V15]] : tensor<4x2xf32> {origin = "fc", role = "dynamic"}
// CHECK-NEXT: [[V18:%.+]] = nn.add [[V17]], [[V1]] : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32> {origin = "fc", tensor = "y"}
// CHECK-NEXT: [[V19:%.+]] = nn.constant dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!q3> {origin = "v"}
// CHECK-NEXT: [[V20:%.+]] = nn.matmul [[V7]], [[V19]] : (tensor<4x3x!q1>, tensor<3x2x!q3>) -> tensor<4x2x!q2> {origin = "mm", role = "matmul/dynamic"}
// CHECK-NEXT: [[V21:%.+]] = quant.scast [[V20]] {origin = "mm", role = "matmul/dynamic"} : tensor<4x2x!q2> to tensor<4x2xi32>
// CHECK-NEXT: [[V22:%.+]] = nn.constant dense<{{\[\[}}6, 18]]> : tensor<1x2xi32> {origin = "mm", role = "matmul/dynamic"}
// CHECK-NEXT: [[V23:%.+]] = nn.mul [[V10]], [[V22]] : (tensor<4x1xi32>, tensor<1x2xi32>) -> tensor<4x2xi32> {origin = "mm", role = "matmul/dynamic"}
// CHECK-NEXT: [[V24:%.+]] = nn.sub [[V21]], [[V23]] : tensor<4x2xi32> {origin = "mm", role = "matmul/dynamic"}
// CHECK-NEXT: [[V25:%.+]] = nn.cast [[V24]] : (tensor<4x2xi32>) -> tensor<4x2xf32> {origin = "mm", role = "matmul/dynamic"}
// CHECK-NEXT: [[V26:%.+]] = nn.mul [[V25]], [[V15]] : tensor<4x2xf32> {origin = "mm", role = "matmul"}
// CHECK-NEXT: func.return [[V18]], [[V26]] : tensor<4x2xf32>, tensor<4x2xf32>
// CHECK-LABEL: @conv(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x5x5xf32>, [[V1:%.+]]: tensor<2xf32>) -> tensor<2x2x3x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<2> : tensor<2x3x3x3xi8> -> tensor<2x3x3x3x!q0> {origin = "k"}
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]], [[V5:%.+]] = nn.dynamic_quantize [[V0]] : (tensor<2x3x5x5xf32>) -> (tensor<2x3x5x5xui8>, tensor<f32>, tensor<ui8>) {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V6:%.+]] = nn.pad [[V3]], [[V5]] {pads = [0, 0, 1, 1, 0, 0, 1, 1]} : (tensor<2x3x5x5xui8>, tensor<ui8>) -> tensor<2x3x7x7xui8> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V7:%.+]] = nn.cast [[V6]] : (tensor<2x3x7x7xui8>) -> tensor<2x3x7x7xi8> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V8:%.+]] = quant.scast [[V7]] {origin = "conv", role = "dynamic"} : tensor<2x3x7x7xi8> to tensor<2x3x7x7x!q1>
// CHECK-NEXT: [[V9:%.+]] = nn.conv [[V8]], [[V2]] {strides = [2, 2]} : (tensor<2x3x7x7x!q1>, tensor<2x3x3x3x!q0>) -> tensor<2x2x3x3x!q2> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V10:%.+]] = quant.scast [[V9]] {origin = "conv", role = "dynamic"} : tensor<2x2x3x3x!q2> to tensor<2x2x3x3xi32>
// CHECK-NEXT: [[V11:%.+]] = nn.cast [[V5]] : (tensor<ui8>) -> tensor<i32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V12:%.+]] = nn.constant dense<54> : tensor<1x2x1x1xi32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V13:%.+]] = nn.mul [[V11]], [[V12]] : (tensor<i32>, tensor<1x2x1x1xi32>) -> tensor<1x2x1x1xi32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V14:%.+]] = nn.sub [[V10]], [[V13]] : (tensor<2x2x3x3xi32>, tensor<1x2x1x1xi32>) -> tensor<2x2x3x3xi32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V15:%.+]] = nn.reshape [[V1]] : (tensor<2xf32>) -> tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}5.000000e-01]], {{\[\[}}2.000000e+00]]]]> : tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V4]], [[V16]] : (tensor<f32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V18:%.+]] = nn.cast [[V14]] : (tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xf32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V19:%.+]] = nn.mul [[V18]], [[V17]] : (tensor<2x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<2x2x3x3xf32> {origin = "conv", role = "dynamic"}
// CHECK-NEXT: [[V20:%.+]] = nn.add [[V19]], [[V15]] : (tensor<2x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<2x2x3x3xf32> {origin = "conv"}
// CHECK-NEXT: func.return [[V20]] : tensor<2x2x3x3xf32>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<4x3xf32>, [[V1:%.+]]: tensor<3x4xf32>) -> (tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+00> : tensor<3x2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V0]], [[V3]] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<1> : tensor<3x2xi8> -> tensor<3x2x!q4>
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] : tensor<3x2x!q4> to tensor<3x2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V0]], [[V6]] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32> {nn.keep_float}
// CHECK-NEXT: func.return [[V2]], [[V4]], [[V7]] : tensor<4x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>
// CHECK-LABEL: @lstm(
// CHECK-SAME: [[V0:%.+]]: tensor<?x1x3xf32>) -> tensor<?x1x1x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!q4>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!q4>
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]], [[V5:%.+]] = nn.dynamic_lstm [[V0]], [[V1]], [[V2]] {hidden_size = 2} : (tensor<?x1x3xf32>, tensor<1x8x3x!q4>, tensor<1x8x2x!q4>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
// CHECK-NEXT: func.return [[V3]] : tensor<?x1x1x2xf32>
