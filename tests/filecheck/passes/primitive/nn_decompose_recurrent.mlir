// RUN: qmlir-opt %s -p nn-decompose,dce | filecheck %s
// RUN: qmlir-opt %s -p nn-decompose,dce | filecheck %s --check-prefix=ROLES
// RUN: qmlir-opt %s -p "nn-decompose{unroll=true},dce" | filecheck %s --check-prefix=UNROLLED

// Two steps of one gate have one role; the weights of constants are constants, sliced gate by gate.
// ROLES-LABEL: @rnn
// ROLES-NOT: nn.slice
// ROLES: nn.constant dense<5.000000e-01> : tensor<2x3xf32> {{.*}}role = "hidden/input_weight"
// ROLES: role = "hidden/input_matmul"
// ROLES: role = "hidden/recurrence_matmul"
// ROLES: role = "hidden/tanh"
// ROLES: role = "hidden/recurrence_matmul"
// ROLES: role = "hidden/tanh"
// CHECK-LABEL: @rnn(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1x3xf32>) -> tensor<2x1x1x2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/bias"}
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<5.000000e-01> : tensor<2x3xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/input_weight"}
// CHECK-NEXT: [[V3:%.+]] = nn.matmul [[V0]], [[V2]] {transpose_b = true} : (tensor<2x1x3xf32>, tensor<2x3xf32>) -> tensor<2x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/input_matmul"}
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V3]], [[V1]] : (tensor<2x1x2xf32>, tensor<2xf32>) -> tensor<2x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/bias_add"}
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]] = nn.split [[V4]] : (tensor<2x1x2xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>) {origin = "rnn1", op_type = "RNN", role = "hidden/input_step"}
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<2.500000e-01> : tensor<2x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/recurrence_weight"}
// CHECK-NEXT: [[V8:%.+]] = nn.constant dense<0.000000e+00> : tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/initial"}
// CHECK-NEXT: [[V9:%.+]] = nn.matmul [[V8]], [[V7]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/recurrence_matmul"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V5]], [[V9]] : tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/sum"}
// CHECK-NEXT: [[V11:%.+]] = nn.tanh [[V10]] : tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/tanh"}
// CHECK-NEXT: [[V12:%.+]] = nn.matmul [[V11]], [[V7]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/recurrence_matmul"}
// CHECK-NEXT: [[V13:%.+]] = nn.add [[V6]], [[V12]] : tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/sum"}
// CHECK-NEXT: [[V14:%.+]] = nn.tanh [[V13]] : tensor<1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/tanh", composite = {op = "nn.rnn", result = 1 : i64, properties = {hidden_size = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}}}
// CHECK-NEXT: [[V15:%.+]] = nn.concat [[V11]], [[V14]] {axis = 0} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<2x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/sequence"}
// CHECK-NEXT: [[V16:%.+]] = nn.reshape [[V15]] : (tensor<2x1x2xf32>) -> tensor<2x1x1x2xf32> {origin = "rnn1", op_type = "RNN", role = "hidden/reshape", composite = {op = "nn.rnn", properties = {hidden_size = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}}}
// CHECK-NEXT: func.return [[V16]] : tensor<2x1x1x2xf32>
func.func @rnn(%x: tensor<2x1x3xf32>) -> tensor<2x1x1x2xf32> {
  %w = nn.constant dense<0.5> : tensor<1x2x3xf32>
  %r = nn.constant dense<0.25> : tensor<1x2x2xf32>
  %b = nn.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %0, %1 = nn.rnn %x, %w, %r, %b {hidden_size = 2} : (tensor<2x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>, tensor<1x4xf32>) -> (tensor<2x1x1x2xf32>, tensor<1x1x2xf32>) {origin = "rnn1", op_type = "RNN"}
  func.return %0 : tensor<2x1x1x2xf32>
}

// The second direction has roles of its own.
// CHECK-LABEL: @bidirectional_lstm(
// CHECK-SAME: [[V0:%.+]]: tensor<1x1x3xf32>, [[V1:%.+]]: tensor<2x8x3xf32>, [[V2:%.+]]: tensor<2x8x2xf32>, [[V3:%.+]]: tensor<2x1x2xf32>, [[V4:%.+]]: tensor<2x6xf32>) -> tensor<2x1x2xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.slice [[V1]] {starts = [0, 0], ends = [1, 2]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "input_gate/input_weight/slice"}
// CHECK-NEXT: [[V6:%.+]] = nn.reshape [[V5]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "input_gate/input_weight"}
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V0]], [[V6]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/input_matmul"}
// CHECK-NEXT: [[V8:%.+]] = nn.slice [[V1]] {starts = [0, 4], ends = [1, 6]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "forget_gate/input_weight/slice"}
// CHECK-NEXT: [[V9:%.+]] = nn.reshape [[V8]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "forget_gate/input_weight"}
// CHECK-NEXT: [[V10:%.+]] = nn.matmul [[V0]], [[V9]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/input_matmul"}
// CHECK-NEXT: [[V11:%.+]] = nn.slice [[V1]] {starts = [0, 6], ends = [1, 8]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "cell_gate/input_weight/slice"}
// CHECK-NEXT: [[V12:%.+]] = nn.reshape [[V11]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "cell_gate/input_weight"}
// CHECK-NEXT: [[V13:%.+]] = nn.matmul [[V0]], [[V12]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "cell_gate/input_matmul"}
// CHECK-NEXT: [[V14:%.+]] = nn.slice [[V2]] {starts = [0, 0], ends = [1, 2]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "input_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V15:%.+]] = nn.reshape [[V14]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "input_gate/recurrence_weight"}
// CHECK-NEXT: [[V16:%.+]] = nn.slice [[V2]] {starts = [0, 4], ends = [1, 6]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "forget_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V17:%.+]] = nn.reshape [[V16]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "forget_gate/recurrence_weight"}
// CHECK-NEXT: [[V18:%.+]] = nn.slice [[V2]] {starts = [0, 6], ends = [1, 8]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "cell_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V19:%.+]] = nn.reshape [[V18]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "cell_gate/recurrence_weight"}
// CHECK-NEXT: [[V20:%.+]] = nn.slice [[V4]] {starts = [0, 0], ends = [1, 2]} : (tensor<2x6xf32>) -> tensor<1x2xf32> {origin = "lstm1", role = "input_gate/peephole_weight/slice"}
// CHECK-NEXT: [[V21:%.+]] = nn.reshape [[V20]] : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "lstm1", role = "input_gate/peephole_weight"}
// CHECK-NEXT: [[V22:%.+]] = nn.slice [[V4]] {starts = [0, 4], ends = [1, 6]} : (tensor<2x6xf32>) -> tensor<1x2xf32> {origin = "lstm1", role = "forget_gate/peephole_weight/slice"}
// CHECK-NEXT: [[V23:%.+]] = nn.reshape [[V22]] : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "lstm1", role = "forget_gate/peephole_weight"}
// CHECK-NEXT: [[V24:%.+]] = nn.slice [[V3]] {starts = [0], ends = [1]} : (tensor<2x1x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "hidden/initial"}
// CHECK-NEXT: [[V25:%.+]] = nn.constant dense<0.000000e+00> : tensor<1x1x2xf32> {origin = "lstm1", role = "cell/initial"}
// CHECK-NEXT: [[V26:%.+]] = nn.matmul [[V24]], [[V15]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/recurrence_matmul"}
// CHECK-NEXT: [[V27:%.+]] = nn.add [[V7]], [[V26]] : tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/sum"}
// CHECK-NEXT: [[V28:%.+]] = nn.mul [[V25]], [[V21]] : (tensor<1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/peephole_mul"}
// CHECK-NEXT: [[V29:%.+]] = nn.add [[V27]], [[V28]] : tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/peephole_sum"}
// CHECK-NEXT: [[V30:%.+]] = nn.clip [[V29]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/clip"}
// CHECK-NEXT: [[V31:%.+]] = nn.sigmoid [[V30]] : tensor<1x1x2xf32> {origin = "lstm1", role = "input_gate/sigmoid"}
// CHECK-NEXT: [[V32:%.+]] = nn.matmul [[V24]], [[V17]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/recurrence_matmul"}
// CHECK-NEXT: [[V33:%.+]] = nn.add [[V10]], [[V32]] : tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/sum"}
// CHECK-NEXT: [[V34:%.+]] = nn.mul [[V25]], [[V23]] : (tensor<1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/peephole_mul"}
// CHECK-NEXT: [[V35:%.+]] = nn.add [[V33]], [[V34]] : tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/peephole_sum"}
// CHECK-NEXT: [[V36:%.+]] = nn.clip [[V35]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/clip"}
// CHECK-NEXT: [[V37:%.+]] = nn.sigmoid [[V36]] : tensor<1x1x2xf32> {origin = "lstm1", role = "forget_gate/sigmoid"}
// CHECK-NEXT: [[V38:%.+]] = nn.matmul [[V24]], [[V19]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "cell_gate/recurrence_matmul"}
// CHECK-NEXT: [[V39:%.+]] = nn.add [[V13]], [[V38]] : tensor<1x1x2xf32> {origin = "lstm1", role = "cell_gate/sum"}
// CHECK-NEXT: [[V40:%.+]] = nn.clip [[V39]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "cell_gate/clip"}
// CHECK-NEXT: [[V41:%.+]] = nn.tanh [[V40]] : tensor<1x1x2xf32> {origin = "lstm1", role = "cell_gate/tanh"}
// CHECK-NEXT: [[V42:%.+]] = nn.mul [[V37]], [[V25]] : tensor<1x1x2xf32> {origin = "lstm1", role = "cell/forget_mul"}
// CHECK-NEXT: [[V43:%.+]] = nn.mul [[V31]], [[V41]] : tensor<1x1x2xf32> {origin = "lstm1", role = "cell/input_mul"}
// CHECK-NEXT: [[V44:%.+]] = nn.add [[V42]], [[V43]] : tensor<1x1x2xf32> {origin = "lstm1", role = "cell/sum"}
// CHECK-NEXT: [[V45:%.+]] = nn.slice [[V1]] {starts = [1, 0], ends = [2, 2]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "backward/input_gate/input_weight/slice"}
// CHECK-NEXT: [[V46:%.+]] = nn.reshape [[V45]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "backward/input_gate/input_weight"}
// CHECK-NEXT: [[V47:%.+]] = nn.matmul [[V0]], [[V46]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/input_matmul"}
// CHECK-NEXT: [[V48:%.+]] = nn.slice [[V1]] {starts = [1, 4], ends = [2, 6]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "backward/forget_gate/input_weight/slice"}
// CHECK-NEXT: [[V49:%.+]] = nn.reshape [[V48]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "backward/forget_gate/input_weight"}
// CHECK-NEXT: [[V50:%.+]] = nn.matmul [[V0]], [[V49]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/input_matmul"}
// CHECK-NEXT: [[V51:%.+]] = nn.slice [[V1]] {starts = [1, 6], ends = [2, 8]} : (tensor<2x8x3xf32>) -> tensor<1x2x3xf32> {origin = "lstm1", role = "backward/cell_gate/input_weight/slice"}
// CHECK-NEXT: [[V52:%.+]] = nn.reshape [[V51]] : (tensor<1x2x3xf32>) -> tensor<2x3xf32> {origin = "lstm1", role = "backward/cell_gate/input_weight"}
// CHECK-NEXT: [[V53:%.+]] = nn.matmul [[V0]], [[V52]] {transpose_b = true} : (tensor<1x1x3xf32>, tensor<2x3xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell_gate/input_matmul"}
// CHECK-NEXT: [[V54:%.+]] = nn.slice [[V2]] {starts = [1, 0], ends = [2, 2]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "backward/input_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V55:%.+]] = nn.reshape [[V54]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "backward/input_gate/recurrence_weight"}
// CHECK-NEXT: [[V56:%.+]] = nn.slice [[V2]] {starts = [1, 4], ends = [2, 6]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "backward/forget_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V57:%.+]] = nn.reshape [[V56]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "backward/forget_gate/recurrence_weight"}
// CHECK-NEXT: [[V58:%.+]] = nn.slice [[V2]] {starts = [1, 6], ends = [2, 8]} : (tensor<2x8x2xf32>) -> tensor<1x2x2xf32> {origin = "lstm1", role = "backward/cell_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V59:%.+]] = nn.reshape [[V58]] : (tensor<1x2x2xf32>) -> tensor<2x2xf32> {origin = "lstm1", role = "backward/cell_gate/recurrence_weight"}
// CHECK-NEXT: [[V60:%.+]] = nn.slice [[V4]] {starts = [1, 0], ends = [2, 2]} : (tensor<2x6xf32>) -> tensor<1x2xf32> {origin = "lstm1", role = "backward/input_gate/peephole_weight/slice"}
// CHECK-NEXT: [[V61:%.+]] = nn.reshape [[V60]] : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "lstm1", role = "backward/input_gate/peephole_weight"}
// CHECK-NEXT: [[V62:%.+]] = nn.slice [[V4]] {starts = [1, 4], ends = [2, 6]} : (tensor<2x6xf32>) -> tensor<1x2xf32> {origin = "lstm1", role = "backward/forget_gate/peephole_weight/slice"}
// CHECK-NEXT: [[V63:%.+]] = nn.reshape [[V62]] : (tensor<1x2xf32>) -> tensor<2xf32> {origin = "lstm1", role = "backward/forget_gate/peephole_weight"}
// CHECK-NEXT: [[V64:%.+]] = nn.slice [[V3]] {starts = [1], ends = [2]} : (tensor<2x1x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/hidden/initial"}
// CHECK-NEXT: [[V65:%.+]] = nn.constant dense<0.000000e+00> : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell/initial"}
// CHECK-NEXT: [[V66:%.+]] = nn.matmul [[V64]], [[V55]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/recurrence_matmul"}
// CHECK-NEXT: [[V67:%.+]] = nn.add [[V47]], [[V66]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/sum"}
// CHECK-NEXT: [[V68:%.+]] = nn.mul [[V65]], [[V61]] : (tensor<1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/peephole_mul"}
// CHECK-NEXT: [[V69:%.+]] = nn.add [[V67]], [[V68]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/peephole_sum"}
// CHECK-NEXT: [[V70:%.+]] = nn.clip [[V69]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/clip"}
// CHECK-NEXT: [[V71:%.+]] = nn.sigmoid [[V70]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/input_gate/sigmoid"}
// CHECK-NEXT: [[V72:%.+]] = nn.matmul [[V64]], [[V57]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/recurrence_matmul"}
// CHECK-NEXT: [[V73:%.+]] = nn.add [[V50]], [[V72]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/sum"}
// CHECK-NEXT: [[V74:%.+]] = nn.mul [[V65]], [[V63]] : (tensor<1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/peephole_mul"}
// CHECK-NEXT: [[V75:%.+]] = nn.add [[V73]], [[V74]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/peephole_sum"}
// CHECK-NEXT: [[V76:%.+]] = nn.clip [[V75]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/clip"}
// CHECK-NEXT: [[V77:%.+]] = nn.sigmoid [[V76]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/forget_gate/sigmoid"}
// CHECK-NEXT: [[V78:%.+]] = nn.matmul [[V64]], [[V59]] {transpose_b = true} : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell_gate/recurrence_matmul"}
// CHECK-NEXT: [[V79:%.+]] = nn.add [[V53]], [[V78]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell_gate/sum"}
// CHECK-NEXT: [[V80:%.+]] = nn.clip [[V79]] {minimum = -3.0, maximum = 3.0} : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell_gate/clip"}
// CHECK-NEXT: [[V81:%.+]] = nn.tanh [[V80]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell_gate/tanh"}
// CHECK-NEXT: [[V82:%.+]] = nn.mul [[V77]], [[V65]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell/forget_mul"}
// CHECK-NEXT: [[V83:%.+]] = nn.mul [[V71]], [[V81]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell/input_mul"}
// CHECK-NEXT: [[V84:%.+]] = nn.add [[V82]], [[V83]] : tensor<1x1x2xf32> {origin = "lstm1", role = "backward/cell/sum"}
// CHECK-NEXT: [[V85:%.+]] = nn.concat [[V44]], [[V84]] {axis = 0} : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<2x1x2xf32> {origin = "lstm1", role = "cell/last", composite = {op = "nn.lstm", result = 2 : i64, properties = {hidden_size = 2 : i64, direction = "bidirectional", clip = 3.000000e+00 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 1>}}}
// CHECK-NEXT: func.return [[V85]] : tensor<2x1x2xf32>
func.func @bidirectional_lstm(%x: tensor<1x1x3xf32>, %w: tensor<2x8x3xf32>, %r: tensor<2x8x2xf32>, %h: tensor<2x1x2xf32>, %p: tensor<2x6xf32>) -> tensor<2x1x2xf32> {
  %0, %1, %2 = nn.lstm %x, %w, %r, _, _, %h, _, %p {hidden_size = 2, direction = "bidirectional", clip = 3.0} : (tensor<1x1x3xf32>, tensor<2x8x3xf32>, tensor<2x8x2xf32>, tensor<2x1x2xf32>, tensor<2x6xf32>) -> (tensor<1x2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>) {origin = "lstm1"}
  func.return %2 : tensor<2x1x2xf32>
}

// Behind its end a sequence keeps its state.
// CHECK-LABEL: @gru_with_lengths(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x1xf32>, [[V1:%.+]]: tensor<1x3x1xf32>, [[V2:%.+]]: tensor<1x3x1xf32>, [[V3:%.+]]: tensor<3xi32>, [[V4:%.+]]: tensor<1x3x1xf32>) -> tensor<2x1x3x1xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.slice [[V1]] {starts = [0, 0], ends = [1, 1]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "update_gate/input_weight/slice"}
// CHECK-NEXT: [[V6:%.+]] = nn.reshape [[V5]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "update_gate/input_weight"}
// CHECK-NEXT: [[V7:%.+]] = nn.matmul [[V0]], [[V6]] {transpose_b = true} : (tensor<2x3x1xf32>, tensor<1x1xf32>) -> tensor<2x3x1xf32> {origin = "gru1", role = "update_gate/input_matmul"}
// CHECK-NEXT: [[V8:%.+]], [[V9:%.+]] = nn.split [[V7]] : (tensor<2x3x1xf32>) -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>) {origin = "gru1", role = "update_gate/input_step"}
// CHECK-NEXT: [[V10:%.+]] = nn.slice [[V1]] {starts = [0, 1], ends = [1, 2]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "reset_gate/input_weight/slice"}
// CHECK-NEXT: [[V11:%.+]] = nn.reshape [[V10]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "reset_gate/input_weight"}
// CHECK-NEXT: [[V12:%.+]] = nn.matmul [[V0]], [[V11]] {transpose_b = true} : (tensor<2x3x1xf32>, tensor<1x1xf32>) -> tensor<2x3x1xf32> {origin = "gru1", role = "reset_gate/input_matmul"}
// CHECK-NEXT: [[V13:%.+]], [[V14:%.+]] = nn.split [[V12]] : (tensor<2x3x1xf32>) -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>) {origin = "gru1", role = "reset_gate/input_step"}
// CHECK-NEXT: [[V15:%.+]] = nn.slice [[V2]] {starts = [0, 0], ends = [1, 1]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "update_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V16:%.+]] = nn.reshape [[V15]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "update_gate/recurrence_weight"}
// CHECK-NEXT: [[V17:%.+]] = nn.slice [[V2]] {starts = [0, 1], ends = [1, 2]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "reset_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V18:%.+]] = nn.reshape [[V17]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "reset_gate/recurrence_weight"}
// CHECK-NEXT: [[V19:%.+]] = nn.slice [[V1]] {starts = [0, 2], ends = [1, 3]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "hidden_gate/input_weight/slice"}
// CHECK-NEXT: [[V20:%.+]] = nn.reshape [[V19]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "hidden_gate/input_weight"}
// CHECK-NEXT: [[V21:%.+]] = nn.matmul [[V0]], [[V20]] {transpose_b = true} : (tensor<2x3x1xf32>, tensor<1x1xf32>) -> tensor<2x3x1xf32> {origin = "gru1", role = "hidden_gate/input_matmul"}
// CHECK-NEXT: [[V22:%.+]], [[V23:%.+]] = nn.split [[V21]] : (tensor<2x3x1xf32>) -> (tensor<1x3x1xf32>, tensor<1x3x1xf32>) {origin = "gru1", role = "hidden_gate/input_step"}
// CHECK-NEXT: [[V24:%.+]] = nn.slice [[V2]] {starts = [0, 2], ends = [1, 3]} : (tensor<1x3x1xf32>) -> tensor<1x1x1xf32> {origin = "gru1", role = "hidden_gate/recurrence_weight/slice"}
// CHECK-NEXT: [[V25:%.+]] = nn.reshape [[V24]] : (tensor<1x1x1xf32>) -> tensor<1x1xf32> {origin = "gru1", role = "hidden_gate/recurrence_weight"}
// CHECK-NEXT: [[V26:%.+]] = nn.constant dense<1.000000e+00> : tensor<f32> {origin = "gru1", role = "hidden/one"}
// CHECK-NEXT: [[V27:%.+]] = nn.reshape [[V3]] : (tensor<3xi32>) -> tensor<1x3x1xi32> {origin = "gru1", role = "lengths"}
// CHECK-NEXT: [[V28:%.+]] = nn.constant dense<0> : tensor<i32> {origin = "gru1", role = "place"}
// CHECK-NEXT: [[V29:%.+]] = nn.less [[V28]], [[V27]] : (tensor<i32>, tensor<1x3x1xi32>) -> tensor<1x3x1xi1> {origin = "gru1", role = "runs"}
// CHECK-NEXT: [[V30:%.+]] = nn.constant dense<1> : tensor<i32> {origin = "gru1", role = "place"}
// CHECK-NEXT: [[V31:%.+]] = nn.less [[V30]], [[V27]] : (tensor<i32>, tensor<1x3x1xi32>) -> tensor<1x3x1xi1> {origin = "gru1", role = "runs"}
// CHECK-NEXT: [[V32:%.+]] = nn.constant dense<0.000000e+00> : tensor<f32> {origin = "gru1", role = "hidden/zero"}
// CHECK-NEXT: [[V33:%.+]] = nn.matmul [[V4]], [[V16]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/recurrence_matmul"}
// CHECK-NEXT: [[V34:%.+]] = nn.add [[V8]], [[V33]] : tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/sum"}
// CHECK-NEXT: [[V35:%.+]] = nn.sigmoid [[V34]] : tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/sigmoid"}
// CHECK-NEXT: [[V36:%.+]] = nn.matmul [[V4]], [[V18]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/recurrence_matmul"}
// CHECK-NEXT: [[V37:%.+]] = nn.add [[V13]], [[V36]] : tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/sum"}
// CHECK-NEXT: [[V38:%.+]] = nn.sigmoid [[V37]] : tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/sigmoid"}
// CHECK-NEXT: [[V39:%.+]] = nn.matmul [[V4]], [[V25]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/recurrence_matmul"}
// CHECK-NEXT: [[V40:%.+]] = nn.mul [[V38]], [[V39]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/reset_mul"}
// CHECK-NEXT: [[V41:%.+]] = nn.add [[V22]], [[V40]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/sum"}
// CHECK-NEXT: [[V42:%.+]] = nn.tanh [[V41]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/tanh"}
// CHECK-NEXT: [[V43:%.+]] = nn.sub [[V26]], [[V35]] : (tensor<f32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/complement"}
// CHECK-NEXT: [[V44:%.+]] = nn.mul [[V43]], [[V42]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/new_mul"}
// CHECK-NEXT: [[V45:%.+]] = nn.mul [[V35]], [[V4]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/kept_mul"}
// CHECK-NEXT: [[V46:%.+]] = nn.add [[V44]], [[V45]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/sum"}
// CHECK-NEXT: [[V47:%.+]] = nn.where [[V29]], [[V46]], [[V4]] : (tensor<1x3x1xi1>, tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/kept"}
// CHECK-NEXT: [[V48:%.+]] = nn.where [[V29]], [[V47]], [[V32]] : (tensor<1x3x1xi1>, tensor<1x3x1xf32>, tensor<f32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/output"}
// CHECK-NEXT: [[V49:%.+]] = nn.matmul [[V47]], [[V16]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/recurrence_matmul"}
// CHECK-NEXT: [[V50:%.+]] = nn.add [[V9]], [[V49]] : tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/sum"}
// CHECK-NEXT: [[V51:%.+]] = nn.sigmoid [[V50]] : tensor<1x3x1xf32> {origin = "gru1", role = "update_gate/sigmoid"}
// CHECK-NEXT: [[V52:%.+]] = nn.matmul [[V47]], [[V18]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/recurrence_matmul"}
// CHECK-NEXT: [[V53:%.+]] = nn.add [[V14]], [[V52]] : tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/sum"}
// CHECK-NEXT: [[V54:%.+]] = nn.sigmoid [[V53]] : tensor<1x3x1xf32> {origin = "gru1", role = "reset_gate/sigmoid"}
// CHECK-NEXT: [[V55:%.+]] = nn.matmul [[V47]], [[V25]] {transpose_b = true} : (tensor<1x3x1xf32>, tensor<1x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/recurrence_matmul"}
// CHECK-NEXT: [[V56:%.+]] = nn.mul [[V54]], [[V55]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/reset_mul"}
// CHECK-NEXT: [[V57:%.+]] = nn.add [[V23]], [[V56]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/sum"}
// CHECK-NEXT: [[V58:%.+]] = nn.tanh [[V57]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden_gate/tanh"}
// CHECK-NEXT: [[V59:%.+]] = nn.sub [[V26]], [[V51]] : (tensor<f32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/complement"}
// CHECK-NEXT: [[V60:%.+]] = nn.mul [[V59]], [[V58]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/new_mul"}
// CHECK-NEXT: [[V61:%.+]] = nn.mul [[V51]], [[V47]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/kept_mul"}
// CHECK-NEXT: [[V62:%.+]] = nn.add [[V60]], [[V61]] : tensor<1x3x1xf32> {origin = "gru1", role = "hidden/sum"}
// CHECK-NEXT: [[V63:%.+]] = nn.where [[V31]], [[V62]], [[V47]] : (tensor<1x3x1xi1>, tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/kept", composite = {op = "nn.gru", result = 1 : i64, properties = {hidden_size = 1 : i64, linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1>}}}
// CHECK-NEXT: [[V64:%.+]] = nn.where [[V31]], [[V63]], [[V32]] : (tensor<1x3x1xi1>, tensor<1x3x1xf32>, tensor<f32>) -> tensor<1x3x1xf32> {origin = "gru1", role = "hidden/output"}
// CHECK-NEXT: [[V65:%.+]] = nn.concat [[V48]], [[V64]] {axis = 0} : (tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<2x3x1xf32> {origin = "gru1", role = "hidden/sequence"}
// CHECK-NEXT: [[V66:%.+]] = nn.reshape [[V65]] : (tensor<2x3x1xf32>) -> tensor<2x1x3x1xf32> {origin = "gru1", role = "hidden/reshape", composite = {op = "nn.gru", properties = {hidden_size = 1 : i64, linear_before_reset = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 1>}}}
// CHECK-NEXT: func.return [[V66]] : tensor<2x1x3x1xf32>
func.func @gru_with_lengths(%x: tensor<2x3x1xf32>, %w: tensor<1x3x1xf32>, %r: tensor<1x3x1xf32>, %l: tensor<3xi32>, %h: tensor<1x3x1xf32>) -> tensor<2x1x3x1xf32> {
  %0, %1 = nn.gru %x, %w, %r, _, %l, %h {hidden_size = 1, linear_before_reset = true} : (tensor<2x3x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<3xi32>, tensor<1x3x1xf32>) -> (tensor<2x1x3x1xf32>, tensor<1x3x1xf32>) {origin = "gru1"}
  func.return %0 : tensor<2x1x3x1xf32>
}

// How many steps there are must be known: until then, the parts have types as components.
// CHECK-LABEL: @unknown_time(
// CHECK-SAME: [[V0:%.+]]: tensor<?x1x3xf32>, [[V1:%.+]]: tensor<1x2x3xf32>, [[V2:%.+]]: tensor<1x2x2xf32>) -> tensor<?x1x1x2xf32>
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = nn.rnn [[V0]], [[V1]], [[V2]] {hidden_size = 2, components = {}} : (tensor<?x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>)
// CHECK-NEXT: func.return [[V3]] : tensor<?x1x1x2xf32>
func.func @unknown_time(%x: tensor<?x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) -> tensor<?x1x1x2xf32> {
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<?x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<1x1x2xf32>)
  func.return %0 : tensor<?x1x1x2xf32>
}

// More than 8 steps are not unrolled, unless they are asked for.
// CHECK-LABEL: @nine_steps(
// CHECK:      nn.rnn {{%.+}}, {{%.+}}, {{%.+}} {hidden_size = 2, components = {}}
// UNROLLED-LABEL: @nine_steps(
// UNROLLED-COUNT-9: role = "hidden/tanh"
func.func @nine_steps(%x: tensor<9x1x3xf32>, %w: tensor<1x2x3xf32>, %r: tensor<1x2x2xf32>) -> tensor<9x1x1x2xf32> {
  %0, %1 = nn.rnn %x, %w, %r {hidden_size = 2} : (tensor<9x1x3xf32>, tensor<1x2x3xf32>, tensor<1x2x2xf32>) -> (tensor<9x1x1x2xf32>, tensor<1x1x2xf32>) {origin = "rnn1"}
  func.return %0 : tensor<9x1x1x2xf32>
}
