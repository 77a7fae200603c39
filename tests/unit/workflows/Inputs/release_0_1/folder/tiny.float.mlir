#w0 = dense<"0x6CBF803D7F4687BDBDF2A33EDFD5563DA12189BEFD22393E79E9263FE673F23EFE27B4BE55F921BFEA8E9FBE6E45A93C4ECD94BFEC0AE0BD037A1FBFE075BBBE8F548BBE18F221BE3DC1523E1471053F979E83BD46E82E3F334AAABE21F9333ED249E73E8589403DF855BEBE32F6EBBE0A5B6ABED57AE13D2B3B01BF1F32D6BDE20BA3BDDB748A3E9ACFDB3D69F3353E5061A7BE70B984BD9EB2C83EC0283F3F0F2921BF41C8413FA5452C3F0604C83EBA66073E7EBA20BE6CA03A3FBFE97A3F"> : tensor<8x6xf32>
#w1 = dense<"0xF99B663F5255283F91FA363E2FAA1ABFFAF311BBBE0EA83E07E924BF704D4A3E18175C3EDB2FB23E2D9117BF5765A9BE71745FBE12BC15BF9BA35E3F03E87DBEB56E283E9F6304BE3DAF4A3F9701293F6623A23E4E068DBF551CD53C0F06AF3ED081003F282F9EBEAB37693FE20329BFE759A9BE705FEF3E"> : tensor<6x5xf32>
#w2 = dense<"0x7EEDC83C3327803F2D0BC13D0219A2BE015041BEADAA0BBF068B23BFA662A13E48C7943E1AB4253FD82DC1BEAC34583F7B2413BE3686493F1B965DBEA248BCBEBDC7FF3DA806043FB2DFA43D38E595BE"> : tensor<5x4xf32>
builtin.module {
  func.func @main(%tokens: tensor<2x3xi64> {nn.name = "tokens"}) -> (tensor<2x3x4xf32> {nn.name = "logits"}) {
    %table = nn.constant #w0 {origin = "table"}
    %embedded = nn.gather %table, %tokens : (tensor<8x6xf32>, tensor<2x3xi64>) -> tensor<2x3x6xf32> {origin = "embed", op_type = "Gather", tensor = "embedded"}
    %w1 = nn.constant #w1 {origin = "w1"}
    %hidden = nn.matmul %embedded, %w1 : (tensor<2x3x6xf32>, tensor<6x5xf32>) -> tensor<2x3x5xf32> {origin = "fc1", op_type = "MatMul", tensor = "hidden"}
    %p = nn.softmax %hidden : tensor<2x3x5xf32> {origin = "softmax", op_type = "Softmax", tensor = "p"}
    %w2 = nn.constant #w2 {origin = "w2"}
    %logits = nn.matmul %p, %w2 : (tensor<2x3x5xf32>, tensor<5x4xf32>) -> tensor<2x3x4xf32> {origin = "fc2", op_type = "MatMul", tensor = "logits"}
    func.return %logits : tensor<2x3x4xf32>
  }
}
