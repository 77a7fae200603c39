// RUN: qmlir-opt %s -p canonicalize | filecheck %s
// RUN: qmlir-opt %s -p canonicalize -o %t.once && qmlir-opt %t.once -p canonicalize | diff %t.once -

func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4x2xf32>) {
  %0 = nn.transpose %x {permutation = [1, 0, 2]} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {origin = "t1"}
  %1 = nn.transpose %0 {permutation = [1, 0, 2]} : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32> {origin = "t2"}
  %2 = nn.transpose %0 {permutation = [0, 2, 1]} : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32> {origin = "t3"}
  func.return %1, %2 : tensor<2x3x4xf32>, tensor<3x4x2xf32>
}

func.func @reshapes(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) {
  %0 = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = nn.reshape %0 : (tensor<6xf32>) -> tensor<2x3xf32>
  %2 = nn.reshape %0 : (tensor<6xf32>) -> tensor<3x2xf32>
  func.return %1, %2 : tensor<2x3xf32>, tensor<3x2xf32>
}

// Which size is the unknown one cannot be told: the reshape stays.
func.func @unknown_sizes(%x: tensor<?x?xf32>, %shape: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = nn.reshape %x, %shape : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

func.func @whole_slice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.slice %x {starts = [0], ends = [9223372036854775807]} : tensor<4xf32>
  %1 = nn.concat %0 {axis = 0} : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// A slice that reverses has the same type, and stays.
func.func @reversal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.slice %x {starts = [-1], ends = [-9223372036854775807], steps = [-1]} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

func.func @idempotent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.relu %x : tensor<4xf32> {origin = "r1"}
  %1 = nn.relu %0 : tensor<4xf32> {origin = "r2"}
  %2 = nn.abs %1 : tensor<4xf32>
  %3 = nn.abs %2 : tensor<4xf32>
  %4 = nn.cast %3 : tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

!q = !quant.uniform<i8:f32, 0.1>
!p = !quant.uniform<i8:f32, 0.2>
// Between different types a relu rescales.
func.func @rescaling_relu(%x: tensor<4x!q>) -> tensor<4x!p> {
  %0 = nn.relu %x : tensor<4x!q>
  %1 = nn.relu %0 : (tensor<4x!q>) -> tensor<4x!p>
  func.return %1 : tensor<4x!p>
}

// -(-128) saturates on quantized values, so the pair stays there; it goes on floats and on integers that wrap.
func.func @negations(%x: tensor<4xf32>, %i: tensor<4xi8>, %q: tensor<4x!q>) -> (tensor<4xf32>, tensor<4xi8>, tensor<4x!q>) {
  %0 = nn.neg %x : tensor<4xf32>
  %1 = nn.neg %0 : tensor<4xf32>
  %2 = nn.neg %i : tensor<4xi8>
  %3 = nn.neg %2 : tensor<4xi8>
  %4 = nn.neg %q : tensor<4x!q>
  %5 = nn.neg %4 : tensor<4x!q>
  func.return %1, %3, %5 : tensor<4xf32>, tensor<4xi8>, tensor<4x!q>
}

// The result has a length that the input leaves open: another type.
func.func @negations_of_an_open_length(%x: tensor<?xf32>) -> tensor<4xf32> {
  %0 = nn.neg %x : tensor<?xf32>
  %1 = nn.neg %0 : (tensor<?xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

func.func @constants() -> (tensor<3xf32>, tensor<2xi32>, tensor<2x!q>) {
  %0 = nn.constant dense<[1.0, 2.0, 0.1]> : tensor<3xf32> {origin = "a"}
  %1 = nn.add %0, %0 : tensor<3xf32> {origin = "sum"}
  %2 = nn.constant dense<[7, -7]> : tensor<2xi32>
  %3 = nn.constant dense<2> : tensor<i32>
  %4 = nn.div %2, %3 : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %5 = nn.constant dense<[[1, 2]]> : tensor<1x2xi8> -> tensor<1x2x!q>
  %6 = nn.reshape %5 : (tensor<1x2x!q>) -> tensor<2x!q>
  func.return %1, %4, %6 : tensor<3xf32>, tensor<2xi32>, tensor<2x!q>
}

// scale / sqrt(variance) is 2 and 4 for the two channels. What is merged gives the tensor that the batch norm gave.
func.func @batch_norm(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = nn.constant dense<[[[[1.0]]], [[[10.0]]]]> : tensor<2x1x1x1xf32> {origin = "w"}
  %b = nn.constant dense<[0.5, 0.25]> : tensor<2xf32> {origin = "b"}
  %s = nn.constant dense<[2.0, 8.0]> : tensor<2xf32>
  %o = nn.constant dense<[100.0, 200.0]> : tensor<2xf32>
  %m = nn.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %v = nn.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w, %b : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1", op_type = "Conv", tensor = "c"}
  %1 = nn.batch_norm %0, %s, %o, %m, %v {epsilon = 0.0} : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = "bn1", op_type = "BatchNormalization", tensor = "n"}
  func.return %1 : tensor<1x2x2x2xf32>
}

// A frozen batch norm is a factor and an addend of each channel: the factor goes into the weights.
func.func @factor(%x: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %w = nn.constant dense<[[[[1.0]]], [[[10.0]]]]> : tensor<2x1x1x1xf32> {origin = "w"}
  %f = nn.constant dense<[[[3.0]], [[5.0]]]> : tensor<2x1x1xf32> {origin = "f"}
  %0 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1", op_type = "Conv"}
  %1 = nn.mul %0, %f : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "mul1", op_type = "Mul", tensor = "m"}
  func.return %1 : tensor<1x2x2x2xf32>
}

// One factor for all channels scales the bias, too.
func.func @scalar(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<[[1.0], [10.0]]> : tensor<2x1xf32>
  %b = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %f = nn.constant dense<4.0> : tensor<f32>
  %0 = nn.fully_connected %x, %w, %b : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = nn.mul %f, %0 : (tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// Factors of rows, factors that make the result larger, and factors that are computed are none of channels.
func.func @no_factor(%x: tensor<1x1x2x2xf32>, %c: tensor<2x1x1xf32>) -> (tensor<1x2x2x2xf32>, tensor<3x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x1x1x1xf32>
  %rows = nn.constant dense<[[3.0], [5.0]]> : tensor<2x1xf32>
  %batch = nn.constant dense<2.0> : tensor<3x1x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "conv1"}
  %1 = nn.mul %0, %rows : (tensor<1x2x2x2xf32>, tensor<2x1xf32>) -> tensor<1x2x2x2xf32>
  %2 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "conv2"}
  %3 = nn.mul %2, %batch : (tensor<1x2x2x2xf32>, tensor<3x1x1x1xf32>) -> tensor<3x2x2x2xf32>
  %4 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "conv3"}
  %5 = nn.mul %4, %c : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  func.return %1, %3, %5 : tensor<1x2x2x2xf32>, tensor<3x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// A convolution that something else reads keeps its own values.
func.func @batch_norm_shared(%x: tensor<1x1x2x2xf32>, %s: tensor<1xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %0 = nn.conv %x, %w : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %1 = nn.batch_norm %0, %s, %s, %s, %s : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  func.return %0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}


// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 2.000000e-01>
// CHECK-LABEL: @transposes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4x2xf32>)
// CHECK-NEXT: [[V1:%.+]] = nn.transpose [[V0]] {permutation = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {origin = "t3"}
// CHECK-NEXT: func.return [[V0]], [[V1]] : tensor<2x3x4xf32>, tensor<3x4x2xf32>
// CHECK-LABEL: @reshapes(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>)
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: func.return [[V0]], [[V1]] : tensor<2x3xf32>, tensor<3x2xf32>
// CHECK-LABEL: @unknown_sizes(
// CHECK-SAME: [[V0:%.+]]: tensor<?x?xf32>, [[V1:%.+]]: tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[V0]], [[V1]] : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<?x?xf32>
// CHECK-LABEL: @whole_slice(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<4xf32>
// CHECK-LABEL: @reversal(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.slice [[V0]] {starts = [-1], ends = [-9223372036854775807], steps = [-1]} : tensor<4xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<4xf32>
// CHECK-LABEL: @idempotent(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<4xf32> {origin = ["r1", "r2"]}
// CHECK-NEXT: [[V2:%.+]] = nn.abs [[V1]] : tensor<4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<4xf32>
// CHECK-LABEL: @rescaling_relu(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!q0>) -> tensor<4x!q1>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<4x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : (tensor<4x!q0>) -> tensor<4x!q1>
// CHECK-NEXT: func.return [[V2]] : tensor<4x!q1>
// CHECK-LABEL: @negations(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>, [[V1:%.+]]: tensor<4xi8>, [[V2:%.+]]: tensor<4x!q0>) -> (tensor<4xf32>, tensor<4xi8>, tensor<4x!q0>)
// CHECK-NEXT: [[V3:%.+]] = nn.neg [[V2]] : tensor<4x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.neg [[V3]] : tensor<4x!q0>
// CHECK-NEXT: func.return [[V0]], [[V1]], [[V4]] : tensor<4xf32>, tensor<4xi8>, tensor<4x!q0>
// CHECK-LABEL: @negations_of_an_open_length(
// CHECK-SAME: [[V0:%.+]]: tensor<?xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.neg [[V0]] : tensor<?xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.neg [[V1]] : (tensor<?xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<4xf32>
// CHECK-LABEL: @constants(
// CHECK-SAME: ) -> (tensor<3xf32>, tensor<2xi32>, tensor<2x!q0>)
// CHECK-NEXT: [[V0:%.+]] = nn.constant dense<[2.000000e+00, 4.000000e+00, 0.2]> : tensor<3xf32> {origin = "sum"}
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[3, -3]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[1, 2]> : tensor<2xi8> -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V0]], [[V1]], [[V2]] : tensor<3xf32>, tensor<2xi32>, tensor<2x!q0>
// CHECK-LABEL: @batch_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}2.000000e+00]]], {{\[\[}}[4.000000e+01]]]]> : tensor<2x1x1x1xf32> {origin = ["w", "bn1"], op_type = ["", "BatchNormalization"]}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[1.010000e+02, 1.970000e+02]> : tensor<2xf32> {origin = ["b", "bn1"], op_type = ["", "BatchNormalization"]}
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V0]], [[V1]], [[V2]] : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x2x2xf32> {origin = ["conv1", "bn1"], op_type = ["Conv", "BatchNormalization"], tensor = "n"}
// CHECK-NEXT: func.return [[V3]] : tensor<1x2x2x2xf32>
// CHECK-LABEL: @factor(
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}3.000000e+00]]], {{\[\[}}[5.000000e+01]]]]> : tensor<2x1x1x1xf32> {origin = ["w", "mul1"], op_type = ["", "Mul"]}
// CHECK-NEXT: [[V2:%.+]] = nn.conv [[V0:%.+]], [[V1]] : (tensor<1x1x2x2xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = ["conv1", "mul1"], op_type = ["Conv", "Mul"], tensor = "m"}
// CHECK-NEXT: func.return [[V2]] : tensor<1x2x2x2xf32>
// CHECK-LABEL: @scalar(
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}4.000000e+00], [4.000000e+01]]> : tensor<2x1xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[2.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.fully_connected [[V0:%.+]], [[V1]], [[V2]] :
// CHECK-NEXT: func.return [[V3]] : tensor<2x2xf32>
// CHECK-LABEL: @no_factor(
// CHECK: nn.mul {{.*}}, tensor<2x1xf32>)
// CHECK: nn.mul {{.*}}, tensor<3x1x1x1xf32>)
// CHECK: nn.mul {{.*}}, %c :
// CHECK: func.return
// CHECK-LABEL: @batch_norm_shared(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x2xf32>, [[V1:%.+]]: tensor<1xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<{{\[\[}}{{\[\[}}1.000000e+00]]]]> : tensor<1x1x1x1xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.conv [[V0]], [[V2]] : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.batch_norm [[V3]], [[V1]], [[V1]], [[V1]], [[V1]] : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
