!x = !quant.uniform<i8:f32, 0.0625>
!w = !quant.uniform<i8:f32, 0.03125>

builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [
    {op = "nn.conv", input = {storages = [i8]}, properties = {groups = [1]}}, {op = "nn.relu"}, {op = "nn.max_pool"}]>]} {
  func.func @main(%x: tensor<1x2x8x8xf32> {nn.name = "image"}) -> (tensor<1x4x4x4x!x> {nn.name = "features"}) {
    %q = quant.qcast %x : tensor<1x2x8x8xf32> to tensor<1x2x8x8x!x>
    %w1 = nn.constant dense<3> : tensor<4x2x3x3xi8> -> tensor<4x2x3x3x!w>
    %0 = nn.conv %q, %w1 {pads = [1, 1, 1, 1]} : (tensor<1x2x8x8x!x>, tensor<4x2x3x3x!w>) -> tensor<1x4x8x8x!x> {origin = "conv1"}
    %1 = nn.relu %0 : tensor<1x4x8x8x!x> {origin = "relu1"}
    %2 = nn.max_pool %1 {kernel = [2, 2], strides = [2, 2]} : (tensor<1x4x8x8x!x>) -> tensor<1x4x4x4x!x> {origin = "pool1"}
    %3 = nn.sigmoid %2 : (tensor<1x4x4x4x!x>) -> tensor<1x4x4x4x!x> {origin = "gate"}
    %4 = nn.mul %2, %3 : (tensor<1x4x4x4x!x>, tensor<1x4x4x4x!x>) -> tensor<1x4x4x4x!x> {origin = "product"}
    %w2 = nn.constant dense<5> : tensor<4x4x1x1xi8> -> tensor<4x4x1x1x!w>
    %5 = nn.conv %4, %w2 : (tensor<1x4x4x4x!x>, tensor<4x4x1x1x!w>) -> tensor<1x4x4x4x!x> {origin = "conv2"}
    %w3 = nn.constant dense<5> : tensor<4x1x1x1xi8> -> tensor<4x1x1x1x!w>
    %6 = nn.conv %5, %w3 {groups = 4} : (tensor<1x4x4x4x!x>, tensor<4x1x1x1x!w>) -> tensor<1x4x4x4x!x> {origin = "conv3"}
    func.return %6 : tensor<1x4x4x4x!x>
  }
}
