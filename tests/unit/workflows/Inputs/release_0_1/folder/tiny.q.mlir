!q0 = !quant.uniform<i8:f32, 0.00911776814609766>
!q1 = !quant.uniform<i8<-127:127>:f32:1, {0.012412839569151402, 0.01518166158348322, 0.005198547150939703, 0.008571949787437916, 0.011983834207057953}>
!q2 = !quant.uniform<i8:f32, 0.009436119347810745>
!q3 = !quant.uniform<i8:f32, 7.812500e-03>
!q4 = !quant.uniform<i8<-127:127>:f32:1, {0.002288054209202528, 0.01970858871936798, 0.0050302366726100445, 0.007481283042579889}>
!q5 = !quant.uniform<i8:f32, 0.004426688887178898>
builtin.module {
  func.func @main(%tokens: tensor<2x3xi64> {nn.name = "tokens"}) -> (tensor<2x3x4xf32> {nn.name = "logits"}) {
    %table = nn.constant dense<"0x07F92306E3144834D9BBDE0281F4BCD8E2EF1739F94BDC133205D7CDE70CC9F5F71E0C13DCF92B52BB534A2B0FEF506B"> : tensor<8x6xi8> -> tensor<8x6x!q0> {origin = "table"}
    %embedded = nn.gather %table, %tokens : (tensor<8x6x!q0>, tensor<2x3xi64>) -> tensor<2x3x6x!q0> {origin = "embed", op_type = "Gather", tensor = "embedded"}
    %w1 = nn.constant dense<"0x492B22BA001AD626191DD0EAD6BC49EC0BE75C371AB705282AE73C81D927"> : tensor<6x5xi8> -> tensor<6x5x!q1> {origin = "w1"}
    %hidden = nn.matmul %embedded, %w1 : (tensor<2x3x6x!q0>, tensor<6x5x!q1>) -> tensor<2x3x5x!q2> {origin = "fc1", op_type = "MatMul", tensor = "hidden"}
    %p = nn.softmax %hidden : (tensor<2x3x5x!q2>) -> tensor<2x3x5x!q3> {origin = "softmax", op_type = "Softmax", tensor = "p"}
    %w2 = nn.constant dense<"0x0B3313D6ADE4812A7F21B571C128D5CF371A10D9"> : tensor<5x4xi8> -> tensor<5x4x!q4> {origin = "w2"}
    %logits = nn.matmul %p, %w2 : (tensor<2x3x5x!q3>, tensor<5x4x!q4>) -> tensor<2x3x4x!q5> {origin = "fc2", op_type = "MatMul", tensor = "logits"}
    %0 = quant.dcast %logits {origin = "fc2", op_type = "MatMul"} : tensor<2x3x4x!q5> to tensor<2x3x4xf32>
    func.return %0 : tensor<2x3x4xf32>
  }
}
