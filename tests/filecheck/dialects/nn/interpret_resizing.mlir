// RUN: qmlir run %s

// What a resize gives, by hand.

// The places -0.25, 0.25, 0.75 and 1.25.
func.func @half_pixel() {
  %x = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = nn.resize %x {sizes = [4], mode = "linear"} : (tensor<2xf32>) -> tensor<4xf32>
  %e = nn.constant dense<[1.0, 1.25, 1.75, 2.0]> : tensor<4xf32>
  check.expect_eq %r, %e : tensor<4xf32>
  %s = nn.resize %x {sizes = [4]} : (tensor<2xf32>) -> tensor<4xf32>
  %f = nn.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  check.expect_eq %s, %f : tensor<4xf32>
  func.return
}

// The places 0, 0.5, 1 and 1.5 of three elements: ties.
func.func @nearest() {
  %x = nn.constant dense<[10, 20, 30]> : tensor<3xi8>
  %r = nn.resize %x {scales = [2.0], coordinate_transformation_mode = "asymmetric"} : (tensor<3xi8>) -> tensor<6xi8>
  %e = nn.constant dense<[10, 10, 20, 20, 30, 30]> : tensor<6xi8>
  check.expect_eq %r, %e : tensor<6xi8>
  %s = nn.resize %x {scales = [2.0], coordinate_transformation_mode = "asymmetric", nearest_mode = "round_prefer_ceil"} : (tensor<3xi8>) -> tensor<6xi8>
  %f = nn.constant dense<[10, 20, 20, 30, 30, 30]> : tensor<6xi8>
  check.expect_eq %s, %f : tensor<6xi8>
  %b = nn.constant dense<[true, false]> : tensor<2xi1>
  %t = nn.resize %b {sizes = [3], coordinate_transformation_mode = "align_corners", nearest_mode = "ceil"} : (tensor<2xi1>) -> tensor<3xi1>
  %g = nn.constant dense<[true, false, false]> : tensor<3xi1>
  check.expect_eq %t, %g : tensor<3xi1>
  func.return
}

// As Resize of version 10: the places 0 and 1.67 when it shrinks, 0, 0.5, 1 and 1.5 when it grows.
func.func @floor_up_ceil_down() {
  %x = nn.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %r = nn.resize %x {scales = [2.0, 0.6], coordinate_transformation_mode = "asymmetric", nearest_mode = "floor_up_ceil_down"} : (tensor<1x4xf32>) -> tensor<2x2xf32>
  %e = nn.constant dense<[[1.0, 3.0], [1.0, 3.0]]> : tensor<2x2xf32>
  check.expect_eq %r, %e : tensor<2x2xf32>
  func.return
}

// The filter is twice as wide: weights 1/8, 3/8, 3/8, 1/8; what lies outside is the last element, or is left out.
func.func @antialias() {
  %x = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = nn.resize %x {scales = [0.5], mode = "linear", antialias = true} : (tensor<4xf32>) -> tensor<2xf32>
  %e = nn.constant dense<[1.625, 3.375]> : tensor<2xf32>
  check.expect_eq %r, %e : tensor<2xf32>
  %s = nn.resize %x {scales = [0.5], mode = "linear", antialias = true, exclude_outside = true} : (tensor<4xf32>) -> tensor<2xf32>
  %f = nn.constant dense<[1.7142857, 3.2857143]> : tensor<2xf32>
  check.expect_close %s, %f {relative = 0.000001} : tensor<2xf32>
  func.return
}

// Integers are rounded half to even and saturated: the cubic filter goes below 0 and above 255.
func.func @integers() {
  %x = nn.constant dense<[0, 255]> : tensor<2xui8>
  %r = nn.resize %x {sizes = [4], mode = "cubic"} : (tensor<2xui8>) -> tensor<4xui8>
  %e = nn.constant dense<[0, 58, 197, 255]> : tensor<4xui8>
  check.expect_eq %r, %e : tensor<4xui8>
  %y = nn.constant dense<[0, 1, 2]> : tensor<3xi64>
  %s = nn.resize %y {sizes = [5], mode = "linear", coordinate_transformation_mode = "align_corners"} : (tensor<3xi64>) -> tensor<5xi64>
  %f = nn.constant dense<[0, 0, 1, 2, 2]> : tensor<5xi64>
  check.expect_eq %s, %f : tensor<5xi64>
  func.return
}

// Half of the data and as much beyond: the places 1, 2 and 3 of three elements.
func.func @crop() {
  %x = nn.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %r = nn.resize %x {sizes = [3], axes = [-1], roi = [0.5, 1.5], mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = -1.0} : tensor<1x3xf32>
  %e = nn.constant dense<[[2.0, 3.0, -1.0]]> : tensor<1x3xf32>
  check.expect_eq %r, %e : tensor<1x3xf32>
  func.return
}

// Not larger: all axes by 3/2, so 3 x 4.5, rounded up to 5. Not smaller: by 2.
func.func @aspect_ratio() {
  %x = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %r = nn.resize %x {sizes = [3, 6], keep_aspect_ratio_policy = "not_larger"} : (tensor<2x3xi32>) -> tensor<3x5xi32>
  %e = nn.constant dense<[[1, 1, 2, 3, 3], [1, 1, 2, 3, 3], [4, 4, 5, 6, 6]]> : tensor<3x5xi32>
  check.expect_eq %r, %e : tensor<3x5xi32>
  %s = nn.resize %x {sizes = [1, 6], keep_aspect_ratio_policy = "not_smaller"} : (tensor<2x3xi32>) -> tensor<4x6xi32>
  func.return
}

// Scales and sizes that are known at run time only.
func.func @at_run_time() {
  %x = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %scales = nn.constant dense<[1.0, 1.5]> : tensor<2xf32>
  %r = nn.resize %x, _, %scales {coordinate_transformation_mode = "asymmetric", mode = "linear"} : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x3xf32>
  %e = nn.constant dense<[[1.0, 1.6666666, 2.0]]> : tensor<1x3xf32>
  check.expect_close %r, %e {relative = 0.000001} : tensor<1x3xf32>
  %sizes = nn.constant dense<[0]> : tensor<1xi64>
  %s = nn.resize %x, _, _, %sizes {axes = [1]} : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<1x0xf32>
  %f = nn.constant dense<> : tensor<1x0xf32>
  check.expect_eq %s, %f : tensor<1x0xf32>
  func.return
}

// f32 gives 7 for 10 * 0.7, whose exact product with the f32 nearest to 0.7 is below.
func.func @size_of_a_scale() {
  %x = nn.constant dense<0.0> : tensor<10xbf16>
  %r = nn.resize %x {scales = [0.7], mode = "linear"} : (tensor<10xbf16>) -> tensor<7xbf16>
  %e = nn.constant dense<0.0> : tensor<7xbf16>
  check.expect_eq %r, %e : tensor<7xbf16>
  func.return
}

// The nearest stored integer is moved; between them real values are: -4 and 1 stand for 0 and 2.5.
func.func @quantized() {
  %x = nn.constant dense<[-4, 1]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5:-4>>
  %r = nn.resize %x {sizes = [3], nearest_mode = "floor"} : (tensor<2x!quant.uniform<i8:f32, 0.5:-4>>) -> tensor<3x!quant.uniform<i8:f32, 0.5:-4>>
  %e = nn.constant dense<[-4, -4, 1]> : tensor<3xi8> -> tensor<3x!quant.uniform<i8:f32, 0.5:-4>>
  check.expect_eq %r, %e : tensor<3x!quant.uniform<i8:f32, 0.5:-4>>
  %s = nn.resize %x {sizes = [4], mode = "linear"} : (tensor<2x!quant.uniform<i8:f32, 0.5:-4>>) -> tensor<4x!quant.uniform<i8:f32, 0.125>>
  %f = nn.constant dense<[0, 5, 15, 20]> : tensor<4xi8> -> tensor<4x!quant.uniform<i8:f32, 0.125>>
  check.expect_eq %s, %f : tensor<4x!quant.uniform<i8:f32, 0.125>>
  func.return
}
