// RUN: qmlir-opt %s --verify-each=exec --exec-function="*" -p nn-decompose,canonicalize,cse,nn-raise | filecheck %s

// The user's reshape has become one with that of the layer's last part: as many axes as the layer's result, of other sizes.
// CHECK: [[Y:%.+]], {{%.+}} = nn.rnn {{.*}} -> (tensor<2x1x3x2xf32>, tensor<1x3x2xf32>)
// CHECK: nn.reshape [[Y]]
// CHECK: -> tensor<3x1x4x1xf32> {origin = "flat"}
func.func @same_axes(%x: tensor<2x3x1xf32>, %w: tensor<1x2x1xf32>, %r: tensor<1x2x2xf32>) -> tensor<3x1x4x1xf32> {
  %y, %h = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<2x3x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xf32>) -> (tensor<2x1x3x2xf32>, tensor<1x3x2xf32>) {origin = "rnn1"}
  %0 = nn.reshape %y : (tensor<2x1x3x2xf32>) -> tensor<3x1x4x1xf32> {origin = "flat"}
  func.return %0 : tensor<3x1x4x1xf32>
}
