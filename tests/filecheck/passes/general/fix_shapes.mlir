// RUN: qmlir-opt %s -p 'fix-shapes{shapes="x=3x4"},fix-shapes{function=parameters shapes="x=2x6" values="sizes=3x-1","k=2","scales=1x2"},fix-shapes{function=quantized shapes="x=2x6"},fix-shapes{function=sequences shapes="x=5x2" values="place=-1"},fix-shapes{function=member}' | filecheck %s

// A size that has a name is given once, the size of an input is a number, and what is made of it is a constant. Types
// of results, and names of sizes, follow.
func.func @main(%x: tensor<?x4xf32> {nn.name = "x", nn.dims = ["batch", ""]}, %y: tensor<?x1xf32> {nn.name = "y", nn.dims = ["batch", ""]}) -> (tensor<?x?xf32> {nn.name = "z", nn.dims = ["batch", "n"]}, tensor<i64>) {
  %0 = nn.shape %x : (tensor<?x4xf32>) -> tensor<2xi64> {origin = "Shape"}
  %1 = nn.constant dense<0> : tensor<1xi64>
  %2 = nn.gather %0, %1 {axis = 0} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64> {origin = "Gather"}
  %3 = nn.constant dense<5> : tensor<1xi64>
  %4 = nn.concat %2, %3 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64> {origin = "Concat"}
  %5 = nn.expand %y, %4 : (tensor<?x1xf32>, tensor<2xi64>) -> tensor<?x?xf32> {origin = "Expand"}
  %6 = nn.size %5 : (tensor<?x?xf32>) -> tensor<i64> {origin = "Size"}
  func.return %5, %6 : tensor<?x?xf32>, tensor<i64>
}

// Inputs that say what is computed become properties; those of the data stay.
func.func @parameters(%x: tensor<?x?xf32> {nn.name = "x"}, %sizes: tensor<?xi64> {nn.name = "sizes"}, %k: tensor<i64> {nn.name = "k"}, %scales: tensor<2xf32> {nn.name = "scales"}) -> (tensor<?x?xf32>, tensor<?x?xi64>) {
  %0 = nn.reshape %x, %sizes : (tensor<?x?xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  %values, %indices = nn.top_k %0, %k : (tensor<?x?xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %1 = nn.resize %values, _, %scales {mode = "linear"} : (tensor<?x?xf32>, tensor<2xf32>) -> tensor<?x?xf32>
  func.return %1, %indices : tensor<?x?xf32>, tensor<?x?xi64>
}

!q = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>

// Element types stay as they were decided. Constants are computed on stored values; a reshape shares their bytes.
func.func @quantized(%x: tensor<?x6xf32> {nn.name = "x"}) -> (tensor<?x6xf32>, tensor<2x1x2xf32>) {
  %0 = quant.qcast %x {origin = "q"} : tensor<?x6xf32> to tensor<?x6x!q>
  %1 = calib.observe %0 "seen" : tensor<?x6x!q>
  %2 = nn.relu %1 : tensor<?x6x!q>
  check.expect_eq %2, %2 : tensor<?x6x!q>
  %3 = quant.dcast %2 : tensor<?x6x!q> to tensor<?x6xf32>
  %4 = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %5 = nn.reshape %4 : (tensor<2x2x!w>) -> tensor<2x1x2x!w>
  %6 = quant.dcast %5 {origin = "w"} : tensor<2x1x2x!w> to tensor<2x1x2xf32>
  func.return %3, %6 : tensor<?x6xf32>, tensor<2x1x2xf32>
}

// A sequence is told by the tensors that it is made of.
func.func @sequences(%x: tensor<?x?xf32> {nn.name = "x"}, %place: tensor<i64> {nn.name = "place"}) -> (tensor<?x?xf32>, tensor<i64>, tensor<?x?x?xf32>) {
  %0 = nn.constant dense<2> : tensor<i64>
  %1 = nn.split_to_sequence %x, %0 {axis = 0} : (tensor<?x?xf32>, tensor<i64>) -> !nn.sequence<tensor<?x?xf32>>
  %2 = nn.sequence_at %1, %place : (!nn.sequence<tensor<?x?xf32>>, tensor<i64>) -> tensor<?x?xf32>
  %3 = nn.sequence_length %1 : (!nn.sequence<tensor<?x?xf32>>) -> tensor<i64>
  %4 = nn.sequence_erase %1 : (!nn.sequence<tensor<?x?xf32>>) -> !nn.sequence<tensor<?x?xf32>>
  %5 = nn.concat_from_sequence %4 {axis = 0, new_axis = true} : (!nn.sequence<tensor<?x?xf32>>) -> tensor<?x?x?xf32>
  func.return %2, %3, %5 : tensor<?x?xf32>, tensor<i64>, tensor<?x?x?xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xf32> {nn.name = "x"}, [[V1:%.+]]: tensor<3x1xf32> {nn.name = "y"}) -> (tensor<3x5xf32> {nn.name = "z"}, tensor<i64>)
// CHECK-NEXT: [[V2:%.+]] = nn.expand [[V1]] {shape = [3, 5]} : (tensor<3x1xf32>) -> tensor<3x5xf32> {origin = "Expand"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<15> : tensor<i64> {origin = "Size"}
// CHECK-NEXT: func.return [[V2]], [[V3]] : tensor<3x5xf32>, tensor<i64>
// CHECK-LABEL: @parameters(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6xf32> {nn.name = "x"}) -> (tensor<3x4xf32>, tensor<3x2xi64>)
// CHECK-NEXT: [[V1:%.+]] = nn.reshape [[V0]] : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]] = nn.top_k [[V1]] {k = 2} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
// CHECK-NEXT: [[V4:%.+]] = nn.resize [[V2]] {mode = "linear", scales = [1.0, 2.0]} : (tensor<3x2xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return [[V4]], [[V3]] : tensor<3x4xf32>, tensor<3x2xi64>
// CHECK-LABEL: @quantized(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6xf32> {nn.name = "x"}) -> (tensor<2x6xf32>, tensor<2x1x2xf32>)
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] {origin = "q"} : tensor<2x6xf32> to tensor<2x6x!q0>
// CHECK-NEXT: [[V2:%.+]] = calib.observe [[V1]] "seen" : tensor<2x6x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V2]] : tensor<2x6x!q0>
// CHECK-NEXT: check.expect_eq [[V3]], [[V3]] : tensor<2x6x!q0>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : tensor<2x6x!q0> to tensor<2x6xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<{{\[\[}}[5.000000e-01, 1.000000e+00]], {{\[\[}}7.500000e-01, 1.000000e+00]]]> : tensor<2x1x2xf32> {origin = "w"}
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<2x6xf32>, tensor<2x1x2xf32>
// CHECK-LABEL: @sequences(
// CHECK-SAME: [[V0:%.+]]: tensor<5x2xf32> {nn.name = "x"}) -> (tensor<1x2xf32>, tensor<i64>, tensor<2x2x2xf32>)
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]], [[V3:%.+]] = nn.split [[V0]] {split = [2, 2, 1]} : (tensor<5x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x2xf32>)
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<3> : tensor<i64>
// CHECK-NEXT: [[V5:%.+]] = nn.unsqueeze [[V1]] {axes = [0]} : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.unsqueeze [[V2]] {axes = [0]} : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.concat [[V5]], [[V6]] {axis = 0} : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<2x2x2xf32>
// CHECK-NEXT: func.return [[V3]], [[V4]], [[V7]] : tensor<1x2xf32>, tensor<i64>, tensor<2x2x2xf32>

// What is taken out of a sequence may be an argument, which is not an operation's.
// CHECK-LABEL: @member(
// CHECK-SAME: [[X:%.+]]: tensor<2x3xf32>, [[Y:%.+]]: tensor<2x3xf32>)
// CHECK-NOT: nn.
// CHECK: func.return [[Y]] : tensor<2x3xf32>
func.func @member(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %i = nn.constant dense<1> : tensor<i64>
  %s = nn.sequence_construct %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> !nn.sequence<tensor<2x3xf32>>
  %0 = nn.sequence_at %s, %i : (!nn.sequence<tensor<2x3xf32>>, tensor<i64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
