// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @rnn(
// CHECK-SAME: [[V0:%.+]]: tensor<?x?x3xf32>, [[V1:%.+]]: tensor<2x2x3xf32>, [[V2:%.+]]: tensor<2x2x2xf32>, [[V3:%.+]]: tensor<2x4xf32>, [[V4:%.+]]: tensor<?xi32>, [[V5:%.+]]: tensor<2x?x2xf32>)
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]] = nn.rnn [[V0]], [[V1]], [[V2]], [[V3]], [[V4]], [[V5]] {hidden_size = 2, direction = "bidirectional", clip = 0.5} : (tensor<?x?x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<?xi32>, tensor<2x?x2xf32>) -> (tensor<?x2x?x2xf32>, tensor<2x?x2xf32>)
// CHECK-NEXT: [[V8:%.+]], [[V9:%.+]] = nn.rnn [[V0]], [[V1]], [[V2]] {hidden_size = 2, direction = "bidirectional", activations = ["Relu", "HardSigmoid"], activation_alpha = [0.0, 0.25], activation_beta = [0.0, -1.0e-05]} : (tensor<?x?x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>) -> (tensor<?x2x?x2xf32>, tensor<2x?x2xf32>)
// CHECK-NEXT: func.return
func.func @rnn(%x: tensor<?x?x3xf32>, %w: tensor<2x2x3xf32>, %r: tensor<2x2x2xf32>, %b: tensor<2x4xf32>, %n: tensor<?xi32>, %h: tensor<2x?x2xf32>) {
  %0, %1 = nn.rnn %x, %w, %r, %b, %n, %h {hidden_size = 2, direction = "bidirectional", clip = 0.5} : (tensor<?x?x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>, tensor<2x4xf32>, tensor<?xi32>, tensor<2x?x2xf32>) -> (tensor<?x2x?x2xf32>, tensor<2x?x2xf32>)
  %2, %3 = nn.rnn %x, %w, %r {hidden_size = 2, direction = "bidirectional", activations = ["Relu", "HardSigmoid"], activation_alpha = [0.0, 0.25], activation_beta = [0.0, -1.0e-05]} : (tensor<?x?x3xf32>, tensor<2x2x3xf32>, tensor<2x2x2xf32>) -> (tensor<?x2x?x2xf32>, tensor<2x?x2xf32>)
  func.return
}

// CHECK-LABEL: @lstm(
// CHECK-SAME: [[V0:%.+]]: tensor<5x1x3xf16>, [[V1:%.+]]: tensor<1x8x3xf16>, [[V2:%.+]]: tensor<1x8x2xf16>, [[V3:%.+]]: tensor<1x1x2xf16>, [[V4:%.+]]: tensor<1x6xf16>)
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]], [[V7:%.+]] = nn.lstm [[V0]], [[V1]], [[V2]], _, _, [[V3]], [[V3]], [[V4]] {hidden_size = 2, direction = "reverse", input_forget = true} : (tensor<5x1x3xf16>, tensor<1x8x3xf16>, tensor<1x8x2xf16>, tensor<1x1x2xf16>, tensor<1x1x2xf16>, tensor<1x6xf16>) -> (tensor<5x1x1x2xf16>, tensor<1x1x2xf16>, tensor<1x1x2xf16>)
// CHECK-NEXT: func.return
func.func @lstm(%x: tensor<5x1x3xf16>, %w: tensor<1x8x3xf16>, %r: tensor<1x8x2xf16>, %h: tensor<1x1x2xf16>, %p: tensor<1x6xf16>) {
  %0, %1, %2 = nn.lstm %x, %w, %r, _, _, %h, %h, %p {hidden_size = 2, direction = "reverse", input_forget = true} : (tensor<5x1x3xf16>, tensor<1x8x3xf16>, tensor<1x8x2xf16>, tensor<1x1x2xf16>, tensor<1x1x2xf16>, tensor<1x6xf16>) -> (tensor<5x1x1x2xf16>, tensor<1x1x2xf16>, tensor<1x1x2xf16>)
  func.return
}

// CHECK-LABEL: @gru(
// CHECK-SAME: [[V0:%.+]]: tensor<5x1x3xf32>, [[V1:%.+]]: tensor<1x6x3xf32>, [[V2:%.+]]: tensor<1x6x2xf32>)
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = nn.gru [[V0]], [[V1]], [[V2]] {hidden_size = 2, linear_before_reset = true, activations = ["HardSigmoid", "Tanh"]} : (tensor<5x1x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
// CHECK-NEXT: func.return
func.func @gru(%x: tensor<5x1x3xf32>, %w: tensor<1x6x3xf32>, %r: tensor<1x6x2xf32>) {
  %0, %1 = nn.gru %x, %w, %r {hidden_size = 2, linear_before_reset = true, activations = ["HardSigmoid", "Tanh"]} : (tensor<5x1x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}
