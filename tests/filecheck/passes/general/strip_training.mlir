// RUN: qmlir-opt %s -p strip-training,dce | filecheck %s
// RUN: qmlir-opt %s -p strip-training,dce,strip-training | filecheck %s

func.func @layers(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xi1>) {
  %r = nn.constant dense<0.5> : tensor<f32>
  %0, %mask = nn.dropout %x, %r : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {origin = "drop"}
  %1, %m, %v, %bm, %bv = nn.batch_norm_training %0, %s, %s, %s, %s {epsilon = 0.25} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {origin = "norm"}
  %2 = calib.observe %1 "norm" : tensor<2x3xf32>
  %3 = nn.round %2 : tensor<2x3xf32>
  %4 = calib.straight_through %3 for %2 : tensor<2x3xf32>
  func.return %4, %m, %mask : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xi1>
}

// 2^ceil(0.5) / 2^3; 6 / (2^4 - 1); of [-1, 2] 3 / 255 and 85 up from -128.
func.func @grids(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %t = nn.constant dense<0.5> : tensor<f32>
  %l = nn.constant dense<6.0> : tensor<f32>
  %s = nn.constant dense<[0.5, 0.25, 1.0]> : tensor<3xf32>
  %o = nn.constant dense<[0.0, 2.4, 500.0]> : tensor<3xf32>
  %n = nn.constant dense<-1.0> : tensor<f32>
  %p = nn.constant dense<2.0> : tensor<f32>
  %0 = calib.fake_quant %x, %t {bits = 4 : i64} : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %1 = calib.fake_quant %x, %l {bits = 4 : i64, signed = false, method = "pact"} : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %2 = calib.fake_quant %x, %s, %o {axis = 1 : i64, method = "affine"} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %3 = calib.fake_quant %x, %n, %p {method = "range"} : tensor<2x3xf32>, tensor<f32>, tensor<f32> -> tensor<2x3xf32>
  %4 = calib.fake_quant %x, %s, %s {axis = 1 : i64, method = "lsq_plus"} : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK: !q0 = !quant.uniform<i4:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<u4:f32, 0.4000000059604645>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01:2, 1.000000e+00:127}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 0.0117647061124444:-43>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01, 1.000000e+00}>
// CHECK-LABEL: @layers(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xi1>)
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<true> : tensor<i1> {origin = "drop"}
// CHECK-NEXT: [[V3:%.+]] = nn.expand [[V2]] {shape = [2, 3]} : (tensor<i1>) -> tensor<2x3xi1> {origin = "drop"}
// CHECK-NEXT: [[V4:%.+]] = nn.batch_norm [[V0]], [[V1]], [[V1]], [[V1]], [[V1]] {epsilon = 0.25} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "norm"}
// CHECK-NEXT: [[V5:%.+]] = nn.round [[V4]] : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V5]], [[V1]], [[V3]] : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xi1>
// CHECK-LABEL: @grids(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x3xf32> to tensor<2x3x!q0>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x3x!q0> to tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V0]] : tensor<2x3xf32> to tensor<2x3x!q1>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : tensor<2x3x!q1> to tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V0]] : tensor<2x3xf32> to tensor<2x3x!q2>
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] : tensor<2x3x!q2> to tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = quant.qcast [[V0]] : tensor<2x3xf32> to tensor<2x3x!q3>
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] : tensor<2x3x!q3> to tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<{{\[\[}}5.000000e-01, 2.500000e-01, 1.000000e+00]]> : tensor<1x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.sub [[V0]], [[V9]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V11:%.+]] = quant.qcast [[V10]] : tensor<2x3xf32> to tensor<2x3x!q4>
// CHECK-NEXT: [[V12:%.+]] = quant.dcast [[V11]] : tensor<2x3x!q4> to tensor<2x3xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.add [[V12]], [[V9]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V2]], [[V4]], [[V6]], [[V8]], [[V13]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
