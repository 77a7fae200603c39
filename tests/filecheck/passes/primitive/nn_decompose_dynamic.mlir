// RUN: qmlir-opt %s -p nn-decompose | filecheck %s

func.func @quantize(%x: tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) {
  %q, %s, %z = nn.dynamic_quantize %x : (tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) {origin = "d"}
  func.return %q, %s, %z : tensor<2x3xui8>, tensor<f32>, tensor<ui8>
}

func.func @rows(%x: tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi8>) {
  %q, %s, %z = nn.dynamic_quantize %x {axes = [-1], storage = "i8"} : (tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi8>) {origin = "d"}
  func.return %q, %s, %z : tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi8>
}

func.func @symmetric(%x: tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<i8>) {
  %q, %s, %z = nn.dynamic_quantize %x {axes = [-1], storage = "i8", scheme = "symmetric"} : (tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<i8>) {origin = "d"}
  func.return %q, %s, %z : tensor<2x3xi8>, tensor<2x1xf32>, tensor<i8>
}

// What is multiplied is quantized once for all gates, the products are those of bytes.
func.func @lstm(%x: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> {
  %w = nn.constant dense<[[[1], [2], [3], [4]]]> : tensor<1x4x1xi8> -> tensor<1x4x1x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125, 1.0}>> {origin = "w"}
  %r = nn.constant dense<[[[130], [131], [132], [133]]]> : tensor<1x4x1xui8> -> tensor<1x4x1x!quant.uniform<u8:f32, 0.5:128>> {origin = "r"}
  %h, %l, %c = nn.dynamic_lstm %x, %w, %r {hidden_size = 1} : (tensor<1x1x1xf32>, tensor<1x4x1x!quant.uniform<i8:f32:1, {0.5, 0.25, 0.125, 1.0}>>, tensor<1x4x1x!quant.uniform<u8:f32, 0.5:128>>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) {origin = "lstm"}
  func.return %l : tensor<1x1x1xf32>
}

// Weights that only the run knows have no sums that are known: the layer stays.
func.func @weights_at_run_time(%x: tensor<1x1x1xf32>, %w: tensor<1x4x1x!quant.uniform<i8:f32, 1.0>>) -> tensor<1x1x1xf32> {
  %h, %l, %c = nn.dynamic_lstm %x, %w, %w {hidden_size = 1} : (tensor<1x1x1xf32>, tensor<1x4x1x!quant.uniform<i8:f32, 1.0>>, tensor<1x4x1x!quant.uniform<i8:f32, 1.0>>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  func.return %l : tensor<1x1x1xf32>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 1.000000e+00>
// CHECK-NEXT: !q3 = !quant.uniform<u8:f32, 1.000000e+00:128>
// CHECK-LABEL: @quantize(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<2x3xui8>, tensor<f32>, tensor<ui8>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "d", role = "zero"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "d", role = "one"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<2.550000e+02> : tensor<f32> {origin = "d", role = "steps"}
// CHECK-NEXT: [[V4:%.+]] = nn.reduce_min [[V0]] {axes = [0, 1], keep_dims = false} : (tensor<2x3xf32>) -> tensor<f32> {origin = "d", role = "min"}
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_max [[V0]] {axes = [0, 1], keep_dims = false} : (tensor<2x3xf32>) -> tensor<f32> {origin = "d", role = "max"}
// CHECK-NEXT: [[V6:%.+]] = nn.min [[V4]], [[V1]] : tensor<f32> {origin = "d", role = "low"}
// CHECK-NEXT: [[V7:%.+]] = nn.max [[V5]], [[V1]] : tensor<f32> {origin = "d", role = "high"}
// CHECK-NEXT: [[V8:%.+]] = nn.sub [[V7]], [[V6]] : tensor<f32> {origin = "d", role = "span"}
// CHECK-NEXT: [[V9:%.+]] = nn.equal [[V8]], [[V1]] : (tensor<f32>, tensor<f32>) -> tensor<i1> {origin = "d", role = "is_empty"}
// CHECK-NEXT: [[V10:%.+]] = nn.where [[V9]], [[V2]], [[V8]] : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> {origin = "d", role = "step_span"}
// CHECK-NEXT: [[V11:%.+]] = nn.div [[V10]], [[V3]] : tensor<f32> {origin = "d", role = "scale", composite = {op = "nn.dynamic_quantize", result = 1 : i64}}
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V6]], [[V11]] : tensor<f32> {origin = "d", role = "steps_below"}
// CHECK-NEXT: [[V13:%.+]] = nn.sub [[V1]], [[V12]] : tensor<f32> {origin = "d", role = "place"}
// CHECK-NEXT: [[V14:%.+]] = nn.clip [[V13]] {minimum = 0.0, maximum = 255.0} : tensor<f32> {origin = "d", role = "inside"}
// CHECK-NEXT: [[V15:%.+]] = nn.round [[V14]] : tensor<f32> {origin = "d", role = "rounded"}
// CHECK-NEXT: [[V16:%.+]] = nn.div [[V0]], [[V11]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "d", role = "quotient"}
// CHECK-NEXT: [[V17:%.+]] = nn.round [[V16]] : tensor<2x3xf32> {origin = "d", role = "steps_of_each"}
// CHECK-NEXT: [[V18:%.+]] = nn.add [[V17]], [[V15]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "d", role = "shifted"}
// CHECK-NEXT: [[V19:%.+]] = nn.clip [[V18]] {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32> {origin = "d", role = "limited"}
// CHECK-NEXT: [[V20:%.+]] = nn.cast [[V19]] : (tensor<2x3xf32>) -> tensor<2x3xui8> {origin = "d", role = "integers", composite = {op = "nn.dynamic_quantize"}}
// CHECK-NEXT: [[V21:%.+]] = nn.cast [[V15]] : (tensor<f32>) -> tensor<ui8> {origin = "d", role = "zero_point", composite = {op = "nn.dynamic_quantize", result = 2 : i64}}
// CHECK-NEXT: func.return [[V20]], [[V11]], [[V21]] : tensor<2x3xui8>, tensor<f32>, tensor<ui8>
// CHECK-LABEL: @rows(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi8>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "d", role = "zero"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "d", role = "one"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<2.550000e+02> : tensor<f32> {origin = "d", role = "steps"}
// CHECK-NEXT: [[V4:%.+]] = nn.reduce_min [[V0]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "d", role = "min"}
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_max [[V0]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "d", role = "max"}
// CHECK-NEXT: [[V6:%.+]] = nn.min [[V4]], [[V1]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "low"}
// CHECK-NEXT: [[V7:%.+]] = nn.max [[V5]], [[V1]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "high"}
// CHECK-NEXT: [[V8:%.+]] = nn.sub [[V7]], [[V6]] : tensor<2x1xf32> {origin = "d", role = "span"}
// CHECK-NEXT: [[V9:%.+]] = nn.equal [[V8]], [[V1]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xi1> {origin = "d", role = "is_empty"}
// CHECK-NEXT: [[V10:%.+]] = nn.where [[V9]], [[V2]], [[V8]] : (tensor<2x1xi1>, tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32> {origin = "d", role = "step_span"}
// CHECK-NEXT: [[V11:%.+]] = nn.div [[V10]], [[V3]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "scale", composite = {op = "nn.dynamic_quantize", result = 1 : i64, properties = {axes = array<i64: -1>, storage = "i8"}}}
// CHECK-NEXT: [[V12:%.+]] = nn.div [[V6]], [[V11]] : tensor<2x1xf32> {origin = "d", role = "steps_below"}
// CHECK-NEXT: [[V13:%.+]] = nn.sub [[V1]], [[V12]] : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32> {origin = "d", role = "place"}
// CHECK-NEXT: [[V14:%.+]] = nn.clip [[V13]] {minimum = 0.0, maximum = 255.0} : tensor<2x1xf32> {origin = "d", role = "inside"}
// CHECK-NEXT: [[V15:%.+]] = nn.round [[V14]] : tensor<2x1xf32> {origin = "d", role = "rounded"}
// CHECK-NEXT: [[V16:%.+]] = nn.div [[V0]], [[V11]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "d", role = "quotient"}
// CHECK-NEXT: [[V17:%.+]] = nn.round [[V16]] : tensor<2x3xf32> {origin = "d", role = "steps_of_each"}
// CHECK-NEXT: [[V18:%.+]] = nn.add [[V17]], [[V15]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "d", role = "shifted"}
// CHECK-NEXT: [[V19:%.+]] = nn.clip [[V18]] {minimum = 0.0, maximum = 255.0} : tensor<2x3xf32> {origin = "d", role = "limited"}
// CHECK-NEXT: [[V20:%.+]] = nn.constant dense<-1.280000e+02> : tensor<f32> {origin = "d", role = "shift"}
// CHECK-NEXT: [[V21:%.+]] = nn.add [[V19]], [[V20]] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32> {origin = "d", role = "integers/shifted"}
// CHECK-NEXT: [[V22:%.+]] = nn.cast [[V21]] : (tensor<2x3xf32>) -> tensor<2x3xi8> {origin = "d", role = "integers", composite = {op = "nn.dynamic_quantize", properties = {axes = array<i64: -1>, storage = "i8"}}}
// CHECK-NEXT: [[V23:%.+]] = nn.add [[V15]], [[V20]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "zero_point/shifted"}
// CHECK-NEXT: [[V24:%.+]] = nn.cast [[V23]] : (tensor<2x1xf32>) -> tensor<2x1xi8> {origin = "d", role = "zero_point", composite = {op = "nn.dynamic_quantize", result = 2 : i64, properties = {axes = array<i64: -1>, storage = "i8"}}}
// CHECK-NEXT: func.return [[V22]], [[V11]], [[V24]] : tensor<2x3xi8>, tensor<2x1xf32>, tensor<2x1xi8>
// CHECK-LABEL: @symmetric(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> (tensor<2x3xi8>, tensor<2x1xf32>, tensor<i8>)
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "d", role = "zero"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "d", role = "one"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.270000e+02> : tensor<f32> {origin = "d", role = "steps"}
// CHECK-NEXT: [[V4:%.+]] = nn.abs [[V0]] : tensor<2x3xf32> {origin = "d", role = "absolute"}
// CHECK-NEXT: [[V5:%.+]] = nn.reduce_max [[V4]] {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1xf32> {origin = "d", role = "max"}
// CHECK-NEXT: [[V6:%.+]] = nn.max [[V5]], [[V1]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "high"}
// CHECK-NEXT: [[V7:%.+]] = nn.equal [[V6]], [[V1]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xi1> {origin = "d", role = "is_empty"}
// CHECK-NEXT: [[V8:%.+]] = nn.where [[V7]], [[V2]], [[V6]] : (tensor<2x1xi1>, tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32> {origin = "d", role = "step_span"}
// CHECK-NEXT: [[V9:%.+]] = nn.div [[V8]], [[V3]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32> {origin = "d", role = "scale", composite = {op = "nn.dynamic_quantize", result = 1 : i64, properties = {axes = array<i64: -1>, storage = "i8", scheme = "symmetric"}}}
// CHECK-NEXT: [[V10:%.+]] = nn.div [[V0]], [[V9]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> {origin = "d", role = "quotient"}
// CHECK-NEXT: [[V11:%.+]] = nn.round [[V10]] : tensor<2x3xf32> {origin = "d", role = "steps_of_each"}
// CHECK-NEXT: [[V12:%.+]] = nn.clip [[V11]] {minimum = -127.0, maximum = 127.0} : tensor<2x3xf32> {origin = "d", role = "limited"}
// CHECK-NEXT: [[V13:%.+]] = nn.cast [[V12]] : (tensor<2x3xf32>) -> tensor<2x3xi8> {origin = "d", role = "integers", composite = {op = "nn.dynamic_quantize", properties = {axes = array<i64: -1>, storage = "i8", scheme = "symmetric"}}}
// CHECK-NEXT: [[V14:%.+]] = nn.constant dense<0> : tensor<i8> {origin = "d", role = "zero_point", composite = {op = "nn.dynamic_quantize", result = 2 : i64, properties = {axes = array<i64: -1>, storage = "i8", scheme = "symmetric"}}}
// CHECK-NEXT: func.return [[V13]], [[V9]], [[V14]] : tensor<2x3xi8>, tensor<2x1xf32>, tensor<i8>
// CHECK-LABEL: @lstm(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<{{\[\[}}1]]> : tensor<1x1xi8> -> tensor<1x1x!q0> {origin = "lstm", role = "input_gate/input_weight"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<[1]> : tensor<1xi32> {origin = "lstm", role = "input_gate/input_weight_sum"}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<[5.000000e-01]> : tensor<1xf32> {origin = "lstm", role = "input_gate/input_weight_scale"}
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/zero"}
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/one"}
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<2.550000e+02> : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/steps"}
// CHECK-NEXT: [[V7:%.+]] = nn.reduce_min [[V0]] {axes = [0, 1, 2], keep_dims = false} : (tensor<1x1x1xf32>) -> tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/min"}
// CHECK-NEXT: [[V8:%.+]] = nn.reduce_max [[V0]] {axes = [0, 1, 2], keep_dims = false} : (tensor<1x1x1xf32>) -> tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/max"}
// CHECK-NEXT: [[V9:%.+]] = nn.min [[V7]], [[V4]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/low"}
// CHECK-NEXT: [[V10:%.+]] = nn.max [[V8]], [[V4]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/high"}
// CHECK-NEXT: [[V11:%.+]] = nn.sub [[V10]], [[V9]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/span"}
// CHECK-NEXT: [[V12:%.+]] = nn.equal [[V11]], [[V4]] : (tensor<f32>, tensor<f32>) -> tensor<i1> {origin = "lstm", role = "input_gate/input_matmul/quantize/is_empty"}
// CHECK-NEXT: [[V13:%.+]] = nn.where [[V12]], [[V5]], [[V11]] : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/step_span"}
// CHECK-NEXT: [[V14:%.+]] = nn.div [[V13]], [[V6]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/scale", composite = {op = "nn.dynamic_quantize", result = 1 : i64, role = "input_gate/input_matmul/quantize"}}
// CHECK-NEXT: [[V15:%.+]] = nn.div [[V9]], [[V14]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/steps_below"}
// CHECK-NEXT: [[V16:%.+]] = nn.sub [[V4]], [[V15]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/place"}
// CHECK-NEXT: [[V17:%.+]] = nn.clip [[V16]] {minimum = 0.0, maximum = 255.0} : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/inside"}
// CHECK-NEXT: [[V18:%.+]] = nn.round [[V17]] : tensor<f32> {origin = "lstm", role = "input_gate/input_matmul/quantize/rounded"}
// CHECK-NEXT: [[V19:%.+]] = nn.div [[V0]], [[V14]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/quantize/quotient"}
// CHECK-NEXT: [[V20:%.+]] = nn.round [[V19]] : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/quantize/steps_of_each"}
// CHECK-NEXT: [[V21:%.+]] = nn.add [[V20]], [[V18]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/quantize/shifted"}
// CHECK-NEXT: [[V22:%.+]] = nn.clip [[V21]] {minimum = 0.0, maximum = 255.0} : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/quantize/limited"}
// CHECK-NEXT: [[V23:%.+]] = nn.cast [[V22]] : (tensor<1x1x1xf32>) -> tensor<1x1x1xui8> {origin = "lstm", role = "input_gate/input_matmul/quantize/integers", composite = {op = "nn.dynamic_quantize", role = "input_gate/input_matmul/quantize"}}
// CHECK-NEXT: [[V24:%.+]] = nn.cast [[V18]] : (tensor<f32>) -> tensor<ui8> {origin = "lstm", role = "input_gate/input_matmul/quantize/zero_point", composite = {op = "nn.dynamic_quantize", result = 2 : i64, role = "input_gate/input_matmul/quantize"}}
// CHECK-NEXT: [[V25:%.+]] = nn.cast [[V23]] : (tensor<1x1x1xui8>) -> tensor<1x1x1xi8> {origin = "lstm", role = "input_gate/input_matmul/bytes"}
// CHECK-NEXT: [[V26:%.+]] = quant.scast [[V25]] {origin = "lstm", role = "input_gate/input_matmul/stored"} : tensor<1x1x1xi8> to tensor<1x1x1x!q1>
// CHECK-NEXT: [[V27:%.+]] = nn.cast [[V24]] : (tensor<ui8>) -> tensor<i32> {origin = "lstm", role = "input_gate/input_matmul/zero_point"}
// CHECK-NEXT: [[V28:%.+]] = nn.matmul [[V26]], [[V1]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q0>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "input_gate/input_matmul"}
// CHECK-NEXT: [[V29:%.+]] = quant.scast [[V28]] {origin = "lstm", role = "input_gate/input_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V30:%.+]] = nn.mul [[V27]], [[V2]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "input_gate/input_matmul/correction"}
// CHECK-NEXT: [[V31:%.+]] = nn.sub [[V29]], [[V30]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "input_gate/input_matmul/centred"}
// CHECK-NEXT: [[V32:%.+]] = nn.mul [[V14]], [[V3]] : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32> {origin = "lstm", role = "input_gate/input_matmul/scale"}
// CHECK-NEXT: [[V33:%.+]] = nn.cast [[V31]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/real"}
// CHECK-NEXT: [[V34:%.+]] = nn.mul [[V33]], [[V32]] : (tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/input_matmul/scaled"}
// CHECK-NEXT: [[V35:%.+]] = nn.constant dense<{{\[\[}}2]]> : tensor<1x1xi8> -> tensor<1x1x!q0> {origin = "lstm", role = "output_gate/input_weight"}
// CHECK-NEXT: [[V36:%.+]] = nn.constant dense<[2]> : tensor<1xi32> {origin = "lstm", role = "output_gate/input_weight_sum"}
// CHECK-NEXT: [[V37:%.+]] = nn.constant dense<[2.500000e-01]> : tensor<1xf32> {origin = "lstm", role = "output_gate/input_weight_scale"}
// CHECK-NEXT: [[V38:%.+]] = nn.matmul [[V26]], [[V35]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q0>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "output_gate/input_matmul"}
// CHECK-NEXT: [[V39:%.+]] = quant.scast [[V38]] {origin = "lstm", role = "output_gate/input_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V40:%.+]] = nn.mul [[V27]], [[V36]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "output_gate/input_matmul/correction"}
// CHECK-NEXT: [[V41:%.+]] = nn.sub [[V39]], [[V40]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "output_gate/input_matmul/centred"}
// CHECK-NEXT: [[V42:%.+]] = nn.mul [[V14]], [[V37]] : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32> {origin = "lstm", role = "output_gate/input_matmul/scale"}
// CHECK-NEXT: [[V43:%.+]] = nn.cast [[V41]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/input_matmul/real"}
// CHECK-NEXT: [[V44:%.+]] = nn.mul [[V43]], [[V42]] : (tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/input_matmul/scaled"}
// CHECK-NEXT: [[V45:%.+]] = nn.constant dense<{{\[\[}}3]]> : tensor<1x1xi8> -> tensor<1x1x!q0> {origin = "lstm", role = "forget_gate/input_weight"}
// CHECK-NEXT: [[V46:%.+]] = nn.constant dense<[3]> : tensor<1xi32> {origin = "lstm", role = "forget_gate/input_weight_sum"}
// CHECK-NEXT: [[V47:%.+]] = nn.constant dense<[1.250000e-01]> : tensor<1xf32> {origin = "lstm", role = "forget_gate/input_weight_scale"}
// CHECK-NEXT: [[V48:%.+]] = nn.matmul [[V26]], [[V45]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q0>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "forget_gate/input_matmul"}
// CHECK-NEXT: [[V49:%.+]] = quant.scast [[V48]] {origin = "lstm", role = "forget_gate/input_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V50:%.+]] = nn.mul [[V27]], [[V46]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "forget_gate/input_matmul/correction"}
// CHECK-NEXT: [[V51:%.+]] = nn.sub [[V49]], [[V50]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "forget_gate/input_matmul/centred"}
// CHECK-NEXT: [[V52:%.+]] = nn.mul [[V14]], [[V47]] : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32> {origin = "lstm", role = "forget_gate/input_matmul/scale"}
// CHECK-NEXT: [[V53:%.+]] = nn.cast [[V51]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/input_matmul/real"}
// CHECK-NEXT: [[V54:%.+]] = nn.mul [[V53]], [[V52]] : (tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/input_matmul/scaled"}
// CHECK-NEXT: [[V55:%.+]] = nn.constant dense<{{\[\[}}4]]> : tensor<1x1xi8> -> tensor<1x1x!q0> {origin = "lstm", role = "cell_gate/input_weight"}
// CHECK-NEXT: [[V56:%.+]] = nn.constant dense<[4]> : tensor<1xi32> {origin = "lstm", role = "cell_gate/input_weight_sum"}
// CHECK-NEXT: [[V57:%.+]] = nn.constant dense<[1.000000e+00]> : tensor<1xf32> {origin = "lstm", role = "cell_gate/input_weight_scale"}
// CHECK-NEXT: [[V58:%.+]] = nn.matmul [[V26]], [[V55]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q0>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "cell_gate/input_matmul"}
// CHECK-NEXT: [[V59:%.+]] = quant.scast [[V58]] {origin = "lstm", role = "cell_gate/input_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V60:%.+]] = nn.mul [[V27]], [[V56]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "cell_gate/input_matmul/correction"}
// CHECK-NEXT: [[V61:%.+]] = nn.sub [[V59]], [[V60]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "cell_gate/input_matmul/centred"}
// CHECK-NEXT: [[V62:%.+]] = nn.mul [[V14]], [[V57]] : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32> {origin = "lstm", role = "cell_gate/input_matmul/scale"}
// CHECK-NEXT: [[V63:%.+]] = nn.cast [[V61]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/input_matmul/real"}
// CHECK-NEXT: [[V64:%.+]] = nn.mul [[V63]], [[V62]] : (tensor<1x1x1xf32>, tensor<1xf32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/input_matmul/scaled"}
// CHECK-NEXT: [[V65:%.+]] = nn.constant dense<{{\[\[}}130]]> : tensor<1x1xui8> -> tensor<1x1x!q3> {origin = "lstm", role = "input_gate/recurrence_weight"}
// CHECK-NEXT: [[V66:%.+]] = nn.constant dense<[2]> : tensor<1xi32> {origin = "lstm", role = "input_gate/recurrence_weight_sum"}
// CHECK-NEXT: [[V67:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_weight_scale"}
// CHECK-NEXT: [[V68:%.+]] = nn.constant dense<{{\[\[}}131]]> : tensor<1x1xui8> -> tensor<1x1x!q3> {origin = "lstm", role = "output_gate/recurrence_weight"}
// CHECK-NEXT: [[V69:%.+]] = nn.constant dense<[3]> : tensor<1xi32> {origin = "lstm", role = "output_gate/recurrence_weight_sum"}
// CHECK-NEXT: [[V70:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "lstm", role = "output_gate/recurrence_weight_scale"}
// CHECK-NEXT: [[V71:%.+]] = nn.constant dense<{{\[\[}}132]]> : tensor<1x1xui8> -> tensor<1x1x!q3> {origin = "lstm", role = "forget_gate/recurrence_weight"}
// CHECK-NEXT: [[V72:%.+]] = nn.constant dense<[4]> : tensor<1xi32> {origin = "lstm", role = "forget_gate/recurrence_weight_sum"}
// CHECK-NEXT: [[V73:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "lstm", role = "forget_gate/recurrence_weight_scale"}
// CHECK-NEXT: [[V74:%.+]] = nn.constant dense<{{\[\[}}133]]> : tensor<1x1xui8> -> tensor<1x1x!q3> {origin = "lstm", role = "cell_gate/recurrence_weight"}
// CHECK-NEXT: [[V75:%.+]] = nn.constant dense<[5]> : tensor<1xi32> {origin = "lstm", role = "cell_gate/recurrence_weight_sum"}
// CHECK-NEXT: [[V76:%.+]] = nn.constant dense<5.000000e-01> : tensor<f32> {origin = "lstm", role = "cell_gate/recurrence_weight_scale"}
// CHECK-NEXT: [[V77:%.+]] = nn.constant dense<{{\[\[}}[0.000000e+00]]]> : tensor<1x1x1xf32> {origin = "lstm", role = "hidden/initial"}
// CHECK-NEXT: [[V78:%.+]] = nn.constant dense<{{\[\[}}[0.000000e+00]]]> : tensor<1x1x1xf32> {origin = "lstm", role = "cell/initial"}
// CHECK-NEXT: [[V79:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/zero"}
// CHECK-NEXT: [[V80:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/one"}
// CHECK-NEXT: [[V81:%.+]] = nn.constant dense<2.550000e+02> : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/steps"}
// CHECK-NEXT: [[V82:%.+]] = nn.reduce_min [[V77]] {axes = [0, 1, 2], keep_dims = false} : (tensor<1x1x1xf32>) -> tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/min"}
// CHECK-NEXT: [[V83:%.+]] = nn.reduce_max [[V77]] {axes = [0, 1, 2], keep_dims = false} : (tensor<1x1x1xf32>) -> tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/max"}
// CHECK-NEXT: [[V84:%.+]] = nn.min [[V82]], [[V79]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/low"}
// CHECK-NEXT: [[V85:%.+]] = nn.max [[V83]], [[V79]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/high"}
// CHECK-NEXT: [[V86:%.+]] = nn.sub [[V85]], [[V84]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/span"}
// CHECK-NEXT: [[V87:%.+]] = nn.equal [[V86]], [[V79]] : (tensor<f32>, tensor<f32>) -> tensor<i1> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/is_empty"}
// CHECK-NEXT: [[V88:%.+]] = nn.where [[V87]], [[V80]], [[V86]] : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/step_span"}
// CHECK-NEXT: [[V89:%.+]] = nn.div [[V88]], [[V81]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/scale", composite = {op = "nn.dynamic_quantize", result = 1 : i64, role = "input_gate/recurrence_matmul/quantize"}}
// CHECK-NEXT: [[V90:%.+]] = nn.div [[V84]], [[V89]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/steps_below"}
// CHECK-NEXT: [[V91:%.+]] = nn.sub [[V79]], [[V90]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/place"}
// CHECK-NEXT: [[V92:%.+]] = nn.clip [[V91]] {minimum = 0.0, maximum = 255.0} : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/inside"}
// CHECK-NEXT: [[V93:%.+]] = nn.round [[V92]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/rounded"}
// CHECK-NEXT: [[V94:%.+]] = nn.div [[V77]], [[V89]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/quotient"}
// CHECK-NEXT: [[V95:%.+]] = nn.round [[V94]] : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/steps_of_each"}
// CHECK-NEXT: [[V96:%.+]] = nn.add [[V95]], [[V93]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/shifted"}
// CHECK-NEXT: [[V97:%.+]] = nn.clip [[V96]] {minimum = 0.0, maximum = 255.0} : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/limited"}
// CHECK-NEXT: [[V98:%.+]] = nn.cast [[V97]] : (tensor<1x1x1xf32>) -> tensor<1x1x1xui8> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/integers", composite = {op = "nn.dynamic_quantize", role = "input_gate/recurrence_matmul/quantize"}}
// CHECK-NEXT: [[V99:%.+]] = nn.cast [[V93]] : (tensor<f32>) -> tensor<ui8> {origin = "lstm", role = "input_gate/recurrence_matmul/quantize/zero_point", composite = {op = "nn.dynamic_quantize", result = 2 : i64, role = "input_gate/recurrence_matmul/quantize"}}
// CHECK-NEXT: [[V100:%.+]] = nn.cast [[V98]] : (tensor<1x1x1xui8>) -> tensor<1x1x1xi8> {origin = "lstm", role = "input_gate/recurrence_matmul/bytes"}
// CHECK-NEXT: [[V101:%.+]] = quant.scast [[V100]] {origin = "lstm", role = "input_gate/recurrence_matmul/stored"} : tensor<1x1x1xi8> to tensor<1x1x1x!q1>
// CHECK-NEXT: [[V102:%.+]] = nn.cast [[V99]] : (tensor<ui8>) -> tensor<i32> {origin = "lstm", role = "input_gate/recurrence_matmul/zero_point"}
// CHECK-NEXT: [[V103:%.+]] = nn.matmul [[V101]], [[V65]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q3>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "input_gate/recurrence_matmul"}
// CHECK-NEXT: [[V104:%.+]] = quant.scast [[V103]] {origin = "lstm", role = "input_gate/recurrence_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V105:%.+]] = nn.mul [[V102]], [[V66]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "input_gate/recurrence_matmul/correction"}
// CHECK-NEXT: [[V106:%.+]] = nn.sub [[V104]], [[V105]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "input_gate/recurrence_matmul/centred"}
// CHECK-NEXT: [[V107:%.+]] = nn.mul [[V89]], [[V67]] : tensor<f32> {origin = "lstm", role = "input_gate/recurrence_matmul/scale"}
// CHECK-NEXT: [[V108:%.+]] = nn.cast [[V106]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/real"}
// CHECK-NEXT: [[V109:%.+]] = nn.mul [[V108]], [[V107]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/recurrence_matmul/scaled"}
// CHECK-NEXT: [[V110:%.+]] = nn.add [[V34]], [[V109]] : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/sum"}
// CHECK-NEXT: [[V111:%.+]] = nn.sigmoid [[V110]] : tensor<1x1x1xf32> {origin = "lstm", role = "input_gate/sigmoid"}
// CHECK-NEXT: [[V112:%.+]] = nn.matmul [[V101]], [[V71]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q3>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "forget_gate/recurrence_matmul"}
// CHECK-NEXT: [[V113:%.+]] = quant.scast [[V112]] {origin = "lstm", role = "forget_gate/recurrence_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V114:%.+]] = nn.mul [[V102]], [[V72]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "forget_gate/recurrence_matmul/correction"}
// CHECK-NEXT: [[V115:%.+]] = nn.sub [[V113]], [[V114]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "forget_gate/recurrence_matmul/centred"}
// CHECK-NEXT: [[V116:%.+]] = nn.mul [[V89]], [[V73]] : tensor<f32> {origin = "lstm", role = "forget_gate/recurrence_matmul/scale"}
// CHECK-NEXT: [[V117:%.+]] = nn.cast [[V115]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/recurrence_matmul/real"}
// CHECK-NEXT: [[V118:%.+]] = nn.mul [[V117]], [[V116]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/recurrence_matmul/scaled"}
// CHECK-NEXT: [[V119:%.+]] = nn.add [[V54]], [[V118]] : tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/sum"}
// CHECK-NEXT: [[V120:%.+]] = nn.sigmoid [[V119]] : tensor<1x1x1xf32> {origin = "lstm", role = "forget_gate/sigmoid"}
// CHECK-NEXT: [[V121:%.+]] = nn.matmul [[V101]], [[V74]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q3>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "cell_gate/recurrence_matmul"}
// CHECK-NEXT: [[V122:%.+]] = quant.scast [[V121]] {origin = "lstm", role = "cell_gate/recurrence_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V123:%.+]] = nn.mul [[V102]], [[V75]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "cell_gate/recurrence_matmul/correction"}
// CHECK-NEXT: [[V124:%.+]] = nn.sub [[V122]], [[V123]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "cell_gate/recurrence_matmul/centred"}
// CHECK-NEXT: [[V125:%.+]] = nn.mul [[V89]], [[V76]] : tensor<f32> {origin = "lstm", role = "cell_gate/recurrence_matmul/scale"}
// CHECK-NEXT: [[V126:%.+]] = nn.cast [[V124]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/recurrence_matmul/real"}
// CHECK-NEXT: [[V127:%.+]] = nn.mul [[V126]], [[V125]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/recurrence_matmul/scaled"}
// CHECK-NEXT: [[V128:%.+]] = nn.add [[V64]], [[V127]] : tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/sum"}
// CHECK-NEXT: [[V129:%.+]] = nn.tanh [[V128]] : tensor<1x1x1xf32> {origin = "lstm", role = "cell_gate/tanh"}
// CHECK-NEXT: [[V130:%.+]] = nn.mul [[V120]], [[V78]] : tensor<1x1x1xf32> {origin = "lstm", role = "cell/forget_mul"}
// CHECK-NEXT: [[V131:%.+]] = nn.mul [[V111]], [[V129]] : tensor<1x1x1xf32> {origin = "lstm", role = "cell/input_mul"}
// CHECK-NEXT: [[V132:%.+]] = nn.add [[V130]], [[V131]] : tensor<1x1x1xf32> {origin = "lstm", role = "cell/sum", composite = {op = "nn.dynamic_lstm", result = 2 : i64, properties = {hidden_size = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}}}
// CHECK-NEXT: [[V133:%.+]] = nn.matmul [[V101]], [[V68]] {transpose_b = true} : (tensor<1x1x1x!q1>, tensor<1x1x!q3>) -> tensor<1x1x1x!q2> {origin = "lstm", role = "output_gate/recurrence_matmul"}
// CHECK-NEXT: [[V134:%.+]] = quant.scast [[V133]] {origin = "lstm", role = "output_gate/recurrence_matmul/sums"} : tensor<1x1x1x!q2> to tensor<1x1x1xi32>
// CHECK-NEXT: [[V135:%.+]] = nn.mul [[V102]], [[V69]] : (tensor<i32>, tensor<1xi32>) -> tensor<1xi32> {origin = "lstm", role = "output_gate/recurrence_matmul/correction"}
// CHECK-NEXT: [[V136:%.+]] = nn.sub [[V134]], [[V135]] : (tensor<1x1x1xi32>, tensor<1xi32>) -> tensor<1x1x1xi32> {origin = "lstm", role = "output_gate/recurrence_matmul/centred"}
// CHECK-NEXT: [[V137:%.+]] = nn.mul [[V89]], [[V70]] : tensor<f32> {origin = "lstm", role = "output_gate/recurrence_matmul/scale"}
// CHECK-NEXT: [[V138:%.+]] = nn.cast [[V136]] : (tensor<1x1x1xi32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/recurrence_matmul/real"}
// CHECK-NEXT: [[V139:%.+]] = nn.mul [[V138]], [[V137]] : (tensor<1x1x1xf32>, tensor<f32>) -> tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/recurrence_matmul/scaled"}
// CHECK-NEXT: [[V140:%.+]] = nn.add [[V44]], [[V139]] : tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/sum"}
// CHECK-NEXT: [[V141:%.+]] = nn.sigmoid [[V140]] : tensor<1x1x1xf32> {origin = "lstm", role = "output_gate/sigmoid"}
// CHECK-NEXT: [[V142:%.+]] = nn.tanh [[V132]] : tensor<1x1x1xf32> {origin = "lstm", role = "hidden/tanh"}
// CHECK-NEXT: [[V143:%.+]] = nn.mul [[V141]], [[V142]] : tensor<1x1x1xf32> {origin = "lstm", role = "hidden/product", composite = {op = "nn.dynamic_lstm", result = 1 : i64, properties = {hidden_size = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}}}
// CHECK-NEXT: func.return [[V143]] : tensor<1x1x1xf32>
// CHECK-LABEL: @weights_at_run_time(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x1xf32>, [[V1:%.+]]: tensor<1x4x1x!q0>) -> tensor<1x1x1xf32>
// CHECK-NEXT: [[V2:%.+]], [[V3:%.+]], [[V4:%.+]] = nn.dynamic_lstm [[V0]], [[V1]], [[V1]] {hidden_size = 1} : (tensor<1x1x1xf32>, tensor<1x4x1x!q0>, tensor<1x4x1x!q0>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
// CHECK-NEXT: func.return [[V3]] : tensor<1x1x1xf32>
