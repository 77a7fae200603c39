// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// Sizes, scales and the cut are properties where they are known, operands where they are not.

!q = !quant.uniform<i8:f32:1, {0.02, 0.1}>

func.func @known(%x: tensor<?x2x4x6xf32>, %q: tensor<1x2x4x6x!q>, %b: tensor<3xi1>) -> tensor<1x2x8x12x!q> {
  %0 = nn.resize %x {sizes = [8, 3], axes = [-2, -1], mode = "linear", antialias = true} : (tensor<?x2x4x6xf32>) -> tensor<?x2x8x3xf32>
  %1 = nn.resize %0 {scales = [1.0, 1.0, 0.6, 1.1], mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = true, coordinate_transformation_mode = "align_corners"} : (tensor<?x2x8x3xf32>) -> tensor<?x2x4x3xf32>
  %2 = nn.resize %q {sizes = [8, 20], axes = [2, 3], keep_aspect_ratio_policy = "not_larger", nearest_mode = "floor_up_ceil_down"} : (tensor<1x2x4x6x!q>) -> tensor<1x2x8x12x!q>
  %3 = nn.resize %b {sizes = [5], nearest_mode = "ceil", coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.1, 1.5], extrapolation_value = 1.0} : (tensor<3xi1>) -> tensor<5xi1>
  %4 = nn.resize %x {sizes = [8, 3], axes = [0, 1]} : (tensor<?x2x4x6xf32>) -> tensor<8x3x4x6xf32>
  func.return %2 : tensor<1x2x8x12x!q>
}

func.func @at_run_time(%x: tensor<1x2x4x6xi32>, %roi: tensor<4xf32>, %scales: tensor<2xf32>, %sizes: tensor<4xi64>) -> tensor<?x?x?x?xi32> {
  %0 = nn.resize %x, %roi, %scales {axes = [2, 3], coordinate_transformation_mode = "tf_crop_and_resize"} : (tensor<1x2x4x6xi32>, tensor<4xf32>, tensor<2xf32>) -> tensor<1x2x?x?xi32>
  %1 = nn.resize %0, _, _, %sizes {coordinate_transformation_mode = "asymmetric"} : (tensor<1x2x?x?xi32>, tensor<4xi64>) -> tensor<?x?x?x?xi32>
  func.return %1 : tensor<?x?x?x?xi32>
}

// CHECK: !q0 = !quant.uniform<i8:f32:1, {2.000000e-02, 1.000000e-01}>
// CHECK-LABEL: @known(
// CHECK-SAME: [[V0:%.+]]: tensor<?x2x4x6xf32>, [[V1:%.+]]: tensor<1x2x4x6x!q0>, [[V2:%.+]]: tensor<3xi1>) -> tensor<1x2x8x12x!q0>
// CHECK-NEXT: [[V3:%.+]] = nn.resize [[V0]] {sizes = [8, 3], axes = [-2, -1], mode = "linear", antialias = true} : (tensor<?x2x4x6xf32>) -> tensor<?x2x8x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.resize [[V3]] {scales = [1.0, 1.0, 0.6, 1.1], mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = true, coordinate_transformation_mode = "align_corners"} : (tensor<?x2x8x3xf32>) -> tensor<?x2x4x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.resize [[V1]] {sizes = [8, 20], axes = [2, 3], keep_aspect_ratio_policy = "not_larger", nearest_mode = "floor_up_ceil_down"} : (tensor<1x2x4x6x!q0>) -> tensor<1x2x8x12x!q0>
// CHECK-NEXT: [[V6:%.+]] = nn.resize [[V2]] {sizes = [5], nearest_mode = "ceil", coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.1, 1.5], extrapolation_value = 1.0} : (tensor<3xi1>) -> tensor<5xi1>
// CHECK-NEXT: [[V7:%.+]] = nn.resize [[V0]] {sizes = [8, 3], axes = [0, 1]} : (tensor<?x2x4x6xf32>) -> tensor<8x3x4x6xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<1x2x8x12x!q0>
// CHECK-LABEL: @at_run_time(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x6xi32>, [[V1:%.+]]: tensor<4xf32>, [[V2:%.+]]: tensor<2xf32>, [[V3:%.+]]: tensor<4xi64>) -> tensor<?x?x?x?xi32>
// CHECK-NEXT: [[V4:%.+]] = nn.resize [[V0]], [[V1]], [[V2]] {axes = [2, 3], coordinate_transformation_mode = "tf_crop_and_resize"} : (tensor<1x2x4x6xi32>, tensor<4xf32>, tensor<2xf32>) -> tensor<1x2x?x?xi32>
// CHECK-NEXT: [[V5:%.+]] = nn.resize [[V4]], _, _, [[V3]] {coordinate_transformation_mode = "asymmetric"} : (tensor<1x2x?x?xi32>, tensor<4xi64>) -> tensor<?x?x?x?xi32>
// CHECK-NEXT: func.return [[V5]] : tensor<?x?x?x?xi32>
