// RUN: split-file %s %t
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/unmatched.toml"}' 2>&1 | filecheck %s --check-prefix=UNMATCHED
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_key.toml"}' 2>&1 | filecheck %s --check-prefix=KEY
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_slot.toml"}' 2>&1 | filecheck %s --check-prefix=SLOT
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/wrong_storage.toml"}' 2>&1 | filecheck %s --check-prefix=STORAGE
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_calibrator.toml"}' 2>&1 | filecheck %s --check-prefix=CALIBRATOR
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_option.toml"}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_scheme.toml"}' 2>&1 | filecheck %s --check-prefix=SCHEME
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/wrong_granularity.toml"}' 2>&1 | filecheck %s --check-prefix=GRANULARITY
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/typo_rule.toml"}' 2>&1 | filecheck %s --check-prefix=RULE
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/empty_rule.toml"}' 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/broken.toml"}' 2>&1 | filecheck %s --check-prefix=BROKEN
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{recipe="%S/Inputs/missing.toml"}' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{activations=i99}' 2>&1 | filecheck %s --check-prefix=BITS
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{calibrator=percentile}' 2>&1 | filecheck %s --check-prefix=STATISTICS
// RUN: qmlir-opt %t/net.mlir -p 'quant-insert-casts{granularity=block:3}' 2>&1 | filecheck %s --check-prefix=BLOCKS
// RUN: not qmlir-opt %t/net.mlir -p 'quant-insert-casts{assert_all_quantized=true}' 2>&1 | filecheck %s --check-prefix=ALL
// RUN: not qmlir-opt %t/infinite.mlir -p quant-insert-casts 2>&1 | filecheck %s --check-prefix=INFINITE
// RUN: qmlir-opt %t/nan.mlir -p quant-insert-casts 2>&1 | filecheck %s --check-prefix=NAN
// RUN: not qmlir-opt %t/huge.mlir -p quant-insert-casts 2>&1 | filecheck %s --check-prefix=HUGE

// UNMATCHED: error: these rules of the recipe have no effect: '{{.*}}unmatched.toml', rule 1 (origin = 'cf1'); did you mean 'fc1'?; '{{.*}}unmatched.toml', rule 2 (op = 'matmul', slot = 'weight'); '{{.*}}unmatched.toml', rule 3 (origin = 'fc1', slot = 'accumulator')
// KEY: error: '{{.*}}typo_key.toml', rule 1: unknown key 'slto'; did you mean 'slot'? (available: origin, role, op, node, module, slot, values, residual, low_sqnr_softmax, wide_logits, sqrt_operand, sqrt_square, underused_output, mixed_range_concat, low_sqnr_depthwise, fed_back, slow_gate, wide_cell, edge, embedding, storage, scheme, granularity, bias_scale, rule, repair, quantize, calibrator, range, scale, zero_point, share, optional)
// SLOT: error: '{{.*}}typo_slot.toml', rule 1 (slot = 'wieght'): unknown slot 'wieght'; did you mean 'weight'? (available: input, weight, bias, accumulator, output)
// STORAGE: error: '{{.*}}wrong_storage.toml', rule 1 (origin = 'fc1', slot = 'weight'): storage must be iN or uN with 1 to 32 bits (such as i8, u4, i2<-1:1>) or binary, but got 'byte'
// CALIBRATOR: error: '{{.*}}typo_calibrator.toml', rule 1: unknown calibrator 'percentil'; did you mean 'percentile'?
// OPTION: error: '{{.*}}typo_option.toml', rule 1: calibrator 'percentile' has no option 'pecent'; did you mean 'percent'?
// SCHEME: error: '{{.*}}typo_scheme.toml', rule 1: unknown scheme 'symetric'; did you mean 'symmetric'? (available: asymmetric, symmetric, asymmetric_pow2, symmetric_pow2)
// GRANULARITY: error: '{{.*}}wrong_granularity.toml', rule 1 (slot = 'output'): granularity is only for weights, but the rule is for slot 'output'
// RULE: error: '{{.*}}typo_rule.toml': unknown key 'rules'; did you mean 'rule'? (a recipe has
// EMPTY: error: '{{.*}}empty_rule.toml', rule 1 (origin = 'fc1'): sets nothing
// BROKEN: error: '{{.*}}broken.toml' is not TOML: {{.*}}line 1
// MISSING: error: cannot read '{{.*}}missing.toml': No such file or directory
// BITS: error: the options for slot 'input': storage must have 1 to 32 bits, but got 99
// STATISTICS: error: 'nn.fully_connected' op (fc1) cannot compute quantization parameters for the argument %x: calibrator 'percentile' needs statistics, but the profile has only a range
// BLOCKS: warning: 'nn.fully_connected' op (fc1) block size 3 does not divide its reduction size (2); using one weight scale per channel
// ALL: error: 'builtin.module' op has 3 operations that are not quantized
// ALL: note: 'nn.relu' op (relu1) not quantized: operand the argument %u has no calibrated range; help: add samples that reach it
// ALL: note: 'nn.pow' op (pow1) not quantized: its exponents are not constant
// ALL: note: 'nn.abs' op (abs1) not quantized: it has an operand of type 'tensor<2xf16>', but only f32 is quantized
// INFINITE: error: 'nn.abs' op (abs1) cannot compute quantization parameters for the argument %data: the range [-inf, 1.0] is not finite
// NAN: warning: 'nn.fully_connected' op (fc1) not quantized: it has a constant with NaN
// HUGE: error: 'nn.abs' op (abs1) cannot compute quantization parameters for the argument %data: the range [-3e+42, 3e+42] needs a scale above 3.4028234663852886e+38, the largest f32

//--- net.mlir
!x = !quant.calibrated<f32<-1.0:1.0>>
func.func @main(%x: tensor<1x2x!x>, %u: tensor<1x2xf32>, %h: tensor<2xf16>) -> (tensor<1x2x!x>, tensor<1x2xf32>, tensor<1x2x!x>, tensor<2xf16>) {
  %w = nn.constant dense<[[1.0, -1.0], [0.5, 0.25]]> : tensor<2x2xf32>
  %b = nn.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x2x!x>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2x!x> {origin = "fc1"}
  %1 = nn.relu %u : tensor<1x2xf32> {origin = "relu1"}
  %2 = nn.pow %0, %0 : tensor<1x2x!x> {origin = "pow1"}
  %3 = nn.abs %h : tensor<2xf16> {origin = "abs1"}
  func.return %0, %1, %2, %3 : tensor<1x2x!x>, tensor<1x2xf32>, tensor<1x2x!x>, tensor<2xf16>
}
//--- infinite.mlir
!i = !quant.calibrated<f32<0xFFF0000000000000:1.0>>
func.func @main(%data: tensor<2x!i>) -> tensor<2x!i> {
  %0 = nn.abs %data : tensor<2x!i> {origin = "abs1"}
  func.return %0 : tensor<2x!i>
}
//--- nan.mlir
!x = !quant.calibrated<f32<-1.0:1.0>>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %w = nn.constant dense<[[0x7FC00000, 1.0], [0.5, 0.25]]> : tensor<2x2xf32>
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!x>, tensor<2x2xf32>) -> tensor<1x2x!x> {origin = "fc1"}
  func.return %0 : tensor<1x2x!x>
}
//--- huge.mlir
!i = !quant.calibrated<f32<-3.0e42:3.0e42>>
func.func @main(%data: tensor<2x!i>) -> tensor<2x!i> {
  %0 = nn.abs %data : tensor<2x!i> {origin = "abs1"}
  func.return %0 : tensor<2x!i>
}
