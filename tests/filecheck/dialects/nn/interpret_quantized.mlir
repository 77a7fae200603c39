// RUN: qmlir run %s

// What the operations compute on quantized values, in numbers made by hand. `real = scale * (q - zero point)`;
// results are rounded half to even before the zero point is added, and saturate.

!half = !quant.uniform<i8:f32, 0.5:3>
!one = !quant.uniform<i8:f32, 1.0>
!odd = !quant.uniform<i8:f32, 1.0:3>
!u = !quant.uniform<u8:f32, 1.0:131>
!i4 = !quant.uniform<i4:f32, 1.0:3>
!narrow = !quant.uniform<i8<-100:90>:f32, 1.0:3>
!acc = !quant.uniform<i32:f32, 0.5>

// q - z is -5, -3, -1, 1, 3, 5: relu leaves 0 and halves. 0.5 goes to 0, 1.5 and 2.5 go to 2.
func.func @ties_to_even() {
  %x = nn.constant dense<[-2, 0, 2, 4, 6, 8]> : tensor<6xi8> -> tensor<6x!half>
  %0 = nn.relu %x : (tensor<6x!half>) -> tensor<6x!odd>
  %w0 = nn.constant dense<[3, 3, 3, 3, 5, 5]> : tensor<6xi8> -> tensor<6x!odd>
  check.expect_eq %0, %w0 : tensor<6x!odd>
  %1 = nn.neg %x : (tensor<6x!half>) -> tensor<6x!odd>
  %w1 = nn.constant dense<[5, 5, 3, 3, 1, 1]> : tensor<6xi8> -> tensor<6x!odd>
  check.expect_eq %1, %w1 : tensor<6x!odd>
  %2 = nn.abs %x : (tensor<6x!half>) -> tensor<6x!u>
  %w2 = nn.constant dense<[133, 133, 131, 131, 133, 133]> : tensor<6xui8> -> tensor<6x!u>
  check.expect_eq %2, %w2 : tensor<6x!u>
  func.return
}

func.func @saturation() {
  %x = nn.constant dense<[-128, -60, -40, 0, 20, 127]> : tensor<6xi8> -> tensor<6x!one>
  %0 = nn.add %x, %x : (tensor<6x!one>, tensor<6x!one>) -> tensor<6x!narrow>
  %w0 = nn.constant dense<[-100, -100, -77, 3, 43, 90]> : tensor<6xi8> -> tensor<6x!narrow>
  check.expect_eq %0, %w0 : tensor<6x!narrow>
  %1 = nn.neg %x : tensor<6x!one>
  %w1 = nn.constant dense<[127, 60, 40, 0, -20, -127]> : tensor<6xi8> -> tensor<6x!one>
  check.expect_eq %1, %w1 : tensor<6x!one>
  %2 = nn.relu %x : (tensor<6x!one>) -> tensor<6x!i4>
  %w2 = nn.constant dense<[3, 3, 3, 3, 7, 7]> : tensor<6xi4> -> tensor<6x!i4>
  check.expect_eq %2, %w2 : tensor<6x!i4>
  func.return
}

// The bounds 1.6 and 2.5 are 5 and 5 (half to even) in the type of the result, -200 saturates.
func.func @clip_to_the_result() {
  %x = nn.constant dense<[-7, 4, 6, 8, 9, 100]> : tensor<6xi8> -> tensor<6x!half>
  %0 = nn.clip %x {minimum = 1.6, maximum = 2.5} : (tensor<6x!half>) -> tensor<6x!odd>
  %w0 = nn.constant dense<5> : tensor<6xi8> -> tensor<6x!odd>
  check.expect_eq %0, %w0 : tensor<6x!odd>
  %1 = nn.clip %x {minimum = -200.0, maximum = 2.0} : tensor<6x!half>
  %w1 = nn.constant dense<[-7, 4, 6, 7, 7, 7]> : tensor<6xi8> -> tensor<6x!half>
  check.expect_eq %1, %w1 : tensor<6x!half>
  func.return
}

// Centered data is [[1, 2], [3, 4]], centered kernels are [[1, -1], [2, 0]] and [[1, 1], [1, 1]]; scales are 0.5 and 0.25.
!k = !quant.uniform<u8:f32:0, {1.0:5, 0.5:7}>
!b = !quant.uniform<i32:f32:0, {0.5, 0.25}>
!a = !quant.uniform<i32:f32:1, {0.5, 0.25}>
func.func @convolution() {
  %x = nn.constant dense<[[[[4, 5], [6, 7]]]]> : tensor<1x1x2x2xi8> -> tensor<1x1x2x2x!half>
  %k = nn.constant dense<[[[[6, 4], [7, 5]]], [[[8, 8], [8, 8]]]]> : tensor<2x1x2x2xui8> -> tensor<2x1x2x2x!k>
  %b = nn.constant dense<[10, -20]> : tensor<2xi32> -> tensor<2x!b>
  // The accumulator: 1 - 2 + 6 and 1 + 2 + 3 + 4, plus the bias.
  %0 = nn.conv %x, %k, %b : (tensor<1x1x2x2x!half>, tensor<2x1x2x2x!k>, tensor<2x!b>) -> tensor<1x2x1x1x!a>
  %w0 = nn.constant dense<[[[[15]], [[-10]]]]> : tensor<1x2x1x1xi32> -> tensor<1x2x1x1x!a>
  check.expect_eq %0, %w0 : tensor<1x2x1x1x!a>
  // 7.5 and -2.5 go to 8 and -2.
  %1 = nn.conv %x, %k, %b : (tensor<1x1x2x2x!half>, tensor<2x1x2x2x!k>, tensor<2x!b>) -> tensor<1x2x1x1x!odd>
  %w1 = nn.constant dense<[[[[11]], [[1]]]]> : tensor<1x2x1x1xi8> -> tensor<1x2x1x1x!odd>
  check.expect_eq %1, %w1 : tensor<1x2x1x1x!odd>
  // Padding is the zero point and adds nothing: at the corners one tap of a kernel meets one element.
  %2 = nn.conv %x, %k {pads = [1, 1, 1, 1], strides = [2, 2]} : (tensor<1x1x2x2x!half>, tensor<2x1x2x2x!k>) -> tensor<1x2x2x2x!a>
  %w2 = nn.constant dense<[[[[0, 4], [-3, 4]], [[1, 2], [3, 4]]]]> : tensor<1x2x2x2xi32> -> tensor<1x2x2x2x!a>
  check.expect_eq %2, %w2 : tensor<1x2x2x2x!a>
  func.return
}

// Centered, [1, 2] and [[1, -1], [2, 0]] in steps of 0.5 and 1: sums of products in steps of 0.5, halves to even.
func.func @einstein_sums() {
  %x = nn.constant dense<[4, 5]> : tensor<2xi8> -> tensor<2x!half>
  %m = nn.constant dense<[[4, 2], [5, 3]]> : tensor<2x2xi8> -> tensor<2x2x!odd>
  %0 = nn.einsum %x, %m {equation = "a,ab->b"} : (tensor<2x!half>, tensor<2x2x!odd>) -> tensor<2x!odd>
  %w0 = nn.constant dense<[5, 3]> : tensor<2xi8> -> tensor<2x!odd>
  check.expect_eq %0, %w0 : tensor<2x!odd>
  %1 = nn.einsum %x, %m {equation = "a,ba->ab"} : (tensor<2x!half>, tensor<2x2x!odd>) -> tensor<2x2x!odd>
  %w1 = nn.constant dense<[[3, 4], [2, 3]]> : tensor<2x2xi8> -> tensor<2x2x!odd>
  check.expect_eq %1, %w1 : tensor<2x2x!odd>
  %2 = nn.einsum %m {equation = "aa->"} : (tensor<2x2x!odd>) -> tensor<!half>
  %w2 = nn.constant dense<5> : tensor<i8> -> tensor<!half>
  check.expect_eq %2, %w2 : tensor<!half>
  func.return
}

// -0.5, 0.5 and 1.5 to the powers 2, 3 and 0.5: 0.25, 0.125 and 1.22, in quarters.
!quarter = !quant.uniform<i8:f32, 0.25>
func.func @powers() {
  %x = nn.constant dense<[2, 4, 6]> : tensor<3xi8> -> tensor<3x!half>
  %e = nn.constant dense<[2.0, 3.0, 0.5]> : tensor<3xf32>
  %0 = nn.pow %x, %e : (tensor<3x!half>, tensor<3xf32>) -> tensor<3x!quarter>
  %w0 = nn.constant dense<[1, 0, 5]> : tensor<3xi8> -> tensor<3x!quarter>
  check.expect_eq %0, %w0 : tensor<3x!quarter>
  func.return
}

// Each element adds its kernel, weighted, at every second place: 2 * [1, 2, 3] and -2 * [1, 2, 3] share one place.
!per_kernel = !quant.uniform<i8:f32:1, {0.5, 1.0}>
!b2 = !quant.uniform<i32:f32:0, {0.25, 0.5}>
func.func @transposed_convolution() {
  %x = nn.constant dense<[[[5, 1]]]> : tensor<1x1x2xi8> -> tensor<1x1x2x!half>
  %k = nn.constant dense<[[[1, 2, 3], [-1, 0, 2]]]> : tensor<1x2x3xi8> -> tensor<1x2x3x!per_kernel>
  %b = nn.constant dense<[2, -1]> : tensor<2xi32> -> tensor<2x!b2>
  // Sums 4 6 6 -2 -4 in steps of 0.25, and -3 -1 5 -1 -5 in steps of 0.5.
  %0 = nn.conv_transpose %x, %k, %b {strides = [2]} : (tensor<1x1x2x!half>, tensor<1x2x3x!per_kernel>, tensor<2x!b2>) -> tensor<1x2x5x!odd>
  %w0 = nn.constant dense<[[[4, 5, 5, 3, 2], [1, 3, 5, 3, 1]]]> : tensor<1x2x5xi8> -> tensor<1x2x5x!odd>
  check.expect_eq %0, %w0 : tensor<1x2x5x!odd>
  // Padding cuts the ends off; where the stride leaves places out there is the bias alone: 0.5 and -0.5 go to 0.
  %1 = nn.conv_transpose %x, %k, %b {strides = [4], pads = [1, 0], output_padding = [1]} : (tensor<1x1x2x!half>, tensor<1x2x3x!per_kernel>, tensor<2x!b2>) -> tensor<1x2x7x!odd>
  %w1 = nn.constant dense<[[[5, 5, 3, 3, 3, 2, 3], [3, 5, 3, 3, 3, 1, 3]]]> : tensor<1x2x7xi8> -> tensor<1x2x7x!odd>
  check.expect_eq %1, %w1 : tensor<1x2x7x!odd>
  func.return
}

// Two groups of one input and two output channels have the same two scales; where each has one output channel, two.
!per_group = !quant.uniform<i8:f32:0, {0.5, 1.0}>
!b4 = !quant.uniform<i32:f32:0, {0.25, 0.5, 0.25, 0.5}>
func.func @transposed_convolution_in_groups() {
  %x = nn.constant dense<[[[5], [-1]]]> : tensor<1x2x1xi8> -> tensor<1x2x1x!half>
  %k = nn.constant dense<[[[1], [2]], [[3], [-1]]]> : tensor<2x2x1xi8> -> tensor<2x2x1x!per_kernel>
  %b = nn.constant dense<[0, 2, 0, 0]> : tensor<4xi32> -> tensor<4x!b4>
  // 2 * 1, 2 * 2 + 2, -4 * 3 and -4 * -1, in steps of 0.25 and 0.5.
  %0 = nn.conv_transpose %x, %k, %b {groups = 2} : (tensor<1x2x1x!half>, tensor<2x2x1x!per_kernel>, tensor<4x!b4>) -> tensor<1x4x1x!odd>
  %w0 = nn.constant dense<[[[3], [6], [0], [5]]]> : tensor<1x4x1xi8> -> tensor<1x4x1x!odd>
  check.expect_eq %0, %w0 : tensor<1x4x1x!odd>
  %d = nn.constant dense<[[[1]], [[3]]]> : tensor<2x1x1xi8> -> tensor<2x1x1x!per_group>
  %1 = nn.conv_transpose %x, %d {groups = 2} : (tensor<1x2x1x!half>, tensor<2x1x1x!per_group>) -> tensor<1x2x1x!odd>
  %w1 = nn.constant dense<[[[3], [-3]]]> : tensor<1x2x1xi8> -> tensor<1x2x1x!odd>
  check.expect_eq %1, %w1 : tensor<1x2x1x!odd>
  func.return
}

// A scale and a zero point for each column; and what is left for a following sum and relu.
!c = !quant.uniform<i8:f32:1, {1.0:1, 0.5:-1}>
!b1 = !quant.uniform<i32:f32:0, {0.5, 0.25}>
func.func @accumulate_then_add() {
  %x = nn.constant dense<[[4, 1], [3, 13]]> : tensor<2x2xi8> -> tensor<2x2x!half>
  %w = nn.constant dense<[[2, 3], [4, -2]]> : tensor<2x2xi8> -> tensor<2x2x!c>
  %m = nn.matmul %x, %w : (tensor<2x2x!half>, tensor<2x2x!c>) -> tensor<2x2x!a>
  %wm = nn.constant dense<[[-5, 6], [30, -10]]> : tensor<2x2xi32> -> tensor<2x2x!a>
  check.expect_eq %m, %wm : tensor<2x2x!a>
  %b = nn.constant dense<[100, 4]> : tensor<2xi32> -> tensor<2x!b1>
  %s = nn.add %m, %b : (tensor<2x2x!a>, tensor<2x!b1>) -> tensor<2x2x!a>
  %ws = nn.constant dense<[[95, 10], [130, -6]]> : tensor<2x2xi32> -> tensor<2x2x!a>
  check.expect_eq %s, %ws : tensor<2x2x!a>
  // 47.5, 2.5, 65 and 0.
  %r = nn.relu %s : (tensor<2x2x!a>) -> tensor<2x2x!odd>
  %wr = nn.constant dense<[[51, 5], [68, 3]]> : tensor<2x2xi8> -> tensor<2x2x!odd>
  check.expect_eq %r, %wr : tensor<2x2x!odd>
  func.return
}

// Two blocks of two rows: 0.5 * (1 * 1 + 2 * 2) + 2 * (3 * 1 - 4 * 1) = 0.5, which goes to 0.
!blocks = !quant.uniform<i8:f32:{0:2, 1:1}, {{1.0}, {4.0}}>
func.func @blocks() {
  %x = nn.constant dense<[[4, 5, 6, 7]]> : tensor<1x4xi8> -> tensor<1x4x!half>
  %w = nn.constant dense<[[1], [2], [1], [-1]]> : tensor<4x1xi8> -> tensor<4x1x!blocks>
  %0 = nn.matmul %x, %w : (tensor<1x4x!half>, tensor<4x1x!blocks>) -> tensor<1x1x!odd>
  %w0 = nn.constant dense<[[3]]> : tensor<1x1xi8> -> tensor<1x1x!odd>
  check.expect_eq %0, %w0 : tensor<1x1x!odd>
  func.return
}

// Padding never wins and does not count; the means are 1, 2, 3 and 4, and 2.5 with all.
func.func @pools() {
  %x = nn.constant dense<[[[[0, 1], [2, 3]]]]> : tensor<1x1x2x2xui8> -> tensor<1x1x2x2x!u>
  %0 = nn.max_pool %x {kernel = [2, 2], pads = [1, 1, 0, 0]} : tensor<1x1x2x2x!u>
  check.expect_eq %0, %x : tensor<1x1x2x2x!u>
  %y = nn.constant dense<[[[[4, 5], [6, 7]]]]> : tensor<1x1x2x2xi8> -> tensor<1x1x2x2x!odd>
  %1 = nn.average_pool %y {kernel = [2, 2], pads = [1, 1, 1, 1], strides = [2, 2]} : tensor<1x1x2x2x!odd>
  check.expect_eq %1, %y : tensor<1x1x2x2x!odd>
  // With the padding: 0.25, 0.5, 0.75 and 1.
  %2 = nn.average_pool %y {kernel = [2, 2], pads = [1, 1, 1, 1], strides = [2, 2], count_include_pad = true} : tensor<1x1x2x2x!odd>
  %w2 = nn.constant dense<[[[[3, 3], [4, 4]]]]> : tensor<1x1x2x2xi8> -> tensor<1x1x2x2x!odd>
  check.expect_eq %2, %w2 : tensor<1x1x2x2x!odd>
  %3 = nn.global_average_pool %y : (tensor<1x1x2x2x!odd>) -> tensor<1x1x1x1x!odd>
  %w3 = nn.constant dense<[[[[5]]]]> : tensor<1x1x1x1xi8> -> tensor<1x1x1x1x!odd>
  check.expect_eq %3, %w3 : tensor<1x1x1x1x!odd>
  func.return
}

func.func @reductions() {
  %x = nn.constant dense<[[4, 5, 6], [2, 2, 3]]> : tensor<2x3xi8> -> tensor<2x3x!half>
  %0 = nn.reduce_sum %x {axes = [1], keep_dims = false} : (tensor<2x3x!half>) -> tensor<2x!odd>
  %w0 = nn.constant dense<[6, 2]> : tensor<2xi8> -> tensor<2x!odd>
  check.expect_eq %0, %w0 : tensor<2x!odd>
  // All of them: 4 halves over 6 elements.
  %1 = nn.reduce_mean %x {keep_dims = false} : (tensor<2x3x!half>) -> tensor<!half>
  %w1 = nn.constant dense<4> : tensor<i8> -> tensor<!half>
  check.expect_eq %1, %w1 : tensor<!half>
  %2 = nn.reduce_max %x {axes = [0]} : (tensor<2x3x!half>) -> tensor<1x3x!half>
  %w2 = nn.constant dense<[[4, 5, 6]]> : tensor<1x3xi8> -> tensor<1x3x!half>
  check.expect_eq %2, %w2 : tensor<1x3x!half>
  func.return
}

// -3 * 3, -1 * 5, 1 * -3, in halves: -4.5, -2.5, -1.5.
func.func @product() {
  %x = nn.constant dense<[0, 2, 4]> : tensor<3xi8> -> tensor<3x!half>
  %y = nn.constant dense<[6, 8, 0]> : tensor<3xi8> -> tensor<3x!odd>
  %0 = nn.mul %x, %y : (tensor<3x!half>, tensor<3x!odd>) -> tensor<3x!odd>
  %w0 = nn.constant dense<[-1, 1, 1]> : tensor<3xi8> -> tensor<3x!odd>
  check.expect_eq %0, %w0 : tensor<3x!odd>
  func.return
}

// Different scales go through f32: 0.5 + 2, -1.5 + 4, 62 - 100.
func.func @sum_of_different_scales() {
  %x = nn.constant dense<[4, 0, 127]> : tensor<3xi8> -> tensor<3x!half>
  %y = nn.constant dense<[5, 7, -97]> : tensor<3xi8> -> tensor<3x!odd>
  %0 = nn.add %x, %y : (tensor<3x!half>, tensor<3x!odd>) -> tensor<3x!odd>
  %w0 = nn.constant dense<[5, 5, -35]> : tensor<3xi8> -> tensor<3x!odd>
  check.expect_eq %0, %w0 : tensor<3x!odd>
  // Real values: -1.5 < 4, 62 > -100; 0.5 and 2 are not equal.
  %1 = nn.less %x, %y : (tensor<3x!half>, tensor<3x!odd>) -> tensor<3xi1>
  %w1 = nn.constant dense<[true, true, false]> : tensor<3xi1>
  check.expect_eq %1, %w1 : tensor<3xi1>
  func.return
}

// 1 / (1 + e^-x) of 0 is a half; of 62 it is 1, which 8 bits of 1/256 do not hold.
!prob = !quant.uniform<u8:f32, 0.00390625>
func.func @sigmoid() {
  %x = nn.constant dense<[3, 127, -128]> : tensor<3xi8> -> tensor<3x!half>
  %0 = nn.sigmoid %x : (tensor<3x!half>) -> tensor<3x!prob>
  %w0 = nn.constant dense<[128, 255, 0]> : tensor<3xui8> -> tensor<3x!prob>
  check.expect_eq %0, %w0 : tensor<3x!prob>
  func.return
}

func.func @empty_and_scalar() {
  %x = nn.constant dense<> : tensor<0x3xi8> -> tensor<0x3x!half>
  %w = nn.constant dense<1> : tensor<3x2xi8> -> tensor<3x2x!one>
  %0 = nn.matmul %x, %w : (tensor<0x3x!half>, tensor<3x2x!one>) -> tensor<0x2x!odd>
  %w0 = nn.constant dense<> : tensor<0x2xi8> -> tensor<0x2x!odd>
  check.expect_eq %0, %w0 : tensor<0x2x!odd>
  %1 = nn.reduce_sum %x {axes = [0]} : (tensor<0x3x!half>) -> tensor<1x3x!odd>
  %w1 = nn.constant dense<3> : tensor<1x3xi8> -> tensor<1x3x!odd>
  check.expect_eq %1, %w1 : tensor<1x3x!odd>
  %s = nn.constant dense<8> : tensor<i8> -> tensor<!half>
  %2 = nn.relu %s : (tensor<!half>) -> tensor<!odd>
  %w2 = nn.constant dense<5> : tensor<i8> -> tensor<!odd>
  check.expect_eq %2, %w2 : tensor<!odd>
  %3 = nn.add %s, %s : (tensor<!half>, tensor<!half>) -> tensor<!acc>
  %w3 = nn.constant dense<10> : tensor<i32> -> tensor<!acc>
  check.expect_eq %3, %w3 : tensor<!acc>
  func.return
}

// Every element of the data adds its kernel: 1 4 4 of the first channel, 9 0 -16 of the second one. Each is a block, of
// the scale 0.25 and 0.125; the sum over 0.5 is 2.75 2 -2. With gaps: 1 2 2 4 and 9 12 -12 -16, so 2.75 4 -2 -2.
!transposed_x = !quant.uniform<i8:f32, 0.5:3>
!transposed_w = !quant.uniform<i8:f32:{0:1}, {{{0.5}}, {{0.25}}}>
!transposed_b = !quant.uniform<i8:f32, 0.25>
!transposed_y = !quant.uniform<i8:f32, 0.5>
func.func @conv_transpose_blocks() {
  %x = nn.constant dense<[[[4, 5], [6, -1]]]> : tensor<1x2x2xi8> -> tensor<1x2x2x!transposed_x>
  %w = nn.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi8> -> tensor<2x1x2x!transposed_w>
  %0 = nn.conv_transpose %x, %w : (tensor<1x2x2x!transposed_x>, tensor<2x1x2x!transposed_w>) -> tensor<1x1x3x!transposed_y>
  %e0 = nn.constant dense<[[[3, 2, -2]]]> : tensor<1x1x3xi8> -> tensor<1x1x3x!transposed_y>
  check.expect_eq %0, %e0 : tensor<1x1x3x!transposed_y>
  // The bias is 2.5, in floats, and is added last.
  %b = nn.constant dense<[10]> : tensor<1xi8> -> tensor<1x!transposed_b>
  %1 = nn.conv_transpose %x, %w, %b {strides = [2]} : (tensor<1x2x2x!transposed_x>, tensor<2x1x2x!transposed_w>, tensor<1x!transposed_b>) -> tensor<1x1x4x!transposed_y>
  %e1 = nn.constant dense<[[[8, 9, 3, 3]]]> : tensor<1x1x4xi8> -> tensor<1x1x4x!transposed_y>
  check.expect_eq %1, %e1 : tensor<1x1x4x!transposed_y>
  func.return
}
