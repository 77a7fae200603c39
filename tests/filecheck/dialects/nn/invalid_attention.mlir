// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<1x4x24xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{query, key and value are [batch, heads, sequence, head size], found tensor<1x4x24xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x24xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @head_size(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x7xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{the key has shape [1, 2, 5, 8], found tensor<1x2x5x7xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x2x5x7xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @keys_and_values(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x4x6xf32>) {
  // expected-error @+1 {{the value has shape [1, 2, 5, 6], found tensor<1x2x4x6xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @heads(%q: tensor<1x4x3x8xf32>, %k: tensor<1x3x5x8xf32>, %v: tensor<1x3x5x6xf32>) {
  // expected-error @+1 {{each head of the keys serves as many heads of the query: 3 for 4}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<1x4x3x8xf32>, tensor<1x3x5x8xf32>, tensor<1x3x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_shape(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<3x6xf32>) {
  // expected-error @+1 {{the mask broadcasts to [1, 4, 3, 5], its last size at most, found tensor<3x6xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<3x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_widens(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<2x1x3x5xf32>) {
  // expected-error @+1 {{the mask broadcasts to [1, 4, 3, 5], its last size at most, found tensor<2x1x3x5xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<2x1x3x5xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @mask_elements(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<3x5xf16>) {
  // expected-error @+1 {{operands have different element types: f32, f16}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<3x5xf16>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @half_a_past(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>) {
  // expected-error @+1 {{past keys and past values are given together}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @past_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>, %e1: tensor<1x2x3x6xf32>) {
  // expected-error @+1 {{the past value has shape [1, 2, 4, 6], found tensor<1x2x3x6xf32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0, %e1 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>, tensor<1x2x3x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @past_and_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1x2x4x8xf32>, %e1: tensor<1x2x4x6xf32>, %e2: tensor<1xi64>) {
  // expected-error @+1 {{lengths are for keys that hold the past themselves, found past keys too}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, %e0, %e1, %e2 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x6xf32>, tensor<1xi64>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<2xi64>) {
  // expected-error @+1 {{the vector of lengths has shape [1], found tensor<2xi64>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, _, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<2xi64>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @elements_of_lengths(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %e0: tensor<1xi32>) {
  // expected-error @+1 {{the lengths are i64, found tensor<1xi32>}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v, _, _, _, %e0 : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1xi32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @scores(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{the scores are one of ['raw', 'capped', 'biased', 'softmax'], found 'all'}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {scores_are = "all"} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @window(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{left_window is -1 (all) or a number of keys, found -2}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {left_window = -2} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @precision(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // expected-error @+1 {{the precision is f16, bf16, f32 or f64, found i8}}
  %0, %1, %2, %3 = nn.attention %q, %k, %v {softmax_precision = i8} : (tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x4x3x6xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x4x3x5xf32>)
  func.return
}
// -----
func.func @rotary_rank(%x: tensor<2x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{the input is [batch, heads, sequence, head size], found tensor<2x3x8xf32>}}
  %0 = nn.rotary_embedding %x, %c, %c : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  func.return
}
// -----
func.func @rotary_odd(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{an even number of a head's 8 elements is turned, found 5}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 5} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_too_many(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{an even number of a head's 8 elements is turned, found 10}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 10} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_table(%x: tensor<2x4x3x8xf32>, %c: tensor<2x3x4xf32>) {
  // expected-error @+1 {{the table of cosines has shape [2, 3, 2], found tensor<2x3x4xf32>}}
  %0 = nn.rotary_embedding %x, %c, %c {size = 4} : (tensor<2x4x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_positions(%x: tensor<2x4x3x8xf32>, %c: tensor<50x4xf32>, %p: tensor<2x4xi64>) {
  // expected-error @+1 {{the table of positions has shape [2, 3], found tensor<2x4xi64>}}
  %0 = nn.rotary_embedding %x, %c, %c, %p : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x4xi64>) -> tensor<2x4x3x8xf32>
  func.return
}
// -----
func.func @rotary_position_elements(%x: tensor<2x4x3x8xf32>, %c: tensor<50x4xf32>, %p: tensor<2x3xi32>) {
  // expected-error @+1 {{the positions are i64, found tensor<2x3xi32>}}
  %0 = nn.rotary_embedding %x, %c, %c, %p : (tensor<2x4x3x8xf32>, tensor<50x4xf32>, tensor<50x4xf32>, tensor<2x3xi32>) -> tensor<2x4x3x8xf32>
  func.return
}
