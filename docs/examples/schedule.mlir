func.func @main(%x: tensor<8x16xi8>, %w: tensor<32x16xi8>) -> tensor<8x32xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<8x16xi8>, tensor<32x16xi8>) -> tensor<8x32xi32> attributes {
    schedule = #kernel.schedule<variant = "splat", rows = 2, vectors = 1, lanes = 8>
  } {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<8x32xi32>
}
