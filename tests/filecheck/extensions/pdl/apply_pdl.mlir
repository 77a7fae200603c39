// RUN: qmlir-opt %s -p 'apply-pdl{file="%S/Inputs/device.pdl.mlir"}' --irdl-file %S/Inputs/device.irdl.mlir --split-input-file | filecheck %s
// RUN: qmlir-opt %s -p 'apply-pdl{file="%S/Inputs/device.pdl.mlir"}' --irdl-file %S/Inputs/device.irdl.mlir --split-input-file --pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATISTICS
// RUN: qmlir-opt %s --pdl-file %S/Inputs/device.pdl.mlir --irdl-file %S/Inputs/device.irdl.mlir --split-input-file | filecheck %s
// STATISTICS: matches of @conv_relu

!x = !quant.uniform<i8:f32, 0.5>
!w = !quant.uniform<i4:f32, 0.25>
!v = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 2.0>
!z = !quant.uniform<i8:f32, 1.5>

// What it stands for is both nodes, and its name is that of the second one.
// CHECK-LABEL: @fused
// CHECK-NEXT: "device.conv_relu"({{.*}}) {shift = 4 : i64, origin = ["conv1", "relu1"], op_type = ["Conv", "Relu"], tensor = "relu1"}
// CHECK-NEXT: func.return
func.func @fused(%x: tensor<1x2x3x!x>, %w: tensor<4x2x1x!w>) -> tensor<1x4x3x!y> {
  %0 = nn.conv %x, %w : (tensor<1x2x3x!x>, tensor<4x2x1x!w>) -> tensor<1x4x3x!y> {origin = "conv1", op_type = "Conv"}
  %1 = nn.relu %0 : tensor<1x4x3x!y> {origin = "relu1", op_type = "Relu"}
  func.return %1 : tensor<1x4x3x!y>
}

// Weights of 8 bits, a scale that is not a power of two, and a sum that somebody else wants stay.
// CHECK-LABEL: @kept
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
// CHECK-NEXT: nn.conv
// CHECK-NEXT: nn.relu
// CHECK-NEXT: func.return
func.func @kept(%x: tensor<1x2x3x!x>, %v: tensor<4x2x1x!v>, %w: tensor<4x2x1x!w>) -> (tensor<1x4x3x!y>, tensor<1x4x3x!z>, tensor<1x4x3x!y>, tensor<1x4x3x!y>) {
  %0 = nn.conv %x, %v : (tensor<1x2x3x!x>, tensor<4x2x1x!v>) -> tensor<1x4x3x!y>
  %1 = nn.relu %0 : tensor<1x4x3x!y>
  %2 = nn.conv %x, %w : (tensor<1x2x3x!x>, tensor<4x2x1x!w>) -> tensor<1x4x3x!z>
  %3 = nn.relu %2 : tensor<1x4x3x!z>
  %4 = nn.conv %x, %w : (tensor<1x2x3x!x>, tensor<4x2x1x!w>) -> tensor<1x4x3x!y>
  %5 = nn.relu %4 : tensor<1x4x3x!y>
  func.return %1, %3, %4, %5 : tensor<1x4x3x!y>, tensor<1x4x3x!z>, tensor<1x4x3x!y>, tensor<1x4x3x!y>
}
