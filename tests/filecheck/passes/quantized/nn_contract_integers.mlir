// RUN: qmlir-opt %s --split-input-file -p nn-contract-integers,dce | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p nn-contract-integers,dce,nn-contract-integers,dce | filecheck %s

// A zero point holds what is not symmetric about 0: -3 to 252 are the bytes from 0 to 255, of which 3 is 0. What else
// reads the data reads the bytes.
func.func @zero_point(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = nn.round %x : tensor<2x3xf32>
  %1 = calib.straight_through %0 for %x : tensor<2x3xf32>
  %2 = nn.clip %1 {minimum = -3.0, maximum = 252.0} : tensor<2x3xf32>
  %3 = nn.round %w : tensor<3x4xf32>
  %4 = nn.clip %3 {minimum = -8.0, maximum = 7.0} : tensor<3x4xf32>
  %5 = nn.matmul %2, %4 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> {origin = "fc"}
  %6 = nn.neg %2 : tensor<2x3xf32>
  func.return %5, %6 : tensor<2x4xf32>, tensor<2x3xf32>
}

// -----

// Weights by channels have limits by channels. What moves, and a pool of the largest, moves bytes; sums that only f64
// held are those of 32 bits.
func.func @moved(%x: tensor<1x2x4x4xf32>, %w: tensor<2x18xf32>) -> tensor<1x2x2x2xf64> {
  %0 = nn.round %x : tensor<1x2x4x4xf32>
  %1 = nn.clip %0 {minimum = 0.0, maximum = 255.0} : tensor<1x2x4x4xf32>
  %2 = nn.max_pool %1 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %3 = nn.cast %2 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf64>
  %4 = nn.round %w : tensor<2x18xf32>
  %low = nn.constant dense<[[-127.0], [-100.0]]> : tensor<2x1xf32>
  %high = nn.constant dense<[[127.0], [100.0]]> : tensor<2x1xf32>
  %5 = nn.max %4, %low : (tensor<2x18xf32>, tensor<2x1xf32>) -> tensor<2x18xf32>
  %6 = nn.min %5, %high : (tensor<2x18xf32>, tensor<2x1xf32>) -> tensor<2x18xf32>
  %7 = nn.reshape %6 : (tensor<2x18xf32>) -> tensor<2x2x3x3xf32>
  %8 = nn.cast %7 : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf64>
  %9 = nn.conv %3, %8 {pads = [1, 1, 1, 1]} : (tensor<1x2x2x2xf64>, tensor<2x2x3x3xf64>) -> tensor<1x2x2x2xf64>
  func.return %9 : tensor<1x2x2x2xf64>
}

// -----

// A constant is stored as integers at once; 16 bits hold what 8 do not.
func.func @constant(%x: tensor<2x3xf32>) -> tensor<2x1xf32> {
  %0 = nn.floor %x : tensor<2x3xf32>
  %1 = nn.clip %0 {minimum = -400.0, maximum = 200.0} : tensor<2x3xf32>
  %2 = nn.relu %1 : tensor<2x3xf32>
  %w = nn.constant dense<[[1.0, -2.0, 127.0]]> : tensor<1x3xf32> {origin = "w"}
  %3 = nn.fully_connected %1, %w : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %4 = nn.fully_connected %2, %w : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %5 = nn.add %3, %4 : tensor<2x1xf32>
  func.return %5 : tensor<2x1xf32>
}

// -----

// What stays on floats: data without limits, with fractions, between limits with fractions, in more than 16 bits; sums
// that 32 bits may not hold; a bias.
func.func @floats(%x: tensor<2x3xf32>, %w: tensor<1x3xf32>, %wide: tensor<3x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>) {
  %0 = nn.round %w : tensor<1x3xf32>
  %1 = nn.clip %0 {minimum = -8.0, maximum = 7.0} : tensor<1x3xf32>
  %2 = nn.round %x : tensor<2x3xf32>
  %3 = nn.clip %x {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32>
  %4 = nn.clip %2 {minimum = 0.0, maximum = 255.5} : tensor<2x3xf32>
  %5 = nn.clip %2 {minimum = 0.0, maximum = 65536.0} : tensor<2x3xf32>
  %6 = nn.clip %2 {minimum = -32768.0, maximum = 32767.0} : tensor<2x3xf32>
  %7 = nn.round %wide : tensor<3x2xf32>
  %8 = nn.clip %7 {minimum = -32768.0, maximum = 32767.0} : tensor<3x2xf32>
  %9 = nn.fully_connected %2, %1 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %10 = nn.fully_connected %3, %1 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %11 = nn.fully_connected %4, %1 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %12 = nn.fully_connected %5, %1 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
  %13 = nn.matmul %6, %8 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %b = nn.constant dense<0.5> : tensor<1xf32>
  %14 = nn.clip %2 {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32>
  %15 = nn.fully_connected %14, %1, %b : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  func.return %9, %10, %11, %12, %13, %15 : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>
}

// -----

// What is open may have any size: one that is summed makes the sums of any length, another does not.
func.func @open(%x: tensor<2x?xf32>, %w: tensor<?x4xf32>, %rows: tensor<?x3xf32>, %known: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<?x4xf32>) {
  %0 = nn.round %x : tensor<2x?xf32>
  %1 = nn.clip %0 {minimum = -8.0, maximum = 7.0} : tensor<2x?xf32>
  %2 = nn.round %w : tensor<?x4xf32>
  %3 = nn.clip %2 {minimum = -8.0, maximum = 7.0} : tensor<?x4xf32>
  %4 = nn.matmul %1, %3 : (tensor<2x?xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
  %5 = nn.round %rows : tensor<?x3xf32>
  %6 = nn.clip %5 {minimum = -8.0, maximum = 7.0} : tensor<?x3xf32>
  %7 = nn.round %known : tensor<3x4xf32>
  %8 = nn.clip %7 {minimum = -8.0, maximum = 7.0} : tensor<3x4xf32>
  %9 = nn.matmul %6, %8 : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  func.return %4, %9 : tensor<2x4xf32>, tensor<?x4xf32>
}

// CHECK: !q0 = !quant.uniform<u8:f32, 1.000000e+00:3>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.000000e+00>
// CHECK-LABEL: @zero_point(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.round [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = calib.straight_through [[V2]] for [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.clip [[V3]] {minimum = -3.0, maximum = 252.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] : tensor<2x3xf32> to tensor<2x3x!q0>
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] : tensor<2x3x!q0> to tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.round [[V1]] : tensor<3x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V7]] {minimum = -8.0, maximum = 7.0} : tensor<3x4xf32>
// CHECK-NEXT: [[V9:%.+]] = quant.qcast [[V8]] : tensor<3x4xf32> to tensor<3x4x!q1>
// CHECK-NEXT: [[V10:%.+]] = nn.matmul [[V5]], [[V9]] : (tensor<2x3x!q0>, tensor<3x4x!q1>) -> tensor<2x4x!q2> {origin = "fc"}
// CHECK-NEXT: [[V11:%.+]] = quant.scast [[V10]] {origin = "fc"} : tensor<2x4x!q2> to tensor<2x4xi32>
// CHECK-NEXT: [[V12:%.+]] = nn.cast [[V11]] : (tensor<2x4xi32>) -> tensor<2x4xf32> {origin = "fc"}
// CHECK-NEXT: [[V13:%.+]] = nn.neg [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V12]], [[V13]] : tensor<2x4xf32>, tensor<2x3xf32>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.000000e+00>
// CHECK-LABEL: @moved(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x18xf32>) -> tensor<1x2x2x2xf64>
// CHECK-NEXT: [[V2:%.+]] = nn.round [[V0]] : tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.clip [[V2]] {minimum = 0.0, maximum = 255.0} : tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<1x2x4x4xf32> to tensor<1x2x4x4x!q0>
// CHECK-NEXT: [[V5:%.+]] = nn.max_pool [[V4]] {kernel = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4x!q0>) -> tensor<1x2x2x2x!q0>
// CHECK-NEXT: [[V6:%.+]] = nn.round [[V1]] : tensor<2x18xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<{{\[\[}}-1.270000e+02], [-1.000000e+02]]> : tensor<2x1xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<{{\[\[}}1.270000e+02], [1.000000e+02]]> : tensor<2x1xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.max [[V6]], [[V7]] : (tensor<2x18xf32>, tensor<2x1xf32>) -> tensor<2x18xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.min [[V9]], [[V8]] : (tensor<2x18xf32>, tensor<2x1xf32>) -> tensor<2x18xf32>
// CHECK-NEXT: [[V11:%.+]] = quant.qcast [[V10]] : tensor<2x18xf32> to tensor<2x18x!q1>
// CHECK-NEXT: [[V12:%.+]] = nn.reshape [[V11]] : (tensor<2x18x!q1>) -> tensor<2x2x3x3x!q1>
// CHECK-NEXT: [[V13:%.+]] = nn.conv [[V5]], [[V12]] {pads = [1, 1, 1, 1]} : (tensor<1x2x2x2x!q0>, tensor<2x2x3x3x!q1>) -> tensor<1x2x2x2x!q2>
// CHECK-NEXT: [[V14:%.+]] = quant.scast [[V13]] : tensor<1x2x2x2x!q2> to tensor<1x2x2x2xi32>
// CHECK-NEXT: [[V15:%.+]] = nn.cast [[V14]] : (tensor<1x2x2x2xi32>) -> tensor<1x2x2x2xf64>
// CHECK-NEXT: func.return [[V15]] : tensor<1x2x2x2xf64>
// CHECK: // -----
// CHECK-NEXT: !q0 = !quant.uniform<i16:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q3 = !quant.uniform<i32:f32, 1.000000e+00>
// CHECK-LABEL: @constant(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.floor [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.clip [[V1]] {minimum = -400.0, maximum = 200.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V2]] : tensor<2x3xf32> to tensor<2x3x!q0>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : tensor<2x3x!q0> to tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = quant.qcast [[V5]] : tensor<2x3xf32> to tensor<2x3x!q1>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<{{\[\[}}1, -2, 127]]> : tensor<1x3xi8> -> tensor<1x3x!q2> {origin = "w"}
// CHECK-NEXT: [[V8:%.+]] = nn.fully_connected [[V3]], [[V7]] : (tensor<2x3x!q0>, tensor<1x3x!q2>) -> tensor<2x1x!q3>
// CHECK-NEXT: [[V9:%.+]] = quant.scast [[V8]] : tensor<2x1x!q3> to tensor<2x1xi32>
// CHECK-NEXT: [[V10:%.+]] = nn.cast [[V9]] : (tensor<2x1xi32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.fully_connected [[V6]], [[V7]] : (tensor<2x3x!q1>, tensor<1x3x!q2>) -> tensor<2x1x!q3>
// CHECK-NEXT: [[V12:%.+]] = quant.scast [[V11]] : tensor<2x1x!q3> to tensor<2x1xi32>
// CHECK-NEXT: [[V13:%.+]] = nn.cast [[V12]] : (tensor<2x1xi32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.add [[V10]], [[V13]] : tensor<2x1xf32>
// CHECK-NEXT: func.return [[V14]] : tensor<2x1xf32>
// CHECK: // -----
// CHECK-LABEL: @floats(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<1x3xf32>, [[V2:%.+]]: tensor<3x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>)
// CHECK-NEXT: [[V3:%.+]] = nn.round [[V1]] : tensor<1x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.clip [[V3]] {minimum = -8.0, maximum = 7.0} : tensor<1x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.round [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.clip [[V0]] {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.clip [[V5]] {minimum = 0.0, maximum = 255.5} : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.clip [[V5]] {minimum = 0.0, maximum = 65536.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.clip [[V5]] {minimum = -32768.0, maximum = 32767.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.round [[V2]] : tensor<3x2xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.clip [[V10]] {minimum = -32768.0, maximum = 32767.0} : tensor<3x2xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.fully_connected [[V5]], [[V4]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.fully_connected [[V6]], [[V4]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.fully_connected [[V7]], [[V4]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.fully_connected [[V8]], [[V4]] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.matmul [[V9]], [[V11]] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: [[V17:%.+]] = nn.constant dense<[5.000000e-01]> : tensor<1xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.clip [[V5]] {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32>
// CHECK-NEXT: [[V19:%.+]] = nn.fully_connected [[V18]], [[V4]], [[V17]] : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: func.return [[V12]], [[V13]], [[V14]], [[V15]], [[V16]], [[V19]] : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>
// CHECK: // -----
// CHECK-LABEL: @open(
// CHECK: [[V0:%.+]] = nn.clip {{.+}} : tensor<2x?xf32>
// CHECK: [[V1:%.+]] = nn.clip {{.+}} : tensor<?x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<2x?xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
// CHECK: [[V3:%.+]] = nn.matmul {{.+}} : (tensor<?x3x!q0>, tensor<3x4x!q0>) -> tensor<?x4x!q1>
// CHECK-NEXT: [[V4:%.+]] = quant.scast [[V3]] : tensor<?x4x!q1> to tensor<?x4xi32>
// CHECK-NEXT: [[V5:%.+]] = nn.cast [[V4]] : (tensor<?x4xi32>) -> tensor<?x4xf32>
// CHECK-NEXT: func.return [[V2]], [[V5]] : tensor<2x4xf32>, tensor<?x4xf32>
