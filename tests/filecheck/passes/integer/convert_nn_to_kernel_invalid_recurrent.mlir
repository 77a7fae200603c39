// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-nn-to-kernel

func.func @length_at_run_time(%x: tensor<?x2x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) -> tensor<1x2x2xf32> {
  // expected-error @+1 {{'nn.rnn' op cannot be compiled: operand 'tensor<?x2x3xf32>' has dynamic dimensions}}
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<?x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<?x1x2x2xf32>, tensor<1x2x2xf32>)
  func.return %1 : tensor<1x2x2xf32>
}
