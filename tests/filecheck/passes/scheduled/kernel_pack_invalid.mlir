// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-pack

func.func @computed(%x: tensor<1x6xi8>, %w: tensor<1x6xi4>) -> tensor<1x1xi32> {
  // expected-error@+1 {{'kernel.matmul' op has weights that are computed: 'u8s4_dot' packs constants only}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x6xi8>, tensor<1x6xi4>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}
