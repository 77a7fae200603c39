// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<1x4x24xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{query, key and value must have shape [batch, heads, sequence, head size], but got tensor<1x4x24xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x24xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @head_size(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x7xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{expected key of shape [1, 2, 5, 8], but got 'tensor<1x2x5x7xf32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x2x5x7xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @keys_and_values(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x4x6xf32>) {
  // expected-error @+1 {{expected value of shape [1, 2, 5, 6], but got 'tensor<1x2x4x6xf32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @heads(%q: tensor<1x4x3x8xf32>, %k: tensor<1x3x5x8xf32>, %v: tensor<1x3x5x6xf32>) {
  // expected-error @+1 {{the number of query heads (4) must be a multiple of the number of key heads (3)}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x3x5x8xf32>, tensor<1x3x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_shape(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<3x6xf32>) {
  // expected-error @+1 {{mask must broadcast to [1, 4, 3, 5] (its last dimension may be smaller), but got 'tensor<3x6xf32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<3x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_widens(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<2x1x3x5xf32>) {
  // expected-error @+1 {{mask must broadcast to [1, 4, 3, 5] (its last dimension may be smaller), but got 'tensor<2x1x3x5xf32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<2x1x3x5xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_elements(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<3x5xf16>) {
  // expected-error @+1 {{operands must have one element type, but got f32, f16}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<3x5xf16>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @half_a_past(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>) {
  // expected-error @+1 {{past_key and past_value must be passed together}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @past_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>, %e1: tensor<1x2x3x6xf32>) {
  // expected-error @+1 {{expected past value of shape [1, 2, 4, 6], but got 'tensor<1x2x3x6xf32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0, %e1 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>, tensor<1x2x3x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @past_and_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>, %e1: tensor<1x2x4x6xf32>, %e2: tensor<1xi64>) {
  // expected-error @+1 {{expected either lengths or past_key and past_value, but got both}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0, %e1, %e2 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x6xf32>, tensor<1xi64>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<2xi64>) {
  // expected-error @+1 {{expected lengths of shape [1], but got 'tensor<2xi64>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, _, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<2xi64>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @elements_of_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1xi32>) {
  // expected-error @+1 {{lengths must have elements of type i64, but got 'tensor<1xi32>'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, _, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1xi32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @scores(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{scores_are must be one of raw, capped, biased, softmax, but got 'all'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {scores_are = "all"} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @window(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{left_window must be -1 (unlimited) or the number of keys, but got -2}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {left_window = -2} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @precision(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{precision must be f16, bf16, f32 or f64, but got 'i8'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {softmax_precision = i8} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @rotary_rank(%x: tensor<2x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{input must have shape [batch, heads, sequence, head size], but got 'tensor<2x3x8xf32>'}}
  %0 = nn.rotary_embedding %x, %c, %c : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  func.return
}
// -----
func.func @rotary_odd(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{size must be even and at most the head size (8), but got 5}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 5} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_too_many(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{size must be even and at most the head size (8), but got 10}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 10} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_table(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{expected cosines of shape [2, 3, 2], but got 'tensor<2x3x4xf32>'}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 4} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_positions(%x: tensor<2x4x3x8xf32>, %c: tensor<50x4xf32>, %p: tensor<2x4xi64>) {
  // expected-error @+1 {{expected positions of shape [2, 3], but got 'tensor<2x4xi64>'}}
  %0 = nn.rotary_embedding %x, %c, %c, %p : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x4xi64>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_position_elements(%x: tensor<2x4x3x8xf32>, %c: tensor<50x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error @+1 {{positions must have elements of type i64, but got 'tensor<2x3xi32>'}}
  %0 = nn.rotary_embedding %x, %c, %c, %p : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x3xi32>) -> tensor<2x4x3x8xf32>
  func.return
}
