// RUN: qmlir-opt %s -p 'canonicalize,nn-recognize' --verify-diagnostics

!image = tensor<1x1x2x2xf32>
!one = tensor<1xf32>

func.func @users(%x: !image) -> (!image, !image) {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %s = nn.constant dense<1.0> : !one
  %0 = nn.conv %x, %w : (!image, tensor<1x1x1x1xf32>) -> !image {origin = "conv1"}
  // expected-remark @+1 {{'nn.batch_norm' op (bn1) is not folded into the layer before it: 'nn.conv' op (conv1) has other users}}
  %1 = nn.batch_norm %0, %s, %s, %s, %s : (!image, !one, !one, !one, !one) -> !image {origin = "bn1"}
  func.return %0, %1 : !image, !image
}

func.func @statistics_of_the_batch(%x: !image, %m: !one) -> !image {
  %w = nn.constant dense<1.0> : tensor<1x1x1x1xf32>
  %s = nn.constant dense<1.0> : !one
  %0 = nn.conv_transpose %x, %w : (!image, tensor<1x1x1x1xf32>) -> !image {origin = "conv1"}
  // expected-remark @+1 {{the mean is no constant}}
  %1 = nn.batch_norm %0, %s, %s, %m, %s : (!image, !one, !one, !one, !one) -> !image {origin = "bn1"}
  func.return %1 : !image
}

func.func @weights(%x: tensor<2x3xf32>, %w: tensor<1x3xf32>) -> tensor<2x1xf32> {
  %s = nn.constant dense<1.0> : !one
  %0 = nn.fully_connected %x, %w : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x1xf32> {origin = "fc1"}
  // expected-remark @+1 {{the weight of 'nn.fully_connected' op (fc1) is no constant}}
  %1 = nn.batch_norm %0, %s, %s, %s, %s : (tensor<2x1xf32>, !one, !one, !one, !one) -> tensor<2x1xf32>
  func.return %1 : tensor<2x1xf32>
}

func.func @alone(%x: !image, %m: !one) -> !image {
  %0 = nn.batch_norm %x, %m, %m, %m, %m : (!image, !one, !one, !one, !one) -> !image
  func.return %0 : !image
}
