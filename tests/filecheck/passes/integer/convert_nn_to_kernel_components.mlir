// RUN: qmlir run %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel | qmlir run -

// A composite whose parts have types of their own is lowered part by part; one bit with a sign is 0 and -1.

!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8<-127:127>:f32, 0.25>
!b = !quant.uniform<i32:f32, 0.125>
!one = !quant.uniform<i8:f32, 1.0>
!two = !quant.uniform<i8:f32, 2.0>
!bit = !quant.uniform<i1:f32, 2.0>
!flag = !quant.uniform<u1:f32, 2.0:1>

// Sums 400 and -600 of scale 1/8 are 50 and -75. In steps of 16 they are 48 and -80; with the bias 49.5 and -83.25.
func.func @fully_connected() {
  %x = nn.constant dense<[[13, -7, 23, 3]]> : tensor<1x4xi8> -> tensor<1x4x!x>
  %w = nn.constant dense<[[10, -20, 5, 25], [0, 30, -15, 20]]> : tensor<2x4xi8> -> tensor<2x4x!w>
  %b = nn.constant dense<[12, -26]> : tensor<2xi32> -> tensor<2x!b>
  %y = nn.fully_connected %x, %w, %b {components = {matmul = !quant.uniform<i8:f32, 16.0>}}
      : (tensor<1x4x!x>, tensor<2x4x!w>, tensor<2x!b>) -> tensor<1x2x!quant.uniform<i8:f32, 1.5:-9>>
  %expected = nn.constant dense<[[24, -65]]> : tensor<1x2xi8> -> tensor<1x2x!quant.uniform<i8:f32, 1.5:-9>>
  check.expect_eq %y, %expected : tensor<1x2x!quant.uniform<i8:f32, 1.5:-9>>
  func.return
}

// Half a step of 16 is one step where ties go up: the parts requantize as the composite does.
func.func @requantize_of_parts() {
  %x = nn.constant dense<67> : tensor<1x1xi8> -> tensor<1x1x!x>
  %w = nn.constant dense<1> : tensor<1x1xi8> -> tensor<1x1x!w>
  %b = nn.constant dense<0> : tensor<1xi32> -> tensor<1x!b>
  %y = nn.fully_connected %x, %w, %b
      {components = {matmul = !quant.uniform<i8:f32, 16.0>}, requantize = #kernel.requantize<shift, up>}
      : (tensor<1x1x!x>, tensor<1x1x!w>, tensor<1x!b>) -> tensor<1x1x!two>
  %expected = nn.constant dense<8> : tensor<1x1xi8> -> tensor<1x1x!two>
  check.expect_eq %y, %expected : tensor<1x1x!two>
  func.return
}

// A part with a scale for each index: the operation has no table.
func.func @scales_of_a_part() {
  %y = nn.constant dense<[5, 5]> : tensor<2xi8> -> tensor<2x!x>
  %gate = nn.hard_sigmoid %y {components = {
      alpha = !quant.uniform<i8:f32, 0.25>, mul = !quant.uniform<i8:f32:0, {0.25, 1.0}>,
      beta = !quant.uniform<i8:f32, 0.5>, add = !quant.uniform<i8:f32:0, {0.25, 1.0}>}}
      : (tensor<2x!x>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  // 1 by 0.25 is 0.25, or 0 in whole numbers; with 0.5 more 0.75, or 0 (ties to even).
  %expected = nn.constant dense<[3, 0]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  check.expect_eq %gate, %expected : tensor<2x!quant.uniform<i8:f32, 0.25>>
  func.return
}

// Means of elements of several scales.
func.func @mean_of_blocks() {
  %x = nn.constant dense<[[[1, 2], [3, 4]]]> : tensor<1x2x2xi8>
      -> tensor<1x2x2x!quant.uniform<i8:f32:{2:1}, {{{1.0, 2.0}}}>>
  %y = nn.global_average_pool %x : (tensor<1x2x2x!quant.uniform<i8:f32:{2:1}, {{{1.0, 2.0}}}>>) -> tensor<1x2x1x!x>
  // 5 / 2 and 11 / 2, in halves beside a zero point of 3.
  %expected = nn.constant dense<[[[8], [14]]]> : tensor<1x2x1xi8> -> tensor<1x2x1x!x>
  check.expect_eq %y, %expected : tensor<1x2x1x!x>
  func.return
}

// Sums of scale 1/8 are 1.5, -0.75 and -2.5, 1.25; in steps of 2 they are 2, 0 and -2, 2.
func.func @conv() {
  %x = nn.constant dense<[[[7, 1]]]> : tensor<1x1x2xi8> -> tensor<1x1x2x!x>
  %w = nn.constant dense<[[[3]], [[-5]]]> : tensor<2x1x1xi8> -> tensor<2x1x1x!w>
  %b = nn.constant dense<[12, -26]> : tensor<2xi32> -> tensor<2x!b>
  %y = nn.conv %x, %w, %b {components = {correlation = !two}}
      : (tensor<1x1x2x!x>, tensor<2x1x1x!w>, tensor<2x!b>) -> tensor<1x2x2x!quant.uniform<i8:f32, 0.75:-9>>
  %expected = nn.constant dense<[[[-4, -7], [-16, -11]]]> : tensor<1x2x2xi8>
      -> tensor<1x2x2x!quant.uniform<i8:f32, 0.75:-9>>
  check.expect_eq %y, %expected : tensor<1x2x2x!quant.uniform<i8:f32, 0.75:-9>>
  func.return
}

func.func @one_bit() {
  %x = nn.constant dense<[[3, 5]]> : tensor<1x2xi8> -> tensor<1x2x!one>
  %w = nn.constant dense<[[-1, 0]]> : tensor<1x2xi1> -> tensor<1x2x!bit>
  %product = nn.matmul %x, %w {transpose_b = true} : (tensor<1x2x!one>, tensor<1x2x!bit>) -> tensor<1x1x!one>
  %minus_6 = nn.constant dense<-6> : tensor<1x1xi8> -> tensor<1x1x!one>
  check.expect_eq %product, %minus_6 : tensor<1x1x!one>
  %reals = quant.dcast %w : tensor<1x2x!bit> to tensor<1x2xf32>
  %expected = nn.constant dense<[[-2.0, 0.0]]> : tensor<1x2xf32>
  check.expect_eq %reals, %expected : tensor<1x2xf32>
  %bits = quant.qcast %reals : tensor<1x2xf32> to tensor<1x2x!bit>
  check.expect_eq %bits, %w : tensor<1x2x!bit>
  %sizes = nn.abs %w : (tensor<1x2x!bit>) -> tensor<1x2x!one>
  %two = nn.constant dense<[[2, 0]]> : tensor<1x2xi8> -> tensor<1x2x!one>
  check.expect_eq %sizes, %two : tensor<1x2x!one>
  %flags = nn.constant dense<[1, 0]> : tensor<2xui1> -> tensor<2x!flag>
  %below = quant.dcast %flags : tensor<2x!flag> to tensor<2xf32>
  %minus_2 = nn.constant dense<[0.0, -2.0]> : tensor<2xf32>
  check.expect_eq %below, %minus_2 : tensor<2xf32>
  func.return
}
