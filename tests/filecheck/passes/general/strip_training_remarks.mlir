// RUN: qmlir-opt %s --verify-diagnostics -p strip-training

func.func @main(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %r = nn.constant dense<0.5> : tensor<f32>
  // expected-remark @+1 {{'nn.dropout' op (drop) is only for training: it is removed}}
  %0, %mask = nn.dropout %x, %r : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {origin = "drop"}
  // expected-remark @+1 {{'nn.batch_norm_training' op (norm) is only for training: nn.batch_norm in its place}}
  %1, %m, %v, %bm, %bv = nn.batch_norm_training %0, %s, %s, %s, %s : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {origin = "norm"}
  // expected-remark @+1 {{'calib.observe' op is only for training: it is removed}}
  %2 = calib.observe %1 "norm" : tensor<2x3xf32>
  // expected-remark @+1 {{'calib.fake_quant' op is only for training: quant.qcast and quant.dcast in its place}}
  %3 = calib.fake_quant %2, %r {method = "lsq"} : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %3 : tensor<2x3xf32>
}
