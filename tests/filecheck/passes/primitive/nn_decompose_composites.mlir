// RUN: qmlir-opt %s -p nn-decompose | filecheck %s
// RUN: qmlir-opt %s -p 'nn-decompose{keep=nn.softmax}' | filecheck %s --check-prefix=KEEP

// Normalizations: those of two stages compute the first one in another type where they say so.
// CHECK-LABEL: @norms(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x2xf16>, [[V1:%.+]]: tensor<4xf16>, [[V2:%.+]]: tensor<3x2xf32>) -> (tensor<1x4x2xf16>, tensor<3x2xf32>)
// CHECK-NEXT: [[V3:%.+]] = nn.cast [[V0]] : (tensor<1x4x2xf16>) -> tensor<1x4x2xf32> {origin = "gn1", role = "stage"}
// CHECK-NEXT: [[V4:%.+]] = nn.reshape [[V3]] : (tensor<1x4x2xf32>) -> tensor<1x2x2x2xf32> {origin = "gn1", role = "groups"}
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_mean [[V4]] {axes = [2, 3]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x1x1xf32> {origin = "gn1", role = "mean"}
// CHECK-NEXT: [[V6:%.+]] = nn.sub [[V4]], [[V5]] : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "gn1", role = "centred"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V6]], [[V6]] : tensor<1x2x2x2xf32> {origin = "gn1", role = "squared"}
// CHECK-NEXT: [[V8:%.+]] = nn.reduce_mean [[V7]] {axes = [2, 3]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x1x1xf32> {origin = "gn1", role = "variance"}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "gn1", role = "epsilon"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V8]], [[V9]] : (tensor<1x2x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1xf32> {origin = "gn1", role = "variance_epsilon"}
// CHECK-NEXT: [[V11:%.+]] = nn.sqrt [[V10]] : tensor<1x2x1x1xf32> {origin = "gn1", role = "deviation"}
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V6]], [[V11]] : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x2x2xf32> {origin = "gn1", role = "normalized"}
// CHECK-NEXT: [[V13:%.+]] = nn.cast [[V12]] : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf16> {origin = "gn1", role = "rounded"}
// CHECK-NEXT: [[V14:%.+]] = nn.reshape [[V13]] : (tensor<1x2x2x2xf16>) -> tensor<1x4x2xf16> {origin = "gn1", role = "channels"}
// CHECK-NEXT: [[V15:%.+]] = nn.reshape [[V1]] : (tensor<4xf16>) -> tensor<4x1xf16> {origin = "gn1", role = "scale/reshape"}
// CHECK-NEXT: [[V16:%.+]] = nn.reshape [[V1]] : (tensor<4xf16>) -> tensor<4x1xf16> {origin = "gn1", role = "bias/reshape"}
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V14]], [[V15]] : (tensor<1x4x2xf16>, tensor<4x1xf16>) -> tensor<1x4x2xf16> {origin = "gn1", role = "mul"}
// CHECK-NEXT: [[V18:%.+]] = nn.add [[V17]], [[V16]] : (tensor<1x4x2xf16>, tensor<4x1xf16>) -> tensor<1x4x2xf16> {origin = "gn1", role = "bias_add", composite = {op = "nn.group_norm", properties = {groups = 2 : i64}}}
// CHECK-NEXT: [[V19:%.+]] = nn.cast [[V18]] : (tensor<1x4x2xf16>) -> tensor<1x4x2xf32> {origin = "in1", role = "operand0"}
// CHECK-NEXT: [[V20:%.+]] = nn.cast [[V1]] : (tensor<4xf16>) -> tensor<4xf32> {origin = "in1", role = "operand1"}
// CHECK-NEXT: [[V21:%.+]] = nn.cast [[V1]] : (tensor<4xf16>) -> tensor<4xf32> {origin = "in1", role = "operand2"}
// CHECK-NEXT: [[V22:%.+]] = nn.reduce_mean [[V19]] {axes = [2]} : (tensor<1x4x2xf32>) -> tensor<1x4x1xf32> {origin = "in1", role = "f32/mean"}
// CHECK-NEXT: [[V23:%.+]] = nn.sub [[V19]], [[V22]] : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32> {origin = "in1", role = "f32/centred"}
// CHECK-NEXT: [[V24:%.+]] = nn.mul [[V23]], [[V23]] : tensor<1x4x2xf32> {origin = "in1", role = "f32/squared"}
// CHECK-NEXT: [[V25:%.+]] = nn.reduce_mean [[V24]] {axes = [2]} : (tensor<1x4x2xf32>) -> tensor<1x4x1xf32> {origin = "in1", role = "f32/variance"}
// CHECK-NEXT: [[V26:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "in1", role = "f32/epsilon"}
// CHECK-NEXT: [[V27:%.+]] = nn.add [[V25]], [[V26]] : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<1x4x1xf32> {origin = "in1", role = "f32/variance_epsilon"}
// CHECK-NEXT: [[V28:%.+]] = nn.sqrt [[V27]] : tensor<1x4x1xf32> {origin = "in1", role = "f32/deviation"}
// CHECK-NEXT: [[V29:%.+]] = nn.div [[V23]], [[V28]] : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32> {origin = "in1", role = "f32/normalized"}
// CHECK-NEXT: [[V30:%.+]] = nn.reshape [[V20]] : (tensor<4xf32>) -> tensor<4x1xf32> {origin = "in1", role = "f32/scale/reshape"}
// CHECK-NEXT: [[V31:%.+]] = nn.reshape [[V21]] : (tensor<4xf32>) -> tensor<4x1xf32> {origin = "in1", role = "f32/bias/reshape"}
// CHECK-NEXT: [[V32:%.+]] = nn.mul [[V29]], [[V30]] : (tensor<1x4x2xf32>, tensor<4x1xf32>) -> tensor<1x4x2xf32> {origin = "in1", role = "f32/mul"}
// CHECK-NEXT: [[V33:%.+]] = nn.add [[V32]], [[V31]] : (tensor<1x4x2xf32>, tensor<4x1xf32>) -> tensor<1x4x2xf32> {origin = "in1", role = "f32/bias_add", composite = {op = "nn.instance_norm", role = "f32"}}
// CHECK-NEXT: [[V34:%.+]] = nn.cast [[V33]] : (tensor<1x4x2xf32>) -> tensor<1x4x2xf16> {origin = "in1", role = "rounded", composite = {op = "nn.instance_norm"}}
// CHECK-NEXT: [[V35:%.+]] = nn.mul [[V2]], [[V2]] : tensor<3x2xf32> {origin = "rms1", role = "squared"}
// CHECK-NEXT: [[V36:%.+]] = nn.reduce_mean [[V35]] {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "rms1", role = "mean_square"}
// CHECK-NEXT: [[V37:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "rms1", role = "epsilon"}
// CHECK-NEXT: [[V38:%.+]] = nn.add [[V36]], [[V37]] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> {origin = "rms1", role = "mean_square_epsilon"}
// CHECK-NEXT: [[V39:%.+]] = nn.sqrt [[V38]] : tensor<3x1xf32> {origin = "rms1", role = "deviation"}
// CHECK-NEXT: [[V40:%.+]] = nn.div [[V2]], [[V39]] : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "rms1", role = "normalized", composite = {op = "nn.rms_norm"}}
// CHECK-NEXT: [[V41:%.+]] = nn.mul [[V40]], [[V40]] : tensor<3x2xf32> {origin = "lp1", role = "squared"}
// CHECK-NEXT: [[V42:%.+]] = nn.reduce_sum [[V41]] {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "lp1", role = "sum"}
// CHECK-NEXT: [[V43:%.+]] = nn.sqrt [[V42]] : tensor<3x1xf32> {origin = "lp1", role = "norm"}
// CHECK-NEXT: [[V44:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "lp1", role = "zero"}
// CHECK-NEXT: [[V45:%.+]] = nn.equal [[V43]], [[V44]] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xi1> {origin = "lp1", role = "is_zero"}
// CHECK-NEXT: [[V46:%.+]] = nn.div [[V40]], [[V43]] : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "lp1", role = "div"}
// CHECK-NEXT: [[V47:%.+]] = nn.where [[V45]], [[V44]], [[V46]] : (tensor<3x1xi1>, tensor<f32>, tensor<3x2xf32>) -> tensor<3x2xf32> {origin = "lp1", role = "choice", composite = {op = "nn.lp_norm"}}
// CHECK-NEXT: func.return [[V34]], [[V47]] : tensor<1x4x2xf16>, tensor<3x2xf32>
func.func @norms(%x: tensor<1x4x2xf16>, %s: tensor<4xf16>, %y: tensor<3x2xf32>) -> (tensor<1x4x2xf16>, tensor<3x2xf32>) {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x4x2xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<1x4x2xf16> {origin = "gn1"}
  %1 = nn.instance_norm %0, %s, %s : (tensor<1x4x2xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<1x4x2xf16> {origin = "in1"}
  %2 = nn.rms_norm %y : tensor<3x2xf32> {origin = "rms1"}
  %3 = nn.lp_norm %2 : tensor<3x2xf32> {origin = "lp1"}
  func.return %1, %3 : tensor<1x4x2xf16>, tensor<3x2xf32>
}

// CHECK-LABEL: @activations(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sigmoid [[V0]] : tensor<2xf32> {origin = "a1", role = "sigmoid"}
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : tensor<2xf32> {origin = "a1", role = "product", composite = {op = "nn.swish"}}
// CHECK-NEXT: [[V3:%.+]] = nn.softplus [[V2]] : tensor<2xf32> {origin = "a2", role = "softplus"}
// CHECK-NEXT: [[V4:%.+]] = nn.tanh [[V3]] : tensor<2xf32> {origin = "a2", role = "tanh"}
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V2]], [[V4]] : tensor<2xf32> {origin = "a2", role = "product", composite = {op = "nn.mish"}}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<0.2> : tensor<f32> {origin = "a3", role = "alpha"}
// CHECK-NEXT: [[V7:%.+]] = nn.mul [[V5]], [[V6]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a3", role = "mul"}
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "a3", role = "beta"}
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V7]], [[V8]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a3", role = "add"}
// CHECK-NEXT: [[V10:%.+]] = nn.clip [[V9]] {minimum = 0.0, maximum = 1.0} : tensor<2xf32> {origin = "a3", role = "clip", composite = {op = "nn.hard_sigmoid"}}
// CHECK-NEXT: [[V11:%.+]] = nn.elu [[V10]] {alpha = 1.6732632} : tensor<2xf32> {origin = "a4", role = "elu"}
// CHECK-NEXT: [[V12:%.+]] = nn.constant dense<1.050701> : tensor<f32> {origin = "a4", role = "gamma"}
// CHECK-NEXT: [[V13:%.+]] = nn.mul [[V11]], [[V12]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a4", role = "mul", composite = {op = "nn.selu"}}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<2.000000e+00> : tensor<f32> {origin = "a5", role = "alpha"}
// CHECK-NEXT: [[V15:%.+]] = nn.div [[V13]], [[V14]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a5", role = "div"}
// CHECK-NEXT: [[V16:%.+]] = nn.elu [[V15]] : tensor<2xf32> {origin = "a5", role = "elu"}
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V16]], [[V14]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a5", role = "mul"}
// CHECK-NEXT: [[V18:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "a5", role = "zero"}
// CHECK-NEXT: [[V19:%.+]] = nn.less [[V13]], [[V18]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1> {origin = "a5", role = "is_below"}
// CHECK-NEXT: [[V20:%.+]] = nn.where [[V19]], [[V17]], [[V13]] : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {origin = "a5", role = "choice", composite = {op = "nn.celu", properties = {alpha = 2.000000e+00 : f32}}}
// CHECK-NEXT: [[V21:%.+]] = nn.reduce_max [[V20]] {axes = [0]} : (tensor<2xf32>) -> tensor<1xf32> {origin = "a6", role = "max"}
// CHECK-NEXT: [[V22:%.+]] = nn.sub [[V20]], [[V21]] : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32> {origin = "a6", role = "shifted"}
// CHECK-NEXT: [[V23:%.+]] = nn.exp [[V22]] : tensor<2xf32> {origin = "a6", role = "exp"}
// CHECK-NEXT: [[V24:%.+]] = nn.reduce_sum [[V23]] {axes = [0]} : (tensor<2xf32>) -> tensor<1xf32> {origin = "a6", role = "sum"}
// CHECK-NEXT: [[V25:%.+]] = nn.log [[V24]] : tensor<1xf32> {origin = "a6", role = "log"}
// CHECK-NEXT: [[V26:%.+]] = nn.sub [[V22]], [[V25]] : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32> {origin = "a6", role = "sub", composite = {op = "nn.log_softmax"}}
// CHECK-NEXT: func.return [[V26]] : tensor<2xf32>
func.func @activations(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.swish %x : tensor<2xf32> {origin = "a1"}
  %1 = nn.mish %0 : tensor<2xf32> {origin = "a2"}
  %2 = nn.hard_sigmoid %1 : tensor<2xf32> {origin = "a3"}
  %3 = nn.selu %2 : tensor<2xf32> {origin = "a4"}
  %4 = nn.celu %3 {alpha = 2.0} : tensor<2xf32> {origin = "a5"}
  %5 = nn.log_softmax %4 : tensor<2xf32> {origin = "a6"}
  func.return %5 : tensor<2xf32>
}

// CELU divides by alpha: it stays whole with 0.
// CHECK-LABEL: @celu_by_zero(
// CHECK-NEXT: nn.celu {{.*}} {alpha = 0.0}
func.func @celu_by_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.celu %x {alpha = 0.0} : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// A part that is a composite itself is decomposed too; its roles nest, and it can stay.
// KEEP-LABEL: @attention
// KEEP: nn.softmax {{.*}} {origin = "attn", role = "softmax"}
// CHECK-LABEL: @attention(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x4xf32>, [[V1:%.+]]: tensor<2x2xi1>) -> tensor<1x1x2x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "attn", role = "scale"}
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V0]], [[V2]] : (tensor<1x1x2x4xf32>, tensor<f32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "query_scaled"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V0]], [[V2]] : (tensor<1x1x2x4xf32>, tensor<f32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "key_scaled"}
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V3]], [[V4]] {transpose_b = true} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x2xf32> {origin = "attn", role = "query_key_matmul", composite = {op = "nn.attention", result = 3 : i64, properties = {is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}}}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<{{\[\[}}true, false], [true, true]]> : tensor<2x2xi1> {origin = "attn", role = "causal"}
// CHECK-NEXT: [[V7:%.+]] = nn.and [[V6]], [[V1]] : tensor<2x2xi1> {origin = "attn", role = "keep"}
// CHECK-NEXT: [[V8:%.+]] = nn.reduce_min [[V5]] {axes = [3]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/min"}
// CHECK-NEXT: [[V9:%.+]] = nn.where [[V7]], [[V5]], [[V8]] : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x2xf32> {origin = "attn", role = "softmax/selected"}
// CHECK-NEXT: [[V10:%.+]] = nn.reduce_max [[V9]] {axes = [3]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/max"}
// CHECK-NEXT: [[V11:%.+]] = nn.sub [[V9]], [[V10]] : (tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x2xf32> {origin = "attn", role = "softmax/shifted"}
// CHECK-NEXT: [[V12:%.+]] = nn.exp [[V11]] : tensor<1x1x2x2xf32> {origin = "attn", role = "softmax/exp"}
// CHECK-NEXT: [[V13:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/zero"}
// CHECK-NEXT: [[V14:%.+]] = nn.where [[V7]], [[V12]], [[V13]] : (tensor<2x2xi1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32> {origin = "attn", role = "softmax/kept"}
// CHECK-NEXT: [[V15:%.+]] = nn.reduce_sum [[V14]] {axes = [3]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/sum"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/one"}
// CHECK-NEXT: [[V17:%.+]] = nn.max [[V15]], [[V16]] : (tensor<1x1x2x1xf32>, tensor<f32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/total"}
// CHECK-NEXT: [[V18:%.+]] = nn.div [[V14]], [[V17]] : (tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x2xf32> {origin = "attn", role = "softmax/div", composite = {op = "nn.softmax", role = "softmax"}}
// CHECK-NEXT: [[V19:%.+]] = nn.matmul [[V18]], [[V0]] : (tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "value_matmul", composite = {op = "nn.attention", properties = {is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}}}
// CHECK-NEXT: func.return [[V19]] : tensor<1x1x2x4xf32>
func.func @attention(%q: tensor<1x1x2x4xf32>, %m: tensor<2x2xi1>) -> tensor<1x1x2x4xf32> {
  %0, %1, %2, %3 = nn.attention %q, %q, %q, %m {is_causal = true} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<2x2xi1>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x2xf32>) {origin = "attn"}
  func.return %0 : tensor<1x1x2x4xf32>
}

// It stays whole with heads that nobody knows.
// CHECK-LABEL: @attention_whole(
// CHECK-SAME: [[V0:%.+]]: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32>
// CHECK-NEXT: [[V1:%.+]], [[V2:%.+]], [[V3:%.+]], [[V4:%.+]] = nn.attention [[V0]], [[V0]], [[V0]] : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x2xf32>)
// CHECK-NEXT: func.return [[V1]] : tensor<1x?x2x4xf32>
func.func @attention_whole(%d: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32> {
  %0:4 = nn.attention %d, %d, %d : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x2xf32>)
  func.return %0#0 : tensor<1x?x2x4xf32>
}

// With sizes that only a run knows, the keys that a query sees are found by places: here its own and the one before.
// CHECK-LABEL: @attention_of_open_sizes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "attn", role = "scale"}
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<1x1x?x4xf32>, tensor<f32>) -> tensor<1x1x?x4xf32> {origin = "attn", role = "query_scaled"}
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<1x1x?x4xf32>, tensor<f32>) -> tensor<1x1x?x4xf32> {origin = "attn", role = "key_scaled"}
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V2]], [[V3]] {transpose_b = true} : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) -> tensor<1x1x?x?xf32> {origin = "attn", role = "query_key_matmul", composite = {op = "nn.attention", result = 3 : i64, properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}}}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<[0]> : tensor<1xi64> {origin = "attn", role = "key_places_start"}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[1]> : tensor<1xi64> {origin = "attn", role = "key_places_step"}
// CHECK-NEXT: [[V7:%.+]] = nn.shape [[V0]] {start = 2, end = 3} : (tensor<1x1x?x4xf32>) -> tensor<1xi64> {origin = "attn", role = "key_places_end"}
// CHECK-NEXT: [[V8:%.+]] = nn.range [[V5]], [[V7]], [[V6]] : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64> {origin = "attn", role = "key_places"}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<[0]> : tensor<1xi64> {origin = "attn", role = "query_places_start"}
// CHECK-NEXT: [[V10:%.+]] = nn.constant dense<[1]> : tensor<1xi64> {origin = "attn", role = "query_places_step"}
// CHECK-NEXT: [[V11:%.+]] = nn.shape [[V0]] {start = 2, end = 3} : (tensor<1x1x?x4xf32>) -> tensor<1xi64> {origin = "attn", role = "query_places_end"}
// CHECK-NEXT: [[V12:%.+]] = nn.range [[V9]], [[V11]], [[V10]] : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64> {origin = "attn", role = "query_places"}
// CHECK-NEXT: [[V13:%.+]] = nn.unsqueeze [[V12]] {axes = [1]} : (tensor<?xi64>) -> tensor<?x1xi64> {origin = "attn", role = "query_rows"}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<[0]> : tensor<1xi64> {origin = "attn", role = "after"}
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V13]], [[V14]] : (tensor<?x1xi64>, tensor<1xi64>) -> tensor<?x1xi64> {origin = "attn", role = "last_key"}
// CHECK-NEXT: [[V16:%.+]] = nn.less_or_equal [[V8]], [[V15]] : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1> {origin = "attn", role = "is_before"}
// CHECK-NEXT: [[V17:%.+]] = nn.constant dense<[1]> : tensor<1xi64> {origin = "attn", role = "before"}
// CHECK-NEXT: [[V18:%.+]] = nn.sub [[V13]], [[V17]] : (tensor<?x1xi64>, tensor<1xi64>) -> tensor<?x1xi64> {origin = "attn", role = "first_key"}
// CHECK-NEXT: [[V19:%.+]] = nn.greater_or_equal [[V8]], [[V18]] : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1> {origin = "attn", role = "is_after"}
// CHECK-NEXT: [[V20:%.+]] = nn.and [[V16]], [[V19]] : tensor<?x?xi1> {origin = "attn", role = "seen"}
// CHECK-NEXT: [[V21:%.+]] = nn.reduce_min [[V4]] {axes = [3]} : (tensor<1x1x?x?xf32>) -> tensor<1x1x?x1xf32> {origin = "attn", role = "softmax/min"}
// CHECK-NEXT: [[V22:%.+]] = nn.where [[V20]], [[V4]], [[V21]] : (tensor<?x?xi1>, tensor<1x1x?x?xf32>, tensor<1x1x?x1xf32>) -> tensor<1x1x?x?xf32> {origin = "attn", role = "softmax/selected"}
// CHECK-NEXT: [[V23:%.+]] = nn.reduce_max [[V22]] {axes = [3]} : (tensor<1x1x?x?xf32>) -> tensor<1x1x?x1xf32> {origin = "attn", role = "softmax/max"}
// CHECK-NEXT: [[V24:%.+]] = nn.sub [[V22]], [[V23]] : (tensor<1x1x?x?xf32>, tensor<1x1x?x1xf32>) -> tensor<1x1x?x?xf32> {origin = "attn", role = "softmax/shifted"}
// CHECK-NEXT: [[V25:%.+]] = nn.exp [[V24]] : tensor<1x1x?x?xf32> {origin = "attn", role = "softmax/exp"}
// CHECK-NEXT: [[V26:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/zero"}
// CHECK-NEXT: [[V27:%.+]] = nn.where [[V20]], [[V25]], [[V26]] : (tensor<?x?xi1>, tensor<1x1x?x?xf32>, tensor<f32>) -> tensor<1x1x?x?xf32> {origin = "attn", role = "softmax/kept"}
// CHECK-NEXT: [[V28:%.+]] = nn.reduce_sum [[V27]] {axes = [3]} : (tensor<1x1x?x?xf32>) -> tensor<1x1x?x1xf32> {origin = "attn", role = "softmax/sum"}
// CHECK-NEXT: [[V29:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/one"}
// CHECK-NEXT: [[V30:%.+]] = nn.max [[V28]], [[V29]] : (tensor<1x1x?x1xf32>, tensor<f32>) -> tensor<1x1x?x1xf32> {origin = "attn", role = "softmax/total"}
// CHECK-NEXT: [[V31:%.+]] = nn.div [[V27]], [[V30]] : (tensor<1x1x?x?xf32>, tensor<1x1x?x1xf32>) -> tensor<1x1x?x?xf32> {origin = "attn", role = "softmax/div", composite = {op = "nn.softmax", role = "softmax"}}
// CHECK-NEXT: [[V32:%.+]] = nn.matmul [[V31]], [[V0]] : (tensor<1x1x?x?xf32>, tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> {origin = "attn", role = "value_matmul", composite = {op = "nn.attention", properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}}}
// CHECK-NEXT: func.return [[V32]] : tensor<1x1x?x4xf32>
func.func @attention_of_open_sizes(%q: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> {
  %0:4 = nn.attention %q, %q, %q {is_causal = true, left_window = 1} : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) -> (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x?xf32>) {origin = "attn"}
  func.return %0#0 : tensor<1x1x?x4xf32>
}

// With lengths, the last query has the place of the last key that counts; for heads that share keys the lengths have an
// axis more.
// CHECK-LABEL: @attention_of_lengths(
// CHECK-SAME: [[V0:%.+]]: tensor<3x2x1x4xf32>, [[V1:%.+]]: tensor<3x1x5x4xf32>, [[V2:%.+]]: tensor<3xi64>) -> tensor<3x2x1x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "attn", role = "scale"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V0]], [[V3]] : (tensor<3x2x1x4xf32>, tensor<f32>) -> tensor<3x2x1x4xf32> {origin = "attn", role = "query_scaled"}
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] : (tensor<3x2x1x4xf32>) -> tensor<3x1x2x1x4xf32> {origin = "attn", role = "query_heads"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V1]], [[V3]] : (tensor<3x1x5x4xf32>, tensor<f32>) -> tensor<3x1x5x4xf32> {origin = "attn", role = "key_scaled"}
// CHECK-NEXT: [[V7:%.+]] = nn.reshape [[V6]] : (tensor<3x1x5x4xf32>) -> tensor<3x1x1x5x4xf32> {origin = "attn", role = "key_heads"}
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V5]], [[V7]] {transpose_b = true} : (tensor<3x1x2x1x4xf32>, tensor<3x1x1x5x4xf32>) -> tensor<3x1x2x1x5xf32> {origin = "attn", role = "query_key_matmul"}
// CHECK-NEXT: [[V9:%.+]] = nn.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi64> {origin = "attn", role = "key_places"}
// CHECK-NEXT: [[V10:%.+]] = nn.constant dense<[0]> : tensor<1xi64> {origin = "attn", role = "query_places"}
// CHECK-NEXT: [[V11:%.+]] = nn.unsqueeze [[V10]] {axes = [1]} : (tensor<1xi64>) -> tensor<1x1xi64> {origin = "attn", role = "query_rows"}
// CHECK-NEXT: [[V12:%.+]] = nn.unsqueeze [[V2]] {axes = [1, 2, 3, 4]} : (tensor<3xi64>) -> tensor<3x1x1x1x1xi64> {origin = "attn", role = "lengths"}
// CHECK-NEXT: [[V13:%.+]] = nn.constant dense<[1]> : tensor<1xi64> {origin = "attn", role = "queries"}
// CHECK-NEXT: [[V14:%.+]] = nn.sub [[V12]], [[V13]] : (tensor<3x1x1x1x1xi64>, tensor<1xi64>) -> tensor<3x1x1x1x1xi64> {origin = "attn", role = "first_query"}
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V11]], [[V14]] : (tensor<1x1xi64>, tensor<3x1x1x1x1xi64>) -> tensor<3x1x1x1x1xi64> {origin = "attn", role = "query_places_behind"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<[0]> : tensor<1xi64> {origin = "attn", role = "after"}
// CHECK-NEXT: [[V17:%.+]] = nn.add [[V15]], [[V16]] : (tensor<3x1x1x1x1xi64>, tensor<1xi64>) -> tensor<3x1x1x1x1xi64> {origin = "attn", role = "last_key"}
// CHECK-NEXT: [[V18:%.+]] = nn.less_or_equal [[V9]], [[V17]] : (tensor<5xi64>, tensor<3x1x1x1x1xi64>) -> tensor<3x1x1x1x5xi1> {origin = "attn", role = "is_before"}
// CHECK-NEXT: [[V19:%.+]] = nn.less [[V9]], [[V12]] : (tensor<5xi64>, tensor<3x1x1x1x1xi64>) -> tensor<3x1x1x1x5xi1> {origin = "attn", role = "counts"}
// CHECK-NEXT: [[V20:%.+]] = nn.and [[V18]], [[V19]] : tensor<3x1x1x1x5xi1> {origin = "attn", role = "seen"}
// CHECK-NEXT: [[V21:%.+]] = nn.reduce_min [[V8]] {axes = [4]} : (tensor<3x1x2x1x5xf32>) -> tensor<3x1x2x1x1xf32> {origin = "attn", role = "softmax/min"}
// CHECK-NEXT: [[V22:%.+]] = nn.where [[V20]], [[V8]], [[V21]] : (tensor<3x1x1x1x5xi1>, tensor<3x1x2x1x5xf32>, tensor<3x1x2x1x1xf32>) -> tensor<3x1x2x1x5xf32> {origin = "attn", role = "softmax/selected"}
// CHECK-NEXT: [[V23:%.+]] = nn.reduce_max [[V22]] {axes = [4]} : (tensor<3x1x2x1x5xf32>) -> tensor<3x1x2x1x1xf32> {origin = "attn", role = "softmax/max"}
// CHECK-NEXT: [[V24:%.+]] = nn.sub [[V22]], [[V23]] : (tensor<3x1x2x1x5xf32>, tensor<3x1x2x1x1xf32>) -> tensor<3x1x2x1x5xf32> {origin = "attn", role = "softmax/shifted"}
// CHECK-NEXT: [[V25:%.+]] = nn.exp [[V24]] : tensor<3x1x2x1x5xf32> {origin = "attn", role = "softmax/exp"}
// CHECK-NEXT: [[V26:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/zero"}
// CHECK-NEXT: [[V27:%.+]] = nn.where [[V20]], [[V25]], [[V26]] : (tensor<3x1x1x1x5xi1>, tensor<3x1x2x1x5xf32>, tensor<f32>) -> tensor<3x1x2x1x5xf32> {origin = "attn", role = "softmax/kept"}
// CHECK-NEXT: [[V28:%.+]] = nn.reduce_sum [[V27]] {axes = [4]} : (tensor<3x1x2x1x5xf32>) -> tensor<3x1x2x1x1xf32> {origin = "attn", role = "softmax/sum"}
// CHECK-NEXT: [[V29:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/one"}
// CHECK-NEXT: [[V30:%.+]] = nn.max [[V28]], [[V29]] : (tensor<3x1x2x1x1xf32>, tensor<f32>) -> tensor<3x1x2x1x1xf32> {origin = "attn", role = "softmax/total"}
// CHECK-NEXT: [[V31:%.+]] = nn.div [[V27]], [[V30]] : (tensor<3x1x2x1x5xf32>, tensor<3x1x2x1x1xf32>) -> tensor<3x1x2x1x5xf32> {origin = "attn", role = "softmax/div", composite = {op = "nn.softmax", role = "softmax"}}
// CHECK-NEXT: [[V32:%.+]] = nn.reshape [[V1]] : (tensor<3x1x5x4xf32>) -> tensor<3x1x1x5x4xf32> {origin = "attn", role = "value_heads"}
// CHECK-NEXT: [[V33:%.+]] = nn.matmul [[V31]], [[V32]] : (tensor<3x1x2x1x5xf32>, tensor<3x1x1x5x4xf32>) -> tensor<3x1x2x1x4xf32> {origin = "attn", role = "value_matmul"}
// CHECK-NEXT: [[V34:%.+]] = nn.reshape [[V33]] : (tensor<3x1x2x1x4xf32>) -> tensor<3x2x1x4xf32> {origin = "attn", role = "result_heads", composite = {op = "nn.attention", properties = {is_causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}}}
// CHECK-NEXT: func.return [[V34]] : tensor<3x2x1x4xf32>
func.func @attention_of_lengths(%q: tensor<3x2x1x4xf32>, %k: tensor<3x1x5x4xf32>, %l: tensor<3xi64>) -> tensor<3x2x1x4xf32> {
  %0:4 = nn.attention %q, %k, %k, _, _, _, %l {is_causal = true} : (tensor<3x2x1x4xf32>, tensor<3x1x5x4xf32>, tensor<3x1x5x4xf32>, tensor<3xi64>) -> (tensor<3x2x1x4xf32>, tensor<3x1x5x4xf32>, tensor<3x1x5x4xf32>, tensor<3x2x1x5xf32>) {origin = "attn"}
  func.return %0#0 : tensor<3x2x1x4xf32>
}

// A past stands in front of the keys and values; a window of two keys, counted from the end of the past, is a mask.
// CHECK-LABEL: @attention_with_past(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.70710677> : tensor<f32> {origin = "attn", role = "scale"}
// CHECK-NEXT: [[V2:%.+]] = nn.mul [[V0]], [[V1]] : (tensor<1x1x2x4xf32>, tensor<f32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "query_scaled"}
// CHECK-NEXT: [[V3:%.+]] = nn.concat [[V0]], [[V0]] {axis = 2} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x4x4xf32> {origin = "attn", role = "keys", composite = {op = "nn.attention", result = 1 : i64, properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>}}}
// CHECK-NEXT: [[V4:%.+]] = nn.concat [[V0]], [[V0]] {axis = 2} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x4x4xf32> {origin = "attn", role = "values", composite = {op = "nn.attention", result = 2 : i64, properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>}}}
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V3]], [[V1]] : (tensor<1x1x4x4xf32>, tensor<f32>) -> tensor<1x1x4x4xf32> {origin = "attn", role = "key_scaled"}
// CHECK-NEXT: [[V6:%.+]] = nn.matmul [[V2]], [[V5]] {transpose_b = true} : (tensor<1x1x2x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "query_key_matmul", composite = {op = "nn.attention", result = 3 : i64, properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>}}}
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<{{\[\[}}false, true, true, false], [false, false, true, true]]> : tensor<2x4xi1> {origin = "attn", role = "causal"}
// CHECK-NEXT: [[V8:%.+]] = nn.reduce_min [[V6]] {axes = [3]} : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/min"}
// CHECK-NEXT: [[V9:%.+]] = nn.where [[V7]], [[V6]], [[V8]] : (tensor<2x4xi1>, tensor<1x1x2x4xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "softmax/selected"}
// CHECK-NEXT: [[V10:%.+]] = nn.reduce_max [[V9]] {axes = [3]} : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/max"}
// CHECK-NEXT: [[V11:%.+]] = nn.sub [[V9]], [[V10]] : (tensor<1x1x2x4xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "softmax/shifted"}
// CHECK-NEXT: [[V12:%.+]] = nn.exp [[V11]] : tensor<1x1x2x4xf32> {origin = "attn", role = "softmax/exp"}
// CHECK-NEXT: [[V13:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/zero"}
// CHECK-NEXT: [[V14:%.+]] = nn.where [[V7]], [[V12]], [[V13]] : (tensor<2x4xi1>, tensor<1x1x2x4xf32>, tensor<f32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "softmax/kept"}
// CHECK-NEXT: [[V15:%.+]] = nn.reduce_sum [[V14]] {axes = [3]} : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/sum"}
// CHECK-NEXT: [[V16:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/one"}
// CHECK-NEXT: [[V17:%.+]] = nn.max [[V15]], [[V16]] : (tensor<1x1x2x1xf32>, tensor<f32>) -> tensor<1x1x2x1xf32> {origin = "attn", role = "softmax/total"}
// CHECK-NEXT: [[V18:%.+]] = nn.div [[V14]], [[V17]] : (tensor<1x1x2x4xf32>, tensor<1x1x2x1xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "softmax/div", composite = {op = "nn.softmax", role = "softmax"}}
// CHECK-NEXT: [[V19:%.+]] = nn.matmul [[V18]], [[V4]] : (tensor<1x1x2x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x2x4xf32> {origin = "attn", role = "value_matmul", composite = {op = "nn.attention", properties = {is_causal = true, left_window = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1, 0>}}}
// CHECK-NEXT: func.return [[V19]] : tensor<1x1x2x4xf32>
func.func @attention_with_past(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0, %1, %2, %3 = nn.attention %q, %q, %q, _, %q, %q {is_causal = true, left_window = 1} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x2x4xf32>) {origin = "attn"}
  func.return %0 : tensor<1x1x2x4xf32>
}

// Two heads that share their keys are an axis of their own, of a mask by heads, too.
// CHECK-LABEL: @attention_of_groups(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x2x3xf32>, [[V1:%.+]]: tensor<?x2x5x3xf32>, [[V2:%.+]]: tensor<4x2x5xi1>) -> tensor<?x4x2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<0.75983566> : tensor<f32> {origin = "attn", role = "scale"}
// CHECK-NEXT: [[V4:%.+]] = nn.mul [[V0]], [[V3]] : (tensor<?x4x2x3xf32>, tensor<f32>) -> tensor<?x4x2x3xf32> {origin = "attn", role = "query_scaled"}
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] : (tensor<?x4x2x3xf32>) -> tensor<?x2x2x2x3xf32> {origin = "attn", role = "query_heads"}
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V1]], [[V3]] : (tensor<?x2x5x3xf32>, tensor<f32>) -> tensor<?x2x5x3xf32> {origin = "attn", role = "key_scaled"}
// CHECK-NEXT: [[V7:%.+]] = nn.reshape [[V6]] : (tensor<?x2x5x3xf32>) -> tensor<?x2x1x5x3xf32> {origin = "attn", role = "key_heads"}
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V5]], [[V7]] {transpose_b = true} : (tensor<?x2x2x2x3xf32>, tensor<?x2x1x5x3xf32>) -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "query_key_matmul"}
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V2]] : (tensor<4x2x5xi1>) -> tensor<2x2x2x5xi1> {origin = "attn", role = "mask_heads"}
// CHECK-NEXT: [[V10:%.+]] = nn.reduce_min [[V8]] {axes = [4]} : (tensor<?x2x2x2x5xf32>) -> tensor<?x2x2x2x1xf32> {origin = "attn", role = "softmax/min"}
// CHECK-NEXT: [[V11:%.+]] = nn.where [[V9]], [[V8]], [[V10]] : (tensor<2x2x2x5xi1>, tensor<?x2x2x2x5xf32>, tensor<?x2x2x2x1xf32>) -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "softmax/selected"}
// CHECK-NEXT: [[V12:%.+]] = nn.reduce_max [[V11]] {axes = [4]} : (tensor<?x2x2x2x5xf32>) -> tensor<?x2x2x2x1xf32> {origin = "attn", role = "softmax/max"}
// CHECK-NEXT: [[V13:%.+]] = nn.sub [[V11]], [[V12]] : (tensor<?x2x2x2x5xf32>, tensor<?x2x2x2x1xf32>) -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "softmax/shifted"}
// CHECK-NEXT: [[V14:%.+]] = nn.exp [[V13]] : tensor<?x2x2x2x5xf32> {origin = "attn", role = "softmax/exp"}
// CHECK-NEXT: [[V15:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/zero"}
// CHECK-NEXT: [[V16:%.+]] = nn.where [[V9]], [[V14]], [[V15]] : (tensor<2x2x2x5xi1>, tensor<?x2x2x2x5xf32>, tensor<f32>) -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "softmax/kept"}
// CHECK-NEXT: [[V17:%.+]] = nn.reduce_sum [[V16]] {axes = [4]} : (tensor<?x2x2x2x5xf32>) -> tensor<?x2x2x2x1xf32> {origin = "attn", role = "softmax/sum"}
// CHECK-NEXT: [[V18:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "attn", role = "softmax/one"}
// CHECK-NEXT: [[V19:%.+]] = nn.max [[V17]], [[V18]] : (tensor<?x2x2x2x1xf32>, tensor<f32>) -> tensor<?x2x2x2x1xf32> {origin = "attn", role = "softmax/total"}
// CHECK-NEXT: [[V20:%.+]] = nn.div [[V16]], [[V19]] : (tensor<?x2x2x2x5xf32>, tensor<?x2x2x2x1xf32>) -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "softmax/div", composite = {op = "nn.softmax", role = "softmax"}}
// CHECK-NEXT: [[V21:%.+]] = nn.reshape [[V1]] : (tensor<?x2x5x3xf32>) -> tensor<?x2x1x5x3xf32> {origin = "attn", role = "value_heads"}
// CHECK-NEXT: [[V22:%.+]] = nn.matmul [[V20]], [[V21]] : (tensor<?x2x2x2x5xf32>, tensor<?x2x1x5x3xf32>) -> tensor<?x2x2x2x3xf32> {origin = "attn", role = "value_matmul"}
// CHECK-NEXT: [[V23:%.+]] = nn.reshape [[V22]] : (tensor<?x2x2x2x3xf32>) -> tensor<?x4x2x3xf32> {origin = "attn", role = "result_heads", composite = {op = "nn.attention", properties = {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}}}
// CHECK-NEXT: func.return [[V23]] : tensor<?x4x2x3xf32>
func.func @attention_of_groups(%q: tensor<?x4x2x3xf32>, %k: tensor<?x2x5x3xf32>, %m: tensor<4x2x5xi1>) -> tensor<?x4x2x3xf32> {
  %0, %1, %2, %3 = nn.attention %q, %k, %k, %m : (tensor<?x4x2x3xf32>, tensor<?x2x5x3xf32>, tensor<?x2x5x3xf32>, tensor<4x2x5xi1>) -> (tensor<?x4x2x3xf32>, tensor<?x2x5x3xf32>, tensor<?x2x5x3xf32>, tensor<?x4x2x5xf32>) {origin = "attn"}
  func.return %0 : tensor<?x4x2x3xf32>
}

// One size that only the run knows is what a reshape finds; two, or the channels that are to be divided, keep it whole.
// CHECK-LABEL: @groups_of_one_unknown_size(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x3xf32>, [[V1:%.+]]: tensor<4xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[V0]] : (tensor<?x4x3xf32>) -> tensor<?x2x2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.reduce_mean [[V2]] {axes = [2, 3]} : (tensor<?x2x2x3xf32>) -> tensor<?x2x1x1xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.sub [[V2]], [[V3]] : (tensor<?x2x2x3xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.mul [[V4]], [[V4]] : tensor<?x2x2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.reduce_mean [[V5]] {axes = [2, 3]} : (tensor<?x2x2x3xf32>) -> tensor<?x2x1x1xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<1.0e-05> : tensor<f32>
// CHECK-NEXT: [[V8:%.+]] = nn.add [[V6]], [[V7]] : (tensor<?x2x1x1xf32>, tensor<f32>) -> tensor<?x2x1x1xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.sqrt [[V8]] : tensor<?x2x1x1xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.div [[V4]], [[V9]] : (tensor<?x2x2x3xf32>, tensor<?x2x1x1xf32>) -> tensor<?x2x2x3xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.reshape [[V10]] : (tensor<?x2x2x3xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.reshape [[V1]] : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.reshape [[V1]] : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.mul [[V11]], [[V12]] : (tensor<?x4x3xf32>, tensor<4x1xf32>) -> tensor<?x4x3xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.add [[V14]], [[V13]] : (tensor<?x4x3xf32>, tensor<4x1xf32>) -> tensor<?x4x3xf32> {composite = {op = "nn.group_norm", properties = {groups = 2 : i64}}}
// CHECK-NEXT: func.return [[V15]] : tensor<?x4x3xf32>
func.func @groups_of_one_unknown_size(%x: tensor<?x4x3xf32>, %s: tensor<4xf32>) -> tensor<?x4x3xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<?x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32>
  func.return %0 : tensor<?x4x3xf32>
}

// CHECK-LABEL: @groups_of_two_unknown_sizes(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x?xf32>, [[V1:%.+]]: tensor<4xf32>) -> tensor<?x4x?xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.group_norm [[V0]], [[V1]], [[V1]] {groups = 2} : (tensor<?x4x?xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<?x4x?xf32>
func.func @groups_of_two_unknown_sizes(%x: tensor<?x4x?xf32>, %s: tensor<4xf32>) -> tensor<?x4x?xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<?x4x?xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?xf32>
  func.return %0 : tensor<?x4x?xf32>
}

// CHECK-LABEL: @groups_of_unknown_channels(
// CHECK-SAME: [[V0:%.+]]: tensor<1x?x3xf32>, [[V1:%.+]]: tensor<?xf32>) -> tensor<1x?x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.group_norm [[V0]], [[V1]], [[V1]] {groups = 2} : (tensor<1x?x3xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<1x?x3xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<1x?x3xf32>
func.func @groups_of_unknown_channels(%x: tensor<1x?x3xf32>, %s: tensor<?xf32>) -> tensor<1x?x3xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x?x3xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<1x?x3xf32>
  func.return %0 : tensor<1x?x3xf32>
}
