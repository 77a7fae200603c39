// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s

!q = !quant.uniform<u8:f32, 0.5:200>

// A reshape is not a copy; a slice backwards takes its elements, and reads them from the end.
// CHECK-LABEL: @reversed(
// CHECK-SAME: [[V0:%.+]]: tensor<2x6xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.extract_slice [[V0]][0, 1] [2, 2] [1, 3] : tensor<2x6xf32> to tensor<2x2xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x2xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, ((d1 * -1) + 1))>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]] : tensor<2x2xf32>) outs([[V2]] : tensor<2x2xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V4]] : f32
// CHECK-NEXT: } -> tensor<2x2xf32>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<2x2xf32> to tensor<4x1xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<4x1xf32>
func.func @reversed(%x: tensor<2x6xf32>) -> tensor<4x1xf32> {
  %0 = nn.slice %x {starts = [4], ends = [-100], axes = [1], steps = [-3]} : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %1 = nn.reshape %0 : (tensor<2x2xf32>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}

// A slice forwards along one axis and backwards along another first takes its rows, so that the loop has as many.
// CHECK-LABEL: @forwards_and_backwards(
// CHECK-SAME: [[V0:%.+]]: tensor<4x7xf32>) -> tensor<3x7xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.extract_slice [[V0]][1, 0] [3, 7] [1, 1] : tensor<4x7xf32> to tensor<3x7xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<3x7xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, ((d1 * -1) + 6))>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]] : tensor<3x7xf32>) outs([[V2]] : tensor<3x7xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V4]] : f32
// CHECK-NEXT: } -> tensor<3x7xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<3x7xf32>
func.func @forwards_and_backwards(%x: tensor<4x7xf32>) -> tensor<3x7xf32> {
  %0 = nn.slice %x {starts = [1, -1], ends = [4, -8], axes = [0, 1], steps = [1, -1]} : (tensor<4x7xf32>) -> tensor<3x7xf32>
  func.return %0 : tensor<3x7xf32>
}

// What stands for 0 around quantized values is the zero point.
// CHECK-LABEL: @padded(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8> {nn.element = ui8}) -> (tensor<4x3xi8> {nn.element = ui8})
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x3xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant -56 : i8
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V2]] : i8) outs([[V1]] : tensor<4x3xi8>) -> tensor<4x3xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.insert_slice [[V0]] into [[V3]][1, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x3xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<4x3xi8>
func.func @padded(%x: tensor<2x3x!q>) -> tensor<4x3x!q> {
  %0 = nn.pad %x {pads = [1, 0, 1, 0]} : (tensor<2x3x!q>) -> tensor<4x3x!q>
  func.return %0 : tensor<4x3x!q>
}

// The nearest elements at twice the size are copies.
// CHECK-LABEL: @doubled(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2xi8> {nn.element = ui8}) -> (tensor<1x4xi8> {nn.element = ui8})
// CHECK-NEXT: [[V1:%.+]] = kernel.reshape [[V0]] : tensor<1x2xi8> to tensor<1x2x1xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x2x2xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V1]] : tensor<1x2x1xi8>) outs([[V2]] : tensor<1x2x2xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<1x2x2xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<1x2x2xi8> to tensor<1x4xi8>
// CHECK-NEXT: func.return [[V6]] : tensor<1x4xi8>
func.func @doubled(%x: tensor<1x2x!q>) -> tensor<1x4x!q> {
  %0 = nn.resize %x {sizes = [4], axes = [1], coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x2x!q>) -> tensor<1x4x!q>
  func.return %0 : tensor<1x4x!q>
}
