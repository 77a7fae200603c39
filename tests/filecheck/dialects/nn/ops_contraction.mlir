// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// Matrix products and convolutions, of one axis to three, of sizes that are not known.

// CHECK-LABEL: @matmul(
// CHECK-SAME: [[V0:%.+]]: tensor<?x1x4x?xf32>, [[V1:%.+]]: tensor<3x8x5xf32>, [[V2:%.+]]: tensor<5xf32>, [[V3:%.+]]: tensor<2x3xui8>, [[V4:%.+]]: tensor<3x2xui8>) -> (tensor<?x3x4xf32>, tensor<2x2xui8>)
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V0]], [[V1]] : (tensor<?x1x4x?xf32>, tensor<3x8x5xf32>) -> tensor<?x3x4x5xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.matmul [[V5]], [[V2]] : (tensor<?x3x4x5xf32>, tensor<5xf32>) -> tensor<?x3x4xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V3]], [[V4]] : (tensor<2x3xui8>, tensor<3x2xui8>) -> tensor<2x2xui8>
// CHECK-NEXT: func.return [[V6]], [[V7]] : tensor<?x3x4xf32>, tensor<2x2xui8>
func.func @matmul(%x: tensor<?x1x4x?xf32>, %y: tensor<3x8x5xf32>, %v: tensor<5xf32>, %i: tensor<2x3xui8>, %j: tensor<3x2xui8>) -> (tensor<?x3x4xf32>, tensor<2x2xui8>) {
  %0 = nn.matmul %x, %y : (tensor<?x1x4x?xf32>, tensor<3x8x5xf32>) -> tensor<?x3x4x5xf32>
  %1 = nn.matmul %0, %v : (tensor<?x3x4x5xf32>, tensor<5xf32>) -> tensor<?x3x4xf32>
  %2 = nn.matmul %i, %j : (tensor<2x3xui8>, tensor<3x2xui8>) -> tensor<2x2xui8>
  func.return %1, %2 : tensor<?x3x4xf32>, tensor<2x2xui8>
}

// CHECK-LABEL: @conv(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x?xbf16>, [[V1:%.+]]: tensor<6x2x3xbf16>, [[V2:%.+]]: tensor<1x2x4x5x6xi32>, [[V3:%.+]]: tensor<?x2x1x2x3xi32>) -> (tensor<?x6x?xbf16>, tensor<1x?x4x4x4xi32>)
// CHECK-NEXT: [[V4:%.+]] = nn.conv [[V0]], [[V1]] {strides = [2], dilations = [2], pads = [1, 2], groups = 2} : (tensor<?x4x?xbf16>, tensor<6x2x3xbf16>) -> tensor<?x6x?xbf16>
// CHECK-NEXT: [[V5:%.+]] = nn.conv [[V2]], [[V3]] : (tensor<1x2x4x5x6xi32>, tensor<?x2x1x2x3xi32>) -> tensor<1x?x4x4x4xi32>
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<?x6x?xbf16>, tensor<1x?x4x4x4xi32>
func.func @conv(%x: tensor<?x4x?xbf16>, %w: tensor<6x2x3xbf16>, %y: tensor<1x2x4x5x6xi32>, %v: tensor<?x2x1x2x3xi32>) -> (tensor<?x6x?xbf16>, tensor<1x?x4x4x4xi32>) {
  %0 = nn.conv %x, %w {strides = [2], dilations = [2], pads = [1, 2], groups = 2} : (tensor<?x4x?xbf16>, tensor<6x2x3xbf16>) -> tensor<?x6x?xbf16>
  %1 = nn.conv %y, %v : (tensor<1x2x4x5x6xi32>, tensor<?x2x1x2x3xi32>) -> tensor<1x?x4x4x4xi32>
  func.return %0, %1 : tensor<?x6x?xbf16>, tensor<1x?x4x4x4xi32>
}

// CHECK-LABEL: @conv_transpose(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x?x5xf32>, [[V1:%.+]]: tensor<4x3x3x3xf32>, [[V2:%.+]]: tensor<6xf32>) -> tensor<?x6x?x11xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.conv_transpose [[V0]], [[V1]], [[V2]] {strides = [2, 2], pads = [1, 1, 0, 0], output_padding = [0, 1], groups = 2} : (tensor<?x4x?x5xf32>, tensor<4x3x3x3xf32>, tensor<6xf32>) -> tensor<?x6x?x11xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.conv_transpose [[V0]], [[V1]] {dilations = [1, 2]} : (tensor<?x4x?x5xf32>, tensor<4x3x3x3xf32>) -> tensor<?x3x?x9xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<?x6x?x11xf32>
func.func @conv_transpose(%x: tensor<?x4x?x5xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<6xf32>) -> tensor<?x6x?x11xf32> {
  %0 = nn.conv_transpose %x, %w, %b {strides = [2, 2], pads = [1, 1, 0, 0], output_padding = [0, 1], groups = 2} : (tensor<?x4x?x5xf32>, tensor<4x3x3x3xf32>, tensor<6xf32>) -> tensor<?x6x?x11xf32>
  %1 = nn.conv_transpose %x, %w {dilations = [1, 2]} : (tensor<?x4x?x5xf32>, tensor<4x3x3x3xf32>) -> tensor<?x3x?x9xf32>
  func.return %0 : tensor<?x6x?x11xf32>
}
