// RUN: qmlir-opt %s --inline-weights -p quant-propagate-types | filecheck %s
// RUN: qmlir-opt %s --inline-weights -p 'quant-propagate-types,quant-propagate-types' -o %t.twice && qmlir-opt %s --inline-weights -p quant-propagate-types | diff %t.twice -
// RUN: qmlir-opt %s --inline-weights --pass-statistics -p quant-propagate-types 2>&1 | filecheck %s --check-prefix=STATISTICS

!x = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<i8:f32, 0.25:3>
!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>
!t = !quant.uniform<i8<-127:127>:f32, 0.5>
!r = !quant.uniform<i8<0:127>:f32, 0.5>
!big = !quant.uniform<i32:f32, 0.5>

// STATISTICS-DAG: MoveDequantizeDown
// STATISTICS-DAG: MoveQuantizeUp
// STATISTICS-DAG: NarrowLimited
// STATISTICS-DAG: RequantizeConstant

// A dequantize cast goes behind what moves values, axes of parameters with it, until something needs floats.
func.func @down(%x: tensor<2x3x!w>, %y: tensor<1x1x4x4x!y>) -> (tensor<3x2xf32>, tensor<1x4xf32>) {
  %0 = quant.dcast %x : tensor<2x3x!w> to tensor<2x3xf32>
  %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "t"}
  %2 = quant.dcast %y : tensor<1x1x4x4x!y> to tensor<1x1x4x4xf32>
  %3 = nn.max_pool %2 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {origin = "pool"}
  %4 = nn.reshape %3 : (tensor<1x1x2x2xf32>) -> tensor<1x4xf32> {origin = "flat"}
  %5 = nn.pow %4, %4 : tensor<1x4xf32>
  func.return %1, %5 : tensor<3x2xf32>, tensor<1x4xf32>
}

// Several operands of one type, and a constant that the type holds; of two types, or with one that it rounds: not.
func.func @joined(%a: tensor<2x!x>, %b: tensor<2x!x>, %c: tensor<2x!y>) -> (tensor<6xf32>, tensor<4xf32>, tensor<4xf32>) {
  %k = nn.constant dense<[1.5, -64.0]> : tensor<2xf32>
  %l = nn.constant dense<[1.5, 0.1]> : tensor<2xf32>
  %0 = quant.dcast %a : tensor<2x!x> to tensor<2xf32>
  %1 = quant.dcast %b : tensor<2x!x> to tensor<2xf32>
  %2 = quant.dcast %c : tensor<2x!y> to tensor<2xf32>
  %3 = nn.concat %0, %k, %1 {axis = 0} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32> {origin = "one"}
  %4 = nn.concat %0, %2 {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> {origin = "two"}
  %5 = nn.concat %0, %l {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> {origin = "rounded"}
  func.return %3, %4, %5 : tensor<6xf32>, tensor<4xf32>, tensor<4xf32>
}

// Order and places are those of the integers, where different ones are different floats: not so for 32 bits.
func.func @places(%x: tensor<4x!x>, %y: tensor<4x!big>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>) {
  %0 = quant.dcast %x : tensor<4x!x> to tensor<4xf32>
  %1, %2 = nn.top_k %0 {k = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {origin = "best"}
  %3 = quant.dcast %y : tensor<4x!big> to tensor<4xf32>
  %4, %5 = nn.top_k %3 {k = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {origin = "best32"}
  func.return %1, %2, %4, %5 : tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>
}

// A quantize cast goes before it, and meets the float operation behind which it belongs.
func.func @up(%x: tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2x!y>, tensor<1x1x4x2x!y>, tensor<1x1x4x2x!y>) {
  %0 = nn.exp %x : tensor<1x1x4x4xf32> {origin = "exp1"}
  %1 = nn.max_pool %0 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32> {origin = "pool"}
  %2 = quant.qcast %1 : tensor<1x1x2x2xf32> to tensor<1x1x2x2x!y>
  %3, %4 = nn.split %x {axis = 3} : (tensor<1x1x4x4xf32>) -> (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) {origin = "parts"}
  %5 = quant.qcast %3 : tensor<1x1x4x2xf32> to tensor<1x1x4x2x!y>
  %6 = quant.qcast %4 : tensor<1x1x4x2xf32> to tensor<1x1x4x2x!y>
  func.return %2, %5, %6 : tensor<1x1x2x2x!y>, tensor<1x1x4x2x!y>, tensor<1x1x4x2x!y>
}

// What is limited loses nothing by the type of the limited one, where that is part of its own; with another user it may.
func.func @limited(%x: tensor<2x!y>) -> (tensor<2x!r>, tensor<2x!r>, tensor<2x!x>) {
  %0 = nn.abs %x : (tensor<2x!y>) -> tensor<2x!x> {origin = "abs1"}
  %1 = nn.relu %0 : (tensor<2x!x>) -> tensor<2x!r> {origin = "relu1"}
  %2 = nn.neg %x : (tensor<2x!y>) -> tensor<2x!x> {origin = "neg1"}
  %3 = nn.relu %2 : (tensor<2x!x>) -> tensor<2x!r> {origin = "relu2"}
  func.return %1, %3, %2 : tensor<2x!r>, tensor<2x!r>, tensor<2x!x>
}

// Pairs of casts: of one type, of a type with limits of its own where the value was saturated to it, of constants.
func.func @pairs(%x: tensor<2x!x>, %t: tensor<2x!t>, %f: tensor<2xf32>) -> (tensor<2x!x>, tensor<2x!t>, tensor<2x!t>, tensor<2x!y>) {
  %c = nn.constant dense<[4, 100]> : tensor<2xi8> -> tensor<2x!x>
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!x>
  %2 = quant.dcast %t : tensor<2x!t> to tensor<2xf32>
  %3 = quant.qcast %2 : tensor<2xf32> to tensor<2x!t>
  %4 = quant.qcast %f : tensor<2xf32> to tensor<2x!t>
  %5 = quant.dcast %4 : tensor<2x!t> to tensor<2xf32>
  %6 = quant.qcast %5 : tensor<2xf32> to tensor<2x!t>
  %7 = quant.dcast %c : tensor<2x!x> to tensor<2xf32>
  %8 = quant.qcast %7 : tensor<2xf32> to tensor<2x!y>
  func.return %1, %3, %6, %8 : tensor<2x!x>, tensor<2x!t>, tensor<2x!t>, tensor<2x!y>
}

// CHECK: !q0 = !quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.500000e-01:3>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: !q4 = !quant.uniform<i32:f32, 5.000000e-01>
// CHECK-NEXT: !q5 = !quant.uniform<i8<0:127>:f32, 5.000000e-01>
// CHECK-NEXT: !q6 = !quant.uniform<i8<-127:127>:f32, 5.000000e-01>
// CHECK-LABEL: @down(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x!q0>, [[V1:%.+]]: tensor<1x1x4x4x!q1>) -> (tensor<3x2xf32>, tensor<1x4xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.transpose [[V0]] {permutation = [1, 0]} : (tensor<2x3x!q0>) -> tensor<3x2x!q2> {origin = "t"}
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V2]] {origin = "t"} : tensor<3x2x!q2> to tensor<3x2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.max_pool [[V1]] {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!q1>) -> tensor<1x1x2x2x!q1> {origin = "pool"}
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] : (tensor<1x1x2x2x!q1>) -> tensor<1x4x!q1> {origin = "flat"}
// CHECK-NEXT: [[V6:%.+]] = quant.dcast [[V5]] {origin = "flat"} : tensor<1x4x!q1> to tensor<1x4xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.pow [[V6]], [[V6]] : tensor<1x4xf32>
// CHECK-NEXT: func.return [[V3]], [[V7]] : tensor<3x2xf32>, tensor<1x4xf32>
// CHECK-LABEL: @joined(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q3>, [[V1:%.+]]: tensor<2x!q3>, [[V2:%.+]]: tensor<2x!q1>) -> (tensor<6xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[1.500000e+00, 0.1]> : tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V0]] : tensor<2x!q3> to tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V2]] : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[3, -128]> : tensor<2xi8> -> tensor<2x!q3> {origin = "one"}
// CHECK-NEXT: [[V7:%.+]] = nn.concat [[V0]], [[V6]], [[V1]] {axis = 0} : (tensor<2x!q3>, tensor<2x!q3>, tensor<2x!q3>) -> tensor<6x!q3> {origin = "one"}
// CHECK-NEXT: [[V8:%.+]] = quant.dcast [[V7]] {origin = "one"} : tensor<6x!q3> to tensor<6xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.concat [[V4]], [[V5]] {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> {origin = "two"}
// CHECK-NEXT: [[V10:%.+]] = nn.concat [[V4]], [[V3]] {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32> {origin = "rounded"}
// CHECK-NEXT: func.return [[V8]], [[V9]], [[V10]] : tensor<6xf32>, tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: @places(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q3>, [[V1:%.+]]: tensor<4x!q4>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>)
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]] = nn.top_k [[V0]] {k = 2} : (tensor<4x!q3>) -> (tensor<2x!q3>, tensor<2xi64>) {origin = "best"}
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V2]] {origin = "best"} : tensor<2x!q3> to tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = quant.dcast [[V1]] : tensor<4x!q4> to tensor<4xf32>
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]] = nn.top_k [[V5]] {k = 2} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {origin = "best32"}
// CHECK-NEXT: func.return [[V4]], [[V3]], [[V6]], [[V7]] : tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xi64>
// CHECK-LABEL: @up(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2x!q1>, tensor<1x1x4x2x!q1>, tensor<1x1x4x2x!q1>)
// CHECK-NEXT: [[V1:%.+]] = nn.exp [[V0]] : tensor<1x1x4x4xf32> {origin = "exp1"}
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] {origin = "pool"} : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.max_pool [[V2]] {kernel = [2, 2], strides = [2, 2]} : (tensor<1x1x4x4x!q1>) -> tensor<1x1x2x2x!q1> {origin = "pool"}
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V0]] {origin = "parts"} : tensor<1x1x4x4xf32> to tensor<1x1x4x4x!q1>
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]] = nn.split [[V4]] {axis = 3} : (tensor<1x1x4x4x!q1>) -> (tensor<1x1x4x2x!q1>, tensor<1x1x4x2x!q1>) {origin = "parts"}
// CHECK-NEXT: func.return [[V3]], [[V5]], [[V6]] : tensor<1x1x2x2x!q1>, tensor<1x1x4x2x!q1>, tensor<1x1x4x2x!q1>
// CHECK-LABEL: @limited(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q1>) -> (tensor<2x!q5>, tensor<2x!q5>, tensor<2x!q3>)
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]] : (tensor<2x!q1>) -> tensor<2x!q5> {origin = "abs1"}
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : tensor<2x!q5> {origin = "relu1"}
// CHECK-NEXT: [[V3:%.+]] = nn.neg [[V0]] : (tensor<2x!q1>) -> tensor<2x!q3> {origin = "neg1"}
// CHECK-NEXT: [[V4:%.+]] = nn.relu [[V3]] : (tensor<2x!q3>) -> tensor<2x!q5> {origin = "relu2"}
// CHECK-NEXT: func.return [[V2]], [[V4]], [[V3]] : tensor<2x!q5>, tensor<2x!q5>, tensor<2x!q3>
// CHECK-LABEL: @pairs(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q3>, [[V1:%.+]]: tensor<2x!q6>, [[V2:%.+]]: tensor<2xf32>) -> (tensor<2x!q3>, tensor<2x!q6>, tensor<2x!q6>, tensor<2x!q1>)
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V1]] : tensor<2x!q6> to tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<2xf32> to tensor<2x!q6>
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V2]] : tensor<2xf32> to tensor<2x!q6>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[11, 127]> : tensor<2xi8> -> tensor<2x!q1>
// CHECK-NEXT: func.return [[V0]], [[V4]], [[V5]], [[V6]] : tensor<2x!q3>, tensor<2x!q6>, tensor<2x!q6>, tensor<2x!q1>

// What only limits a value lets the quantize cast pass: 0 and 1 are integers of the type as well. A float bias in front
// of it becomes integers of the scale of the sums, so that all of it is one operation.
func.func @bias(%x: tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5>>) -> (tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>, tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>) {
  %w = nn.constant dense<1> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %b = nn.constant dense<[0.3, -0.7]> : tensor<2xf32> {origin = "b"}
  %0 = quant.dcast %x : tensor<1x1x4x4x!quant.uniform<i8:f32, 0.5>> to tensor<1x1x4x4xf32>
  %1 = quant.dcast %w : tensor<2x1x2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x1x2x2xf32>
  %2 = nn.conv %0, %1, %b : (tensor<1x1x4x4xf32>, tensor<2x1x2x2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32> {origin = "relu_conv"}
  %3 = nn.relu %2 : tensor<1x2x3x3xf32> {origin = "relu"}
  %4 = quant.qcast %3 : tensor<1x2x3x3xf32> to tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>
  %5 = nn.conv %0, %1, %b : (tensor<1x1x4x4xf32>, tensor<2x1x2x2xf32>, tensor<2xf32>) -> tensor<1x2x3x3xf32> {origin = "clip_conv"}
  %6 = nn.clip %5 {minimum = 0.0 : f32, maximum = 1.0 : f32} : tensor<1x2x3x3xf32> {origin = "clip"}
  %7 = quant.qcast %6 : tensor<1x2x3x3xf32> to tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>
  func.return %4, %7 : tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>, tensor<1x2x3x3x!quant.uniform<i8:f32, 0.25:-3>>
}

// A bias that integers of the scale of the sums miss by more than half a step of the result would change it by several:
// 0.24 of 0.5 is 0, which is 24 steps of 0.01 away. Within half a step it is taken: 0.24 of 0.5 and steps of 0.48.
// CHECK-LABEL: func.func @coarse_bias
// CHECK: nn.conv {{.*}} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x1xf32>
// CHECK: nn.conv {{.*}} : (tensor<1x1x1x1x!q{{.+}}>, tensor<1x1x1x1x!q{{.+}}>, tensor<1x!q{{.+}}>) -> tensor<1x1x1x1x!q
func.func @coarse_bias(%x: tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>>) -> (tensor<1x1x1x1x!quant.uniform<i8:f32, 0.01>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 0.48>>) {
  %real = quant.dcast %x : tensor<1x1x1x1x!quant.uniform<i8:f32, 1.0>> to tensor<1x1x1x1xf32>
  %stored = nn.constant dense<3> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!quant.uniform<i8:f32, 0.5>>
  %w = quant.dcast %stored : tensor<1x1x1x1x!quant.uniform<i8:f32, 0.5>> to tensor<1x1x1x1xf32>
  %b = nn.constant dense<0.24> : tensor<1xf32>
  %0 = nn.conv %real, %w, %b : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x1xf32>
  %1 = quant.qcast %0 : tensor<1x1x1x1xf32> to tensor<1x1x1x1x!quant.uniform<i8:f32, 0.01>>
  %2 = nn.conv %real, %w, %b : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1x1xf32>
  %3 = quant.qcast %2 : tensor<1x1x1x1xf32> to tensor<1x1x1x1x!quant.uniform<i8:f32, 0.48>>
  func.return %1, %3 : tensor<1x1x1x1x!quant.uniform<i8:f32, 0.01>>, tensor<1x1x1x1x!quant.uniform<i8:f32, 0.48>>
}

// A bias that 32 bits do not hold leaves its operation in float; so does one in front of a float result.
func.func @bias_stays(%x: tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>>) -> (tensor<1x1x!quant.uniform<i8:f32, 0.25>>, tensor<1x1xf32>) {
  %w = nn.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>>
  %v = nn.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!quant.uniform<i8:f32, 1.0>>
  %b = nn.constant dense<0.3> : tensor<1xf32>
  %0 = quant.dcast %x : tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>> to tensor<1x1xf32>
  %1 = quant.dcast %w : tensor<1x1x!quant.uniform<i8:f32, 1.0e-8>> to tensor<1x1xf32>
  %2 = nn.fully_connected %0, %1, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> {origin = "too_large"}
  %3 = quant.qcast %2 : tensor<1x1xf32> to tensor<1x1x!quant.uniform<i8:f32, 0.25>>
  %4 = quant.dcast %v : tensor<1x1x!quant.uniform<i8:f32, 1.0>> to tensor<1x1xf32>
  %5 = nn.fully_connected %0, %4, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32> {origin = "float_result"}
  func.return %3, %5 : tensor<1x1x!quant.uniform<i8:f32, 0.25>>, tensor<1x1xf32>
}

// If only the weights were dequantized, the bias has no scale of sums: it stays a float, as the contraction does.
// CHECK-LABEL: func.func @weights_alone(
// CHECK: nn.fully_connected {{.*}} : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
func.func @weights_alone(%x: tensor<1x1xf32>) -> tensor<1x1x!x> {
  %w = nn.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!x>
  %b = nn.constant dense<0.3> : tensor<1xf32>
  %0 = quant.dcast %w : tensor<1x1x!x> to tensor<1x1xf32>
  %1 = nn.fully_connected %x, %0, %b : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  %2 = quant.qcast %1 : tensor<1x1xf32> to tensor<1x1x!x>
  func.return %2 : tensor<1x1x!x>
}

// Operands of other types are rescaled where they are joined, one by one; the one that has the type already is not.
func.func @rescaled(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x!quant.uniform<i8:f32, 0.25:-3>>, %c: tensor<2xf32>) -> tensor<7x!quant.uniform<i8:f32, 0.25:-3>> {
  %0 = quant.dcast %a : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
  %1 = quant.dcast %b : tensor<3x!quant.uniform<i8:f32, 0.25:-3>> to tensor<3xf32>
  %2 = nn.concat %0, %1, %c {axis = 0} : (tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<7xf32> {origin = "joined"}
  %3 = quant.qcast %2 : tensor<7xf32> to tensor<7x!quant.uniform<i8:f32, 0.25:-3>>
  func.return %3 : tensor<7x!quant.uniform<i8:f32, 0.25:-3>>
}

// What only the run knows has no integers of the type: the parts stay floats.
// CHECK-LABEL: @joined_with_floats(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q{{.+}}>, [[V1:%.+]]: tensor<2xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V0]]
// CHECK-NEXT: [[V3:%.+]] = nn.concat [[V2]], [[V1]] {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<4xf32>
func.func @joined_with_floats(%x: tensor<2x!x>, %y: tensor<2xf32>) -> tensor<4xf32> {
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1 = nn.concat %0, %y {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
