// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin -p apply-pdl{named=fxp.blocks} --verify-each=exec | filecheck %s
// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin -p apply-pdl{named=fxp.blocks},nn-decompose,nn-raise{kinds=fxp.*},cse --verify-each=exec | filecheck %s --check-prefix=RAISED

// It decomposes into parts that are profiled one by one, and is made of them again.
// RAISED-LABEL: @blocks(
// RAISED-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x2x3x3xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V3:%.+]] = fxp.conv_block [[V0]], [[V1]], [[V2]] {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = ["conv1", "relu1"], tensor = "relu1"}
// RAISED-NEXT: [[V4:%.+]] = fxp.conv_block [[V3]], [[V1]], [[V2]] {maximum = 6.0, pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = ["conv2", "clip2"], tensor = "clip2"}
// RAISED-NEXT: func.return [[V4]] : tensor<1x2x4x4xf32>
// RAISED-LABEL: @stays(
// RAISED-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x1x1x1xf32>, [[V2:%.+]]: tensor<2x2x1x1xf32>, [[V3:%.+]]: tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>)
// RAISED-NEXT: [[V4:%.+]] = nn.conv [[V0]], [[V1]] {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V5:%.+]] = nn.reshape [[V3]] : (tensor<2xf32>) -> tensor<2x1x1xf32>
// RAISED-NEXT: [[V6:%.+]] = nn.add [[V4]], [[V5]] : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {composite = {op = "nn.conv", properties = {groups = 2 : i64}}}
// RAISED-NEXT: [[V7:%.+]] = nn.relu [[V6]] : tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V8:%.+]] = nn.conv [[V0]], [[V2]] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V9:%.+]] = nn.add [[V8]], [[V5]] : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {composite = {op = "nn.conv"}}
// RAISED-NEXT: [[V10:%.+]] = nn.relu [[V9]] : tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V11:%.+]] = nn.conv [[V10]], [[V2]] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// RAISED-NEXT: [[V12:%.+]] = nn.add [[V11]], [[V5]] : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {composite = {op = "nn.conv"}}
// RAISED-NEXT: [[V13:%.+]] = nn.clip [[V12]] {minimum = -1.0, maximum = 6.0} : tensor<1x2x4x4xf32>
// RAISED-NEXT: func.return [[V7]], [[V9]], [[V10]], [[V13]] : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
// CHECK-LABEL: @blocks(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x2x3x3xf32>, [[V2:%.+]]: tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = fxp.conv_block [[V0]], [[V1]], [[V2]] {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = ["conv1", "relu1"], tensor = "relu1"}
// CHECK-NEXT: [[V4:%.+]] = fxp.conv_block [[V3]], [[V1]], [[V2]] {maximum = 6.0, pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = ["conv2", "clip2"], tensor = "clip2"}
// CHECK-NEXT: func.return [[V4]] : tensor<1x2x4x4xf32>
func.func @blocks(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>, %b: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.conv %x, %w, %b {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = "conv1"}
  %1 = nn.relu %0 : tensor<1x2x4x4xf32> {origin = "relu1"}
  %2 = nn.conv %1, %w, %b {pads = [1, 1, 1, 1]} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> {origin = "conv2"}
  %3 = nn.clip %2 {minimum = 0.0, maximum = 6.0} : tensor<1x2x4x4xf32> {origin = "clip2"}
  func.return %3 : tensor<1x2x4x4xf32>
}

// A depthwise convolution, a sum that somebody else wants, and a limit below 0 stay.
// CHECK-LABEL: @stays(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x4x4xf32>, [[V1:%.+]]: tensor<2x1x1x1xf32>, [[V2:%.+]]: tensor<2x2x1x1xf32>, [[V3:%.+]]: tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>)
// CHECK-NEXT: [[V4:%.+]] = nn.conv [[V0]], [[V1]], [[V3]] {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.relu [[V4]] : tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.conv [[V0]], [[V2]], [[V3]] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.relu [[V6]] : tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.conv [[V7]], [[V2]], [[V3]] : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.clip [[V8]] {minimum = -1.0, maximum = 6.0} : tensor<1x2x4x4xf32>
// CHECK-NEXT: func.return [[V5]], [[V6]], [[V7]], [[V9]] : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
func.func @stays(%x: tensor<1x2x4x4xf32>, %v: tensor<2x1x1x1xf32>, %w: tensor<2x2x1x1xf32>, %b: tensor<2xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = nn.conv %x, %v, %b {groups = 2} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.relu %0 : tensor<1x2x4x4xf32>
  %2 = nn.conv %x, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %3 = nn.relu %2 : tensor<1x2x4x4xf32>
  %4 = nn.conv %3, %w, %b : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %5 = nn.clip %4 {minimum = -1.0, maximum = 6.0} : tensor<1x2x4x4xf32>
  func.return %1, %2, %3, %5 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}
