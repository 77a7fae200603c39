// RUN: qmlir-opt %s --inline-weights -p quant-assign-types | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-insert-casts,quant-fuse-casts' -o %t.two && qmlir-opt %s --inline-weights -p quant-assign-types | diff %t.two -
// RUN: qmlir-opt %s --inline-weights -p 'quant-assign-types,quant-assign-types' -o %t.twice && qmlir-opt %s --inline-weights -p quant-assign-types | diff %t.twice -

!x = !quant.calibrated<f32<-1.0:1.0>>
!y = !quant.calibrated<f32<-2.0:6.0>>
!p = !quant.calibrated<f32<0.0:6.0>>

// A composite: weights along -127:127, the bias with the scale s_x * s_w.
func.func @composite(%x: tensor<1x2x!x>) -> tensor<1x3x!y> {
  %w = nn.constant dense<[[1.0, -1.0], [0.5, 0.25], [0.0, 2.0]]> : tensor<3x2xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.5, -0.25, 1.0]> : tensor<3xf32> {origin = "fc1.bias"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x2x!x>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<1x3x!y> {origin = "fc1"}
  func.return %0 : tensor<1x3x!y>
}

// Its parts: the same parameters, and an accumulator of 32 bits between them.
func.func @decomposed(%x: tensor<1x2x!x>) -> tensor<1x3x!y> {
  %w = nn.constant dense<[[1.0, -1.0], [0.5, 0.25], [0.0, 2.0]]> : tensor<3x2xf32> {origin = "fc1.weight"}
  %b = nn.constant dense<[0.5, -0.25, 1.0]> : tensor<3xf32> {origin = "fc1.bias"}
  %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x2x!x>, tensor<3x2xf32>) -> tensor<1x3x!x> {origin = "fc1", role = "matmul"}
  %1 = nn.add %0, %b : (tensor<1x3x!x>, tensor<3xf32>) -> tensor<1x3x!y> {origin = "fc1", role = "bias_add"}
  func.return %1 : tensor<1x3x!y>
}

// A fixed range needs no profile, and follows what is moved: 1/256 for the sigmoid and its reshape, 2/256 for tanh.
func.func @fixed(%x: tensor<4x!x>) -> (tensor<2x2xf32>, tensor<4x!x>) {
  %0 = nn.sigmoid %x : (tensor<4x!x>) -> tensor<4xf32> {origin = "s"}
  %1 = nn.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32> {origin = "r"}
  %2 = nn.tanh %x : tensor<4x!x> {origin = "t"}
  func.return %1, %2 : tensor<2x2xf32>, tensor<4x!x>
}

// What is joined shares a type, constants included.
func.func @sharing(%x: tensor<2x!x>, %y: tensor<2x!y>) -> (tensor<6x!y>, tensor<3x!y>, tensor<3x!y>) {
  %c = nn.constant dense<[10.0, 0.0]> : tensor<2xf32>
  %0 = nn.concat %x, %y, %c {axis = 0} : (tensor<2x!x>, tensor<2x!y>, tensor<2xf32>) -> tensor<6x!y> {origin = "cat"}
  %1, %2 = nn.split %0 {axis = 0} : (tensor<6x!y>) -> (tensor<3x!y>, tensor<3x!y>) {origin = "parts"}
  func.return %0, %1, %2 : tensor<6x!y>, tensor<3x!y>, tensor<3x!y>
}

// What only goes into a relu has the relu's range, also on its way through a max pool; with another user it has not.
func.func @relu(%x: tensor<1x1x4x4x!x>) -> (tensor<1x1x2x2x!p>, tensor<1x1x2x2x!p>, tensor<1x1x2x2x!y>) {
  %w = nn.constant dense<2.0> : tensor<1x1x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x1x4x4x!x>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4x!y> {origin = "c1"}
  %1 = nn.max_pool %0 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!y>) -> tensor<1x1x2x2x!y> {origin = "p1"}
  %2 = nn.relu %1 : (tensor<1x1x2x2x!y>) -> tensor<1x1x2x2x!p> {origin = "r1"}
  %3 = nn.conv %x, %w {strides = [2, 2]} : (tensor<1x1x4x4x!x>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2x!y> {origin = "c2"}
  %4 = nn.relu %3 : (tensor<1x1x2x2x!y>) -> tensor<1x1x2x2x!p> {origin = "r2"}
  func.return %2, %4, %3 : tensor<1x1x2x2x!p>, tensor<1x1x2x2x!p>, tensor<1x1x2x2x!y>
}

// Both operands may be computed.
func.func @attention(%q: tensor<2x4x!x>, %k: tensor<3x4x!x>) -> tensor<2x3x!y> {
  %0 = nn.matmul %q, %k {transpose_b = true} : (tensor<2x4x!x>, tensor<3x4x!x>) -> tensor<2x3x!y> {origin = "scores"}
  func.return %0 : tensor<2x3x!y>
}

// Sums of sums keep 32 bits, in the coarser of two steps: x * W + h * R + b, the gates of a recurrent layer.
func.func @gates(%x: tensor<1x2x!x>, %h: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %w = nn.constant dense<[[1.0, 0.0], [0.5, 1.0]]> : tensor<2x2xf32>
  %r = nn.constant dense<[[0.25, 0.0], [0.125, 0.5]]> : tensor<2x2xf32>
  %b = nn.constant dense<[0.5, 0.125]> : tensor<2xf32>
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x2xf32>) -> tensor<1x2x!x> {origin = "g", role = "x"}
  %1 = nn.matmul %h, %r : (tensor<1x2x!x>, tensor<2x2xf32>) -> tensor<1x2x!x> {origin = "g", role = "h"}
  %2 = nn.add %0, %1 : (tensor<1x2x!x>, tensor<1x2x!x>) -> tensor<1x2x!x> {origin = "g", role = "sum"}
  %3 = nn.add %2, %b : (tensor<1x2x!x>, tensor<2xf32>) -> tensor<1x2x!y> {origin = "g", role = "bias_add"}
  func.return %3 : tensor<1x2x!y>
}

// A bias that is computed is added with the scale of the accumulator, whatever it is for others.
func.func @computed_bias(%x: tensor<1x2x!x>, %b: tensor<2x!x>) -> (tensor<1x2x!y>, tensor<2x!x>) {
  %w = nn.constant dense<[[1.0, 0.0], [0.5, 1.0]]> : tensor<2x2xf32>
  %0 = nn.relu %b : tensor<2x!x> {origin = "r"}
  %1 = nn.fully_connected %x, %w, %0 : (tensor<1x2x!x>, tensor<2x2xf32>, tensor<2x!x>) -> tensor<1x2x!y> {origin = "fc1"}
  func.return %1, %0 : tensor<1x2x!y>, tensor<2x!x>
}

// No meaning, no range, no types that go together: these stay in float, with casts around them.
func.func @left_in_float(%x: tensor<2x!x>, %u: tensor<2xf32>) -> (tensor<2x!y>, tensor<2xf32>, tensor<2x!y>) {
  %i = nn.constant dense<[[0]]> : tensor<1x1xi64>
  %e = nn.constant dense<[1.0]> : tensor<1xf32>
  %0 = nn.relu %x : tensor<2x!x> {origin = "r1"}
  %1 = nn.pow %0, %0 : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!y> {origin = "pow1"}
  %2 = nn.relu %u : tensor<2xf32> {origin = "r2"}
  %3 = nn.scatter_nd %x, %i, %e {reduction = "add"} : (tensor<2x!x>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<2x!y> {origin = "sc"}
  func.return %1, %2, %3 : tensor<2x!y>, tensor<2xf32>, tensor<2x!y>
}

// Data that is constant, channels in groups, an accumulator of one channel each.
func.func @constant_data(%x: tensor<1x2x2x2x!x>) -> (tensor<1x2x!y>, tensor<1x2x2x2x!y>) {
  %d = nn.constant dense<[[1.0, -3.0]]> : tensor<1x2xf32>
  %w = nn.constant dense<[[1.0, 0.0], [0.5, 1.0]]> : tensor<2x2xf32>
  %0 = nn.matmul %d, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2x!y> {origin = "mm"}
  %1 = nn.reshape %x : (tensor<1x2x2x2x!x>) -> tensor<1x2x2x2x!x> {origin = "view"}
  %k = nn.constant dense<[[[[1.0]]], [[[-0.5]]]]> : tensor<2x1x1x1xf32>
  %b = nn.constant dense<[[[0.5]], [[0.25]]]> : tensor<2x1x1xf32>
  %2 = nn.conv %1, %k {groups = 2} : (tensor<1x2x2x2x!x>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2x!y> {origin = "dw", role = "correlation"}
  %3 = nn.add %2, %b : (tensor<1x2x2x2x!y>, tensor<2x1x1xf32>) -> tensor<1x2x2x2x!y> {origin = "dw", role = "bias_add"}
  func.return %0, %3 : tensor<1x2x!y>, tensor<1x2x2x2x!y>
}

// Nothing to decide: an argument that is returned, integers.
func.func @untouched(%x: tensor<2x!x>, %i: tensor<2xi64>) -> (tensor<2x!x>, tensor<2xi64>) {
  %0 = nn.abs %i : tensor<2xi64>
  func.return %x, %0 : tensor<2x!x>, tensor<2xi64>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 0.007843137718737125>
// CHECK-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32, 0.015748031437397003>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 0.00012351397890597582>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 0.0313725508749485:-64>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32, 3.906250e-03:-128>
// CHECK-NEXT: !q5 = !quant.uniform<i8:f32, 7.812500e-03>
// CHECK-NEXT: !q6 = !quant.uniform<i8:f32, 0.0470588244497776:-86>
// CHECK-NEXT: !q7 = !quant.uniform<i8:f32, 0.0235294122248888:-128>
// CHECK-NEXT: !q8 = !quant.uniform<i8<-127:127>:f32, 0.007874015718698502>
// CHECK-NEXT: !q9 = !quant.uniform<i8<-127:127>:f32, 0.003937007859349251>
// CHECK-NEXT: !q10 = !quant.uniform<i32:f32, 6.175698945298791e-05>
// CHECK-NEXT: !q11 = !quant.uniform<i32:f32, 3.0878494726493955e-05>
// CHECK-NEXT: !q12 = !quant.uniform<i8:f32, 0.01568627543747425:63>
// CHECK-LABEL: @composite(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x2xf32> to tensor<1x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}64, -64], [32, 16], [0, 127]]> : tensor<3x2xi8> -> tensor<3x2x!q1> {origin = "fc1.weight"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[4048, -2024, 8096]> : tensor<3xi32> -> tensor<3x!q2> {origin = "fc1.bias"}
// CHECK-NEXT: [[V4:%.+]] = nn.fully_connected [[V1]], [[V2]], [[V3]] : (tensor<1x2x!q0>, tensor<3x2x!q1>, tensor<3x!q2>) -> tensor<1x3x!q3> {origin = "fc1"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "fc1"} : tensor<1x3x!q3> to tensor<1x3xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<1x3xf32>
// CHECK-LABEL: @decomposed(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x2xf32> to tensor<1x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}64, -64], [32, 16], [0, 127]]> : tensor<3x2xi8> -> tensor<3x2x!q1> {origin = "fc1.weight"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[4048, -2024, 8096]> : tensor<3xi32> -> tensor<3x!q2> {origin = "fc1.bias"}
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V2]] {transpose_b = true} : (tensor<1x2x!q0>, tensor<3x2x!q1>) -> tensor<1x3x!q2> {origin = "fc1", role = "matmul"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V4]], [[V3]] : (tensor<1x3x!q2>, tensor<3x!q2>) -> tensor<1x3x!q3> {origin = "fc1", role = "bias_add"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "fc1", role = "bias_add"} : tensor<1x3x!q3> to tensor<1x3xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<1x3xf32>
// CHECK-LABEL: @fixed(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<4xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<4xf32> to tensor<4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.sigmoid [[V1]] : (tensor<4x!q0>) -> tensor<4x!q4> {origin = "s"}
// CHECK-NEXT: [[V3:%.+]] = nn.reshape [[V2]] : (tensor<4x!q4>) -> tensor<2x2x!q4> {origin = "r"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] {origin = "r"} : tensor<2x2x!q4> to tensor<2x2xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.tanh [[V1]] : (tensor<4x!q0>) -> tensor<4x!q5> {origin = "t"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "t"} : tensor<4x!q5> to tensor<4xf32>
// CHECK-NEXT: func.return [[V4]], [[V6]] : tensor<2x2xf32>, tensor<4xf32>
// CHECK-LABEL: @sharing(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>, [[V1:%.+]]: tensor<2xf32>) -> (tensor<6xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q6>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q6>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<[126, -86]> : tensor<2xi8> -> tensor<2x!q6>
// CHECK-NEXT: [[V5:%.+]] = nn.concat [[V2]], [[V3]], [[V4]] {axis = 0} : (tensor<2x!q6>, tensor<2x!q6>, tensor<2x!q6>) -> tensor<6x!q6> {origin = "cat"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "cat"} : tensor<6x!q6> to tensor<6xf32>
// CHECK-NEXT: [[V7:%.+]], [[V8:%.+]] = nn.split [[V5]] : (tensor<6x!q6>) -> (tensor<3x!q6>, tensor<3x!q6>) {origin = "parts"}
// CHECK-NEXT: [[V9:%.+]] = quant.dcast [[V7]] {origin = "parts"} : tensor<3x!q6> to tensor<3xf32>
// CHECK-NEXT: [[V10:%.+]] = quant.dcast [[V8]] {origin = "parts"} : tensor<3x!q6> to tensor<3xf32>
// CHECK-NEXT: func.return [[V6]], [[V9]], [[V10]] : tensor<6xf32>, tensor<3xf32>, tensor<3xf32>
// CHECK-LABEL: @relu(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}127]]]]> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V1]], [[V2]] : (tensor<1x1x4x4x!q0>, tensor<1x1x1x1x!q1>) -> tensor<1x1x4x4x!q7> {origin = "c1"}
// CHECK-NEXT: [[V4:%.+]] = nn.max_pool [[V3]] {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!q7>) -> tensor<1x1x2x2x!q7> {origin = "p1"}
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<1x1x2x2x!q7> {origin = "r1"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "r1"} : tensor<1x1x2x2x!q7> to tensor<1x1x2x2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.conv [[V1]], [[V2]] {strides = [2, 2]} : (tensor<1x1x4x4x!q0>, tensor<1x1x1x1x!q1>) -> tensor<1x1x2x2x!q3> {origin = "c2"}
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] {origin = "c2"} : tensor<1x1x2x2x!q3> to tensor<1x1x2x2xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.relu [[V7]] : (tensor<1x1x2x2x!q3>) -> tensor<1x1x2x2x!q7> {origin = "r2"}
// CHECK-NEXT: [[V10:%.+]] = quant.dcast [[V9]] {origin = "r2"} : tensor<1x1x2x2x!q7> to tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return [[V6]], [[V10]], [[V8]] : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
// CHECK-LABEL: @attention(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>, [[V1:%.+]]: tensor<3x4xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V1]] : tensor<3x4xf32> to tensor<3x4x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] {transpose_b = true} : (tensor<2x4x!q0>, tensor<3x4x!q0>) -> tensor<2x3x!q3> {origin = "scores"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "scores"} : tensor<2x3x!q3> to tensor<2x3xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3xf32>
// CHECK-LABEL: @gates(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>, [[V1:%.+]]: tensor<1x2xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<1x2xf32> to tensor<1x2x!q0>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V1]] : tensor<1x2xf32> to tensor<1x2x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}127, 0], [64, 127]]> : tensor<2x2xi8> -> tensor<2x2x!q8>
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<{{\[\[}}64, 0], [32, 127]]> : tensor<2x2xi8> -> tensor<2x2x!q9>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[8096, 2024]> : tensor<2xi32> -> tensor<2x!q10>
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V2]], [[V4]] : (tensor<1x2x!q0>, tensor<2x2x!q8>) -> tensor<1x2x!q10> {origin = "g", role = "x"}
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V3]], [[V5]] : (tensor<1x2x!q0>, tensor<2x2x!q9>) -> tensor<1x2x!q11> {origin = "g", role = "h"}
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V7]], [[V8]] : (tensor<1x2x!q10>, tensor<1x2x!q11>) -> tensor<1x2x!q10> {origin = "g", role = "sum"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V9]], [[V6]] : (tensor<1x2x!q10>, tensor<2x!q10>) -> tensor<1x2x!q3> {origin = "g", role = "bias_add"}
// CHECK-NEXT: [[V11:%.+]] = quant.dcast [[V10]] {origin = "g", role = "bias_add"} : tensor<1x2x!q3> to tensor<1x2xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<1x2xf32>
// CHECK-LABEL: @computed_bias(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xf32>, [[V1:%.+]]: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>)
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V0]] : tensor<1x2xf32> to tensor<1x2x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<{{\[\[}}127, 0], [64, 127]]> : tensor<2x2xi8> -> tensor<2x2x!q8>
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V2]] : tensor<2x!q0> {origin = "r"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "r"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V7:%.+]] = quant.qcast [[V6]] {origin = "r"} : tensor<2xf32> to tensor<2x!q10>
// CHECK-NEXT: [[V8:%.+]] = nn.fully_connected [[V3]], [[V4]], [[V7]] : (tensor<1x2x!q0>, tensor<2x2x!q8>, tensor<2x!q10>) -> tensor<1x2x!q3> {origin = "fc1"}
// CHECK-NEXT: [[V9:%.+]] = quant.dcast [[V8]] {origin = "fc1"} : tensor<1x2x!q3> to tensor<1x2xf32>
// CHECK-NEXT: func.return [[V9]], [[V6]] : tensor<1x2xf32>, tensor<2xf32>
// CHECK-LABEL: @left_in_float(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>, [[V1:%.+]]: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}0]]> : tensor<1x1xi64>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<[1.000000e+00]> : tensor<1xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V2]] : tensor<2x!q0> {origin = "r1"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "r1"} : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.pow [[V6]], [[V6]] : tensor<2xf32> {origin = "pow1"}
// CHECK-NEXT: [[V8:%.+]] = nn.relu [[V1]] : tensor<2xf32> {origin = "r2"}
// CHECK-NEXT: [[V9:%.+]] = nn.scatter_nd [[V0]], [[V3]], [[V4]] {reduction = "add"} : (tensor<2xf32>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<2xf32> {origin = "sc"}
// CHECK-NEXT: func.return [[V7]], [[V8]], [[V9]] : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
// CHECK-LABEL: @constant_data(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x2x2xf32>) -> (tensor<1x2xf32>, tensor<1x2x2x2xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<1x2x2x2xf32> to tensor<1x2x2x2x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}127, -128]]> : tensor<1x2xi8> -> tensor<1x2x!q12>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<{{\[\[}}127, 0], [64, 127]]> : tensor<2x2xi8> -> tensor<2x2x!q8>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] : (tensor<1x2x!q12>, tensor<2x2x!q8>) -> tensor<1x2x!q3> {origin = "mm"}
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V4]] {origin = "mm"} : tensor<1x2x!q3> to tensor<1x2xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.reshape [[V1]] : tensor<1x2x2x2x!q0> {origin = "view"}
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}127]]], {{\[\[}}[-64]]]]> : tensor<2x1x1x1xi8> -> tensor<2x1x1x1x!q8>
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<{{\[\[}}[8096]], {{\[\[}}4048]]]> : tensor<2x1x1xi32> -> tensor<2x1x1x!q10>
// CHECK-NEXT: [[V9:%.+]] = nn.conv [[V6]], [[V7]] {groups = 2} : (tensor<1x2x2x2x!q0>, tensor<2x1x1x1x!q8>) -> tensor<1x2x2x2x!q10> {origin = "dw", role = "correlation"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V9]], [[V8]] : (tensor<1x2x2x2x!q10>, tensor<2x1x1x!q10>) -> tensor<1x2x2x2x!q3> {origin = "dw", role = "bias_add"}
// CHECK-NEXT: [[V11:%.+]] = quant.dcast [[V10]] {origin = "dw", role = "bias_add"} : tensor<1x2x2x2x!q3> to tensor<1x2x2x2xf32>
// CHECK-NEXT: func.return [[V5]], [[V11]] : tensor<1x2xf32>, tensor<1x2x2x2xf32>
// CHECK-LABEL: @untouched(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>, [[V1:%.+]]: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>)
// CHECK-NEXT: [[V2:%.+]] = nn.abs [[V1]] : tensor<2xi64>
// CHECK-NEXT: func.return [[V0]], [[V2]] : tensor<2xf32>, tensor<2xi64>
