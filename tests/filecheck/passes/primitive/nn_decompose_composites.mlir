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
// CHECK-NEXT: [[V19:%.+]] = nn.reduce_mean [[V18]] {axes = [2]} : (tensor<1x4x2xf16>) -> tensor<1x4x1xf16> {origin = "in1", role = "mean"}
// CHECK-NEXT: [[V20:%.+]] = nn.sub [[V18]], [[V19]] : (tensor<1x4x2xf16>, tensor<1x4x1xf16>) -> tensor<1x4x2xf16> {origin = "in1", role = "centred"}
// CHECK-NEXT: [[V21:%.+]] = nn.mul [[V20]], [[V20]] : tensor<1x4x2xf16> {origin = "in1", role = "squared"}
// CHECK-NEXT: [[V22:%.+]] = nn.reduce_mean [[V21]] {axes = [2]} : (tensor<1x4x2xf16>) -> tensor<1x4x1xf16> {origin = "in1", role = "variance"}
// CHECK-NEXT: [[V23:%.+]] = nn.constant dense<1.0013580322265625e-05> : tensor<f16> {origin = "in1", role = "epsilon"}
// CHECK-NEXT: [[V24:%.+]] = nn.add [[V22]], [[V23]] : (tensor<1x4x1xf16>, tensor<f16>) -> tensor<1x4x1xf16> {origin = "in1", role = "variance_epsilon"}
// CHECK-NEXT: [[V25:%.+]] = nn.sqrt [[V24]] : tensor<1x4x1xf16> {origin = "in1", role = "deviation"}
// CHECK-NEXT: [[V26:%.+]] = nn.div [[V20]], [[V25]] : (tensor<1x4x2xf16>, tensor<1x4x1xf16>) -> tensor<1x4x2xf16> {origin = "in1", role = "normalized"}
// CHECK-NEXT: [[V27:%.+]] = nn.reshape [[V1]] : (tensor<4xf16>) -> tensor<4x1xf16> {origin = "in1", role = "scale/reshape"}
// CHECK-NEXT: [[V28:%.+]] = nn.reshape [[V1]] : (tensor<4xf16>) -> tensor<4x1xf16> {origin = "in1", role = "bias/reshape"}
// CHECK-NEXT: [[V29:%.+]] = nn.mul [[V26]], [[V27]] : (tensor<1x4x2xf16>, tensor<4x1xf16>) -> tensor<1x4x2xf16> {origin = "in1", role = "mul"}
// CHECK-NEXT: [[V30:%.+]] = nn.add [[V29]], [[V28]] : (tensor<1x4x2xf16>, tensor<4x1xf16>) -> tensor<1x4x2xf16> {origin = "in1", role = "bias_add", composite = {op = "nn.instance_norm"}}
// CHECK-NEXT: [[V31:%.+]] = nn.mul [[V2]], [[V2]] : tensor<3x2xf32> {origin = "rms1", role = "squared"}
// CHECK-NEXT: [[V32:%.+]] = nn.reduce_mean [[V31]] {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "rms1", role = "mean_square"}
// CHECK-NEXT: [[V33:%.+]] = nn.constant dense<1.0e-05> : tensor<f32> {origin = "rms1", role = "epsilon"}
// CHECK-NEXT: [[V34:%.+]] = nn.add [[V32]], [[V33]] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32> {origin = "rms1", role = "mean_square_epsilon"}
// CHECK-NEXT: [[V35:%.+]] = nn.sqrt [[V34]] : tensor<3x1xf32> {origin = "rms1", role = "deviation"}
// CHECK-NEXT: [[V36:%.+]] = nn.div [[V2]], [[V35]] : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "rms1", role = "normalized", composite = {op = "nn.rms_norm"}}
// CHECK-NEXT: [[V37:%.+]] = nn.mul [[V36]], [[V36]] : tensor<3x2xf32> {origin = "lp1", role = "squared"}
// CHECK-NEXT: [[V38:%.+]] = nn.reduce_sum [[V37]] {axes = [1]} : (tensor<3x2xf32>) -> tensor<3x1xf32> {origin = "lp1", role = "sum"}
// CHECK-NEXT: [[V39:%.+]] = nn.sqrt [[V38]] : tensor<3x1xf32> {origin = "lp1", role = "norm"}
// CHECK-NEXT: [[V40:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "lp1", role = "zero"}
// CHECK-NEXT: [[V41:%.+]] = nn.equal [[V39]], [[V40]] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xi1> {origin = "lp1", role = "is_zero"}
// CHECK-NEXT: [[V42:%.+]] = nn.div [[V36]], [[V39]] : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32> {origin = "lp1", role = "div"}
// CHECK-NEXT: [[V43:%.+]] = nn.where [[V41]], [[V40]], [[V42]] : (tensor<3x1xi1>, tensor<f32>, tensor<3x2xf32>) -> tensor<3x2xf32> {origin = "lp1", role = "choice", composite = {op = "nn.lp_norm"}}
// CHECK-NEXT: func.return [[V30]], [[V43]] : tensor<1x4x2xf16>, tensor<3x2xf32>
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
// CHECK-NEXT: [[V17:%.+]] = nn.mul [[V16]], [[V14]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> {origin = "a5", role = "mul", composite = {op = "nn.celu", properties = {alpha = 2.000000e+00 : f32}}}
// CHECK-NEXT: [[V18:%.+]] = nn.reduce_max [[V17]] {axes = [0]} : (tensor<2xf32>) -> tensor<1xf32> {origin = "a6", role = "max"}
// CHECK-NEXT: [[V19:%.+]] = nn.sub [[V17]], [[V18]] : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32> {origin = "a6", role = "shifted"}
// CHECK-NEXT: [[V20:%.+]] = nn.exp [[V19]] : tensor<2xf32> {origin = "a6", role = "exp"}
// CHECK-NEXT: [[V21:%.+]] = nn.reduce_sum [[V20]] {axes = [0]} : (tensor<2xf32>) -> tensor<1xf32> {origin = "a6", role = "sum"}
// CHECK-NEXT: [[V22:%.+]] = nn.log [[V21]] : tensor<1xf32> {origin = "a6", role = "log"}
// CHECK-NEXT: [[V23:%.+]] = nn.sub [[V19]], [[V22]] : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32> {origin = "a6", role = "sub", composite = {op = "nn.log_softmax"}}
// CHECK-NEXT: func.return [[V23]] : tensor<2xf32>
func.func @activations(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.swish %x : tensor<2xf32> {origin = "a1"}
  %1 = nn.mish %0 : tensor<2xf32> {origin = "a2"}
  %2 = nn.hard_sigmoid %1 : tensor<2xf32> {origin = "a3"}
  %3 = nn.selu %2 : tensor<2xf32> {origin = "a4"}
  %4 = nn.celu %3 {alpha = 2.0} : tensor<2xf32> {origin = "a5"}
  %5 = nn.log_softmax %4 : tensor<2xf32> {origin = "a6"}
  func.return %5 : tensor<2xf32>
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
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<{{\[\[}}true, false], [true, true{{\]\]}}> : tensor<2x2xi1> {origin = "attn", role = "causal"}
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
// CHECK: nn.attention
// CHECK-NEXT: func.return
func.func @attention_whole(%d: tensor<1x?x2x4xf32>) -> tensor<1x?x2x4xf32> {
  %0:4 = nn.attention %d, %d, %d : (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>) -> (tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x4xf32>, tensor<1x?x2x2xf32>)
  func.return %0#0 : tensor<1x?x2x4xf32>
}

// With sizes that only a run knows, the keys that a query sees are found by places: here its own and the one before.
// CHECK-LABEL: @attention_of_open_sizes(
// CHECK: [[N:%.+]] = nn.shape {{.*}} {start = 2, end = 3} {{.*}} role = "key_places_end"
// CHECK: [[T:%.+]] = nn.range {{.*}}, [[N]], {{.*}} role = "key_places"
// CHECK: [[S:%.+]] = nn.unsqueeze {{.*}} {axes = [1]} : (tensor<?xi64>) -> tensor<?x1xi64> {origin = "attn", role = "query_rows"}
// CHECK: [[L:%.+]] = nn.add [[S]], {{.*}} role = "last_key"
// CHECK: [[B:%.+]] = nn.less_or_equal [[T]], [[L]] {{.*}} role = "is_before"
// CHECK: [[F:%.+]] = nn.sub [[S]], {{.*}} role = "first_key"
// CHECK: [[A:%.+]] = nn.greater_or_equal [[T]], [[F]] {{.*}} role = "is_after"
// CHECK: nn.and [[B]], [[A]] {{.*}} role = "seen"
func.func @attention_of_open_sizes(%q: tensor<1x1x?x4xf32>) -> tensor<1x1x?x4xf32> {
  %0:4 = nn.attention %q, %q, %q {is_causal = true, left_window = 1} : (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>) -> (tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x?xf32>) {origin = "attn"}
  func.return %0#0 : tensor<1x1x?x4xf32>
}

// With lengths, the last query has the place of the last key that counts; for heads that share keys the lengths have an
// axis more.
// CHECK-LABEL: @attention_of_lengths(
// CHECK: [[E:%.+]] = nn.unsqueeze %l {axes = [1, 2, 3, 4]} : (tensor<3xi64>) -> tensor<3x1x1x1x1xi64> {origin = "attn", role = "lengths"}
// CHECK: nn.sub [[E]], {{.*}} role = "first_query"
// CHECK: nn.less {{.*}}, [[E]] : {{.*}} -> tensor<3x1x1x1x5xi1> {origin = "attn", role = "counts"}
func.func @attention_of_lengths(%q: tensor<3x2x1x4xf32>, %k: tensor<3x1x5x4xf32>, %l: tensor<3xi64>) -> tensor<3x2x1x4xf32> {
  %0:4 = nn.attention %q, %k, %k, _, _, _, %l {is_causal = true} : (tensor<3x2x1x4xf32>, tensor<3x1x5x4xf32>, tensor<3x1x5x4xf32>, tensor<3xi64>) -> (tensor<3x2x1x4xf32>, tensor<3x1x5x4xf32>, tensor<3x1x5x4xf32>, tensor<3x2x1x5xf32>) {origin = "attn"}
  func.return %0#0 : tensor<3x2x1x4xf32>
}

// A past stands in front of the keys and values; a window of two keys, counted from the end of the past, is a mask.
// CHECK-LABEL: @attention_with_past(
// CHECK-SAME: [[Q:%.+]]: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
// CHECK: [[K:%.+]] = nn.concat [[Q]], [[Q]] {axis = 2} {{.*}} {origin = "attn", role = "keys"
// CHECK: [[V:%.+]] = nn.concat [[Q]], [[Q]] {axis = 2} {{.*}} {origin = "attn", role = "values"
// CHECK: nn.mul [[K]], {{.*}} role = "key_scaled"
// CHECK: nn.constant dense<{{\[\[}}false, true, true, false], [false, false, true, true{{\]\]}}> : tensor<2x4xi1> {origin = "attn", role = "causal"}
// CHECK: nn.matmul {{.*}}, [[V]] : {{.*}} role = "value_matmul"
func.func @attention_with_past(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0, %1, %2, %3 = nn.attention %q, %q, %q, _, %q, %q {is_causal = true, left_window = 1} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x2x4xf32>) {origin = "attn"}
  func.return %0 : tensor<1x1x2x4xf32>
}

// Two heads that share their keys are an axis of their own, of a mask by heads, too.
// CHECK-LABEL: @attention_of_groups(
// CHECK: [[Q:%.+]] = nn.reshape {{.*}} (tensor<?x4x2x3xf32>) -> tensor<?x2x2x2x3xf32> {origin = "attn", role = "query_heads"}
// CHECK: [[K:%.+]] = nn.reshape {{.*}} (tensor<?x2x5x3xf32>) -> tensor<?x2x1x5x3xf32> {origin = "attn", role = "key_heads"}
// CHECK: nn.matmul [[Q]], [[K]] {{.*}} -> tensor<?x2x2x2x5xf32> {origin = "attn", role = "query_key_matmul"}
// CHECK: [[M:%.+]] = nn.reshape %m : (tensor<4x2x5xi1>) -> tensor<2x2x2x5xi1> {origin = "attn", role = "mask_heads"}
// CHECK: nn.where [[M]], 
// CHECK: nn.matmul {{.*}} -> tensor<?x2x2x2x3xf32> {origin = "attn", role = "value_matmul"}
// CHECK: nn.reshape {{.*}} (tensor<?x2x2x2x3xf32>) -> tensor<?x4x2x3xf32> {origin = "attn", role = "result_heads"
func.func @attention_of_groups(%q: tensor<?x4x2x3xf32>, %k: tensor<?x2x5x3xf32>, %m: tensor<4x2x5xi1>) -> tensor<?x4x2x3xf32> {
  %0, %1, %2, %3 = nn.attention %q, %k, %k, %m : (tensor<?x4x2x3xf32>, tensor<?x2x5x3xf32>, tensor<?x2x5x3xf32>, tensor<4x2x5xi1>) -> (tensor<?x4x2x3xf32>, tensor<?x2x5x3xf32>, tensor<?x2x5x3xf32>, tensor<?x4x2x5xf32>) {origin = "attn"}
  func.return %0 : tensor<?x4x2x3xf32>
}

// One size that only the run knows is what a reshape finds; two, or the channels that are to be divided, keep it whole.
// CHECK-LABEL: @groups_of_one_unknown_size(
// CHECK: nn.reshape {{%.+}} : (tensor<?x4x3xf32>) -> tensor<?x2x2x3xf32>
// CHECK: nn.reshape {{%.+}} : (tensor<?x2x2x3xf32>) -> tensor<?x4x3xf32>
func.func @groups_of_one_unknown_size(%x: tensor<?x4x3xf32>, %s: tensor<4xf32>) -> tensor<?x4x3xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<?x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32>
  func.return %0 : tensor<?x4x3xf32>
}

// CHECK-LABEL: @groups_of_two_unknown_sizes(
// CHECK-NEXT: {{%.+}} = nn.group_norm
func.func @groups_of_two_unknown_sizes(%x: tensor<?x4x?xf32>, %s: tensor<4xf32>) -> tensor<?x4x?xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<?x4x?xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?xf32>
  func.return %0 : tensor<?x4x?xf32>
}

// CHECK-LABEL: @groups_of_unknown_channels(
// CHECK-NEXT: {{%.+}} = nn.group_norm
func.func @groups_of_unknown_channels(%x: tensor<1x?x3xf32>, %s: tensor<?xf32>) -> tensor<1x?x3xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x?x3xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<1x?x3xf32>
  func.return %0 : tensor<1x?x3xf32>
}
