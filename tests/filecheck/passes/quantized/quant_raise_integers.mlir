// RUN: qmlir-opt %s --split-input-file -p quant-raise-integers | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p quant-raise-integers,quant-raise-integers | filecheck %s

// Casts state the scales of the data and of the result. The weights have 0.5 * 0.25 / 2.0 = 0.0625 and half of that as
// multipliers. The data is used as it is, and so is the result.
!x = !quant.uniform<u8:f32, 0.5:3>
!one = !quant.uniform<u8:f32, 1.0:3>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
!y = !quant.uniform<u8:f32, 2.0:7>
func.func @conv(%x: tensor<1x1x2x2x!x>) -> tensor<1x2x1x1x!y> {
  %w = nn.constant dense<[[[[1, 2], [3, -4]]], [[[5, 6], [7, 8]]]]> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!w>
  %b = nn.constant dense<[[[[10]], [[-20]]]]> : tensor<1x2x1x1xi32>
  %m = nn.constant dense<[[[0.0625]], [[0.03125]]]> : tensor<2x1x1xf32>
  %z = nn.constant dense<7.0> : tensor<f32>
  %0 = quant.scast %x : tensor<1x1x2x2x!x> to tensor<1x1x2x2xi8>
  %1 = quant.scast %0 : tensor<1x1x2x2xi8> to tensor<1x1x2x2x!one>
  %2 = nn.conv %1, %w : (tensor<1x1x2x2x!one>, tensor<2x1x2x2x!w>) -> tensor<1x2x1x1x!sum> {origin = "conv"}
  %3 = quant.scast %2 : tensor<1x2x1x1x!sum> to tensor<1x2x1x1xi32>
  %4 = nn.add %3, %b : tensor<1x2x1x1xi32>
  %5 = nn.cast %4 : (tensor<1x2x1x1xi32>) -> tensor<1x2x1x1xf32>
  %6 = nn.mul %5, %m : (tensor<1x2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x1x1xf32>
  %7 = nn.round %6 : tensor<1x2x1x1xf32>
  %8 = nn.add %7, %z : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1xf32>
  %9 = nn.clip %8 {minimum = 0.0, maximum = 255.0} : tensor<1x2x1x1xf32>
  %10 = nn.cast %9 : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xui8>
  %11 = nn.cast %10 : (tensor<1x2x1x1xui8>) -> tensor<1x2x1x1xi8>
  %12 = quant.scast %11 : tensor<1x2x1x1xi8> to tensor<1x2x1x1x!y>
  func.return %12 : tensor<1x2x1x1x!y>
}

// -----

// A product with a bias is a layer, whose weights are transposed. Nothing states a scale: all of data are 1.
!x = !quant.uniform<i8:f32, 1.0:-2>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @layer(%x: tensor<1x3x!x>) -> tensor<1x2xi8> {
  %w = nn.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8> -> tensor<3x2x!w>
  %b = nn.constant dense<[10, -20]> : tensor<2xi32>
  %m = nn.constant dense<[0.3, 0.2]> : tensor<2xf32>
  %0 = nn.matmul %x, %w : (tensor<1x3x!x>, tensor<3x2x!w>) -> tensor<1x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<1x2x!sum> to tensor<1x2xi32>
  %2 = nn.add %1, %b : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  %3 = nn.cast %2 : (tensor<1x2xi32>) -> tensor<1x2xf32>
  %4 = nn.mul %3, %m : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %5 = nn.round %4 : tensor<1x2xf32>
  %6 = nn.clip %5 {minimum = -127.0, maximum = 127.0} : tensor<1x2xf32>
  %7 = nn.cast %6 : (tensor<1x2xf32>) -> tensor<1x2xi8>
  func.return %7 : tensor<1x2xi8>
}

// -----

// Sums that stay in 32 bits have the scales of their type.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
!s = !quant.uniform<i32:f32:1, {0.5, 0.25}>
func.func @sums(%x: tensor<1x2x!x>) -> tensor<1x2x!s> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<1x2x!sum> to tensor<1x2xi32>
  %2 = quant.scast %1 : tensor<1x2xi32> to tensor<1x2x!s>
  func.return %2 : tensor<1x2x!s>
}

// -----

// A relu, a sum, a mean (0.25 is its multiplier for four elements) and a pool of stored integers; zero points are
// subtracted before, and added after.
!x = !quant.uniform<i8:f32, 0.5:-2>
func.func @elements(%x: tensor<1x1x2x2x!x>, %y: tensor<1x1x2x2x!x>) -> (tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<1x1x1x1xi8>) {
  %z = nn.constant dense<-2> : tensor<i32>
  %zero = nn.constant dense<0> : tensor<i32>
  %low = nn.constant dense<-128> : tensor<i32>
  %high = nn.constant dense<127> : tensor<i32>
  %m = nn.constant dense<0.25> : tensor<f32>
  %0 = quant.scast %x : tensor<1x1x2x2x!x> to tensor<1x1x2x2xi8>
  %1 = nn.cast %0 : (tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi32>
  %2 = nn.sub %1, %z : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32>
  %3 = nn.max %2, %zero : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32> {origin = "relu"}
  %4 = nn.add %3, %z : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32>
  %5 = nn.max %4, %low : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32>
  %6 = nn.min %5, %high : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32>
  %7 = nn.cast %6 : (tensor<1x1x2x2xi32>) -> tensor<1x1x2x2xi8>
  %8 = quant.scast %y : tensor<1x1x2x2x!x> to tensor<1x1x2x2xi8>
  %9 = nn.cast %8 : (tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi32>
  %10 = nn.sub %9, %z : (tensor<1x1x2x2xi32>, tensor<i32>) -> tensor<1x1x2x2xi32>
  %11 = nn.add %2, %10 : tensor<1x1x2x2xi32> {origin = "sum"}
  %12 = nn.cast %11 : (tensor<1x1x2x2xi32>) -> tensor<1x1x2x2xf32>
  %13 = nn.mul %12, %m : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %14 = nn.round %13 : tensor<1x1x2x2xf32>
  %15 = nn.clip %14 {minimum = -128.0, maximum = 127.0} : tensor<1x1x2x2xf32>
  %16 = nn.cast %15 : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xi8>
  %17 = nn.reduce_sum %2 {axes = [2, 3]} : (tensor<1x1x2x2xi32>) -> tensor<1x1x1x1xi32> {origin = "mean"}
  %18 = nn.cast %17 : (tensor<1x1x1x1xi32>) -> tensor<1x1x1x1xf32>
  %19 = nn.mul %18, %m : (tensor<1x1x1x1xf32>, tensor<f32>) -> tensor<1x1x1x1xf32>
  %20 = nn.round %19 : tensor<1x1x1x1xf32>
  %21 = nn.clip %20 {minimum = -128.0, maximum = 127.0} : tensor<1x1x1x1xf32>
  %22 = nn.cast %21 : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xi8>
  %23 = nn.cast %0 : (tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xf32>
  %24 = nn.max_pool %23 {kernel = [2, 2]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32> {origin = "pool"}
  %25 = nn.cast %24 : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xi8>
  func.return %7, %16, %22, %25 : tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<1x1x1x1xi8>
}

// -----

// Sums of windows, which are held as floats: 0.25 is the multiplier of a mean of four elements. With other weights they
// are a convolution.
!x = !quant.uniform<u8:f32, 1.0:5>
func.func @windows(%x: tensor<1x2x2x2x!x>) -> (tensor<1x2x1x1xui8>, tensor<1x2x1x1xui8>) {
  %k = nn.constant dense<1.0> : tensor<2x1x2x2xf32>
  %z = nn.constant dense<5> : tensor<i32>
  %m = nn.constant dense<0.25> : tensor<f32>
  %0 = quant.scast %x : tensor<1x2x2x2x!x> to tensor<1x2x2x2xi8>
  %1 = nn.cast %0 : (tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xui8>
  %2 = nn.cast %1 : (tensor<1x2x2x2xui8>) -> tensor<1x2x2x2xi32>
  %3 = nn.sub %2, %z : (tensor<1x2x2x2xi32>, tensor<i32>) -> tensor<1x2x2x2xi32>
  %4 = nn.cast %3 : (tensor<1x2x2x2xi32>) -> tensor<1x2x2x2xf32>
  %5 = nn.conv %4, %k {groups = 2} : (tensor<1x2x2x2xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x1x1xf32> {origin = "average"}
  %6 = nn.cast %5 : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xi32>
  %7 = nn.cast %6 : (tensor<1x2x1x1xi32>) -> tensor<1x2x1x1xf32>
  %8 = nn.mul %7, %m : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1xf32>
  %9 = nn.round %8 : tensor<1x2x1x1xf32>
  %10 = nn.clip %9 {minimum = 0.0, maximum = 255.0} : tensor<1x2x1x1xf32>
  %11 = nn.cast %10 : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xui8>
  %k2 = nn.constant dense<2.0> : tensor<2x1x2x2xf32>
  %12 = nn.conv %4, %k2 {groups = 2} : (tensor<1x2x2x2xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x1x1xf32> {origin = "conv"}
  %13 = nn.mul %12, %m : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1xf32>
  %14 = nn.round %13 : tensor<1x2x1x1xf32>
  %15 = nn.clip %14 {minimum = 0.0, maximum = 255.0} : tensor<1x2x1x1xf32>
  %16 = nn.cast %15 : (tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xui8>
  func.return %11, %16 : tensor<1x2x1x1xui8>, tensor<1x2x1x1xui8>
}

// CHECK: !q0 = !quant.uniform<u8:f32, 5.000000e-01:3>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 2.000000e+00:7>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32:0, {1.250000e-01, 6.250000e-02}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32:0, {2.500000e-01, 1.250000e-01}>
// CHECK-LABEL: @conv(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x2x!q0>) -> tensor<1x2x1x1x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[10, -20]> : tensor<2xi32> -> tensor<2x!q2>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}1, 2], [3, -4]]], {{\[\[}}[5, 6], [7, 8]]]]> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!q3>
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V0]], [[V2]], [[V1]] : (tensor<1x1x2x2x!q0>, tensor<2x1x2x2x!q3>, tensor<2x!q2>) -> tensor<1x2x1x1x!q1> {origin = "conv"}
// CHECK-NEXT: func.return [[V3]] : tensor<1x2x1x1x!q1>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 1.000000e+00:-2>
// CHECK-NEXT: !q1 = !quant.uniform<i32:f32:0, {0.30000001192092896, 0.20000000298023224}>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:0, {0.30000001192092896, 0.20000000298023224}>
// CHECK-NEXT: !q3 = !quant.uniform<i8<-127:127>:f32, 1.000000e+00>
// CHECK-LABEL: @layer(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3x!q0>) -> tensor<1x2xi8>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[10, -20]> : tensor<2xi32> -> tensor<2x!q1>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}1, 3, 5], [2, 4, 6]]> : tensor<2x3xi8> -> tensor<2x3x!q2>
// CHECK-NEXT: [[V3:%.+]] = nn.fully_connected [[V0]], [[V2]], [[V1]] : (tensor<1x3x!q0>, tensor<2x3x!q2>, tensor<2x!q1>) -> tensor<1x2x!q3> {origin = "fc"}
// CHECK-NEXT: [[V4:%.+]] = quant.scast [[V3]] : tensor<1x2x!q3> to tensor<1x2xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<1x2xi8>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<i32:f32:1, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>
// CHECK-LABEL: @sums(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x!q0>) -> tensor<1x2x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!q2>
// CHECK-NEXT: [[V2:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<1x2x!q0>, tensor<2x2x!q2>) -> tensor<1x2x!q1> {origin = "fc"}
// CHECK-NEXT: func.return [[V2]] : tensor<1x2x!q1>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 5.000000e-01:-2>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00:-2>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-01:-2>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-LABEL: @elements(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x2x!q0>, [[V1:%.+]]: tensor<1x1x2x2x!q0>) -> (tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<1x1x1x1xi8>)
// CHECK-NEXT: [[V2:%.+]] = quant.scast [[V0]] : tensor<1x1x2x2x!q0> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V3:%.+]] = quant.scast [[V2]] : tensor<1x1x2x2xi8> to tensor<1x1x2x2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.relu [[V3]] : tensor<1x1x2x2x!q1> {origin = "relu"}
// CHECK-NEXT: [[V5:%.+]] = quant.scast [[V4]] : tensor<1x1x2x2x!q1> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V6:%.+]] = quant.scast [[V0]] : tensor<1x1x2x2x!q0> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V7:%.+]] = quant.scast [[V6]] : tensor<1x1x2x2xi8> to tensor<1x1x2x2x!q2>
// CHECK-NEXT: [[V8:%.+]] = quant.scast [[V1]] : tensor<1x1x2x2x!q0> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V9:%.+]] = quant.scast [[V8]] : tensor<1x1x2x2xi8> to tensor<1x1x2x2x!q2>
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V7]], [[V9]] : (tensor<1x1x2x2x!q2>, tensor<1x1x2x2x!q2>) -> tensor<1x1x2x2x!q3> {origin = "sum"}
// CHECK-NEXT: [[V11:%.+]] = quant.scast [[V10]] : tensor<1x1x2x2x!q3> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V12:%.+]] = quant.scast [[V0]] : tensor<1x1x2x2x!q0> to tensor<1x1x2x2xi8>
// CHECK-NEXT: [[V13:%.+]] = quant.scast [[V12]] : tensor<1x1x2x2xi8> to tensor<1x1x2x2x!q1>
// CHECK-NEXT: [[V14:%.+]] = nn.global_average_pool [[V13]] : (tensor<1x1x2x2x!q1>) -> tensor<1x1x1x1x!q3> {origin = "mean"}
// CHECK-NEXT: [[V15:%.+]] = quant.scast [[V14]] : tensor<1x1x1x1x!q3> to tensor<1x1x1x1xi8>
// CHECK-NEXT: [[V16:%.+]] = nn.max_pool [[V0]] {kernel = [2, 2]} : (tensor<1x1x2x2x!q0>) -> tensor<1x1x1x1x!q0> {origin = "pool"}
// CHECK-NEXT: [[V17:%.+]] = quant.scast [[V16]] {origin = "pool"} : tensor<1x1x1x1x!q0> to tensor<1x1x1x1xi8>
// CHECK-NEXT: func.return [[V5]], [[V11]], [[V15]], [[V17]] : tensor<1x1x2x2xi8>, tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<1x1x1x1xi8>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 1.000000e+00:5>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-LABEL: @windows(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x2x2x!q0>) -> (tensor<1x2x1x1xui8>, tensor<1x2x1x1xui8>)
// CHECK-NEXT: [[V1:%.+]] = nn.average_pool [[V0]] {kernel = [2, 2], strides = [1, 1]} : (tensor<1x2x2x2x!q0>) -> tensor<1x2x1x1x!q1> {origin = "average"}
// CHECK-NEXT: [[V2:%.+]] = quant.scast [[V1]] : tensor<1x2x1x1x!q1> to tensor<1x2x1x1xi8>
// CHECK-NEXT: [[V3:%.+]] = nn.cast [[V2]] : (tensor<1x2x1x1xi8>) -> tensor<1x2x1x1xui8>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<2> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!q2>
// CHECK-NEXT: [[V5:%.+]] = nn.conv [[V0]], [[V4]] {groups = 2} : (tensor<1x2x2x2x!q0>, tensor<2x1x2x2x!q2>) -> tensor<1x2x1x1x!q1> {origin = "conv"}
// CHECK-NEXT: [[V6:%.+]] = quant.scast [[V5]] : tensor<1x2x1x1x!q1> to tensor<1x2x1x1xi8>
// CHECK-NEXT: [[V7:%.+]] = nn.cast [[V6]] : (tensor<1x2x1x1xi8>) -> tensor<1x2x1x1xui8>
// CHECK-NEXT: func.return [[V3]], [[V7]] : tensor<1x2x1x1xui8>, tensor<1x2x1x1xui8>
