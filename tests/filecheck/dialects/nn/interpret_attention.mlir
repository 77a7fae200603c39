// RUN: qmlir run %s

// Scores ln(3) and 0 are the probabilities 3/4 and 1/4; a query of 0 takes the mean of the values.
func.func @attention() {
  %q = nn.constant dense<[[[[1.0986123], [0.0]]]]> : tensor<1x1x2x1xf32>
  %k = nn.constant dense<[[[[1.0], [0.0]]]]> : tensor<1x1x2x1xf32>
  %v = nn.constant dense<[[[[2.0, 0.0], [4.0, 8.0]]]]> : tensor<1x1x2x2xf32>
  %y, %pk, %pv, %s = nn.attention %q, %k, %v {scores_are = "softmax"} : (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>)
  %0 = nn.constant dense<[[[[2.5, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  check.expect_close %y, %0 {relative = 1.0e-6} : tensor<1x1x2x2xf32>
  %1 = nn.constant dense<[[[[0.75, 0.25], [0.5, 0.5]]]]> : tensor<1x1x2x2xf32>
  check.expect_close %s, %1 {relative = 1.0e-6} : tensor<1x1x2x2xf32>
  check.expect_eq %pk, %k : tensor<1x1x2x1xf32>
  check.expect_eq %pv, %v : tensor<1x1x2x2xf32>
  func.return
}

// Three queries that see all keys alike take the mean of what they see.
func.func @masks() {
  %q = nn.constant dense<0.0> : tensor<1x1x3x1xf32>
  %v = nn.constant dense<[[[[1.0], [2.0], [6.0]]]]> : tensor<1x1x3x1xf32>
  %c, %c1, %c2, %c3 = nn.attention %q, %q, %v {is_causal = true} : (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>) -> (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x3xf32>)
  %causal = nn.constant dense<[[[[1.0], [1.5], [3.0]]]]> : tensor<1x1x3x1xf32>
  check.expect_close %c, %causal {relative = 1.0e-6} : tensor<1x1x3x1xf32>

  %w, %w1, %w2, %w3 = nn.attention %q, %q, %v {left_window = 0, right_window = 1} : (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>) -> (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x3xf32>)
  %windows = nn.constant dense<[[[[1.5], [4.0], [6.0]]]]> : tensor<1x1x3x1xf32>
  check.expect_close %w, %windows {relative = 1.0e-6} : tensor<1x1x3x1xf32>

  // A query without a key gives 0; the mask ends before the last key, which nobody sees.
  %m = nn.constant dense<[[true, true], [false, false], [false, true]]> : tensor<3x2xi1>
  %b, %b1, %b2, %b3 = nn.attention %q, %q, %v, %m {scores_are = "biased"} : (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<3x2xi1>) -> (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x3xf32>)
  %booleans = nn.constant dense<[[[[1.5], [0.0], [2.0]]]]> : tensor<1x1x3x1xf32>
  check.expect_close %b, %booleans {relative = 1.0e-6} : tensor<1x1x3x1xf32>
  %biased = nn.constant dense<[[[[0.0, 0.0, 0xFF800000], [0xFF800000, 0xFF800000, 0xFF800000], [0xFF800000, 0.0, 0xFF800000]]]]> : tensor<1x1x3x3xf32>
  check.expect_eq %b3, %biased : tensor<1x1x3x3xf32>

  // The bias ln(3) stands for three such keys: (3 * 1 + 2 + 6) / 5.
  %f = nn.constant dense<[1.0986123, 0.0, 0.0]> : tensor<3xf32>
  %d, %d1, %d2, %d3 = nn.attention %q, %q, %v, %f : (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<3xf32>) -> (tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x3xf32>)
  %floats = nn.constant dense<2.2> : tensor<1x1x3x1xf32>
  check.expect_close %d, %floats {relative = 1.0e-6} : tensor<1x1x3x1xf32>
  func.return
}

// Keys behind the lengths are padding. The last query stands at the last key: two queries and one key leave the first
// query without any.
func.func @lengths() {
  %q = nn.constant dense<0.0> : tensor<2x1x2x1xf32>
  %k = nn.constant dense<0.0> : tensor<2x1x3x1xf32>
  %v = nn.constant dense<[[[[1.0], [2.0], [6.0]]], [[[1.0], [2.0], [6.0]]]]> : tensor<2x1x3x1xf32>
  %n = nn.constant dense<[3, 1]> : tensor<2xi64>
  %a, %a1, %a2, %a3 = nn.attention %q, %k, %v, _, _, _, %n : (tensor<2x1x2x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x3x1xf32>, tensor<2xi64>) -> (tensor<2x1x2x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x2x3xf32>)
  %0 = nn.constant dense<[[[[3.0], [3.0]]], [[[1.0], [1.0]]]]> : tensor<2x1x2x1xf32>
  check.expect_close %a, %0 {relative = 1.0e-6} : tensor<2x1x2x1xf32>
  %b, %b1, %b2, %b3 = nn.attention %q, %k, %v, _, _, _, %n {is_causal = true} : (tensor<2x1x2x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x3x1xf32>, tensor<2xi64>) -> (tensor<2x1x2x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x3x1xf32>, tensor<2x1x2x3xf32>)
  %1 = nn.constant dense<[[[[1.5], [3.0]]], [[[0.0], [1.0]]]]> : tensor<2x1x2x1xf32>
  check.expect_close %b, %1 {relative = 1.0e-6} : tensor<2x1x2x1xf32>
  func.return
}

// The past stands in front, and moves what is causal. Two heads of the query share one of the keys.
func.func @past() {
  %q = nn.constant dense<0.0> : tensor<1x2x2x1xf32>
  %k = nn.constant dense<0.0> : tensor<1x1x2x1xf32>
  %v = nn.constant dense<[[[[1.0], [6.0]]]]> : tensor<1x1x2x1xf32>
  %pk = nn.constant dense<9.0> : tensor<1x1x1x1xf32>
  %pv = nn.constant dense<2.0> : tensor<1x1x1x1xf32>
  %y, %ky, %vy, %s = nn.attention %q, %k, %v, _, %pk, %pv {is_causal = true} : (tensor<1x2x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x2x2x1xf32>, tensor<1x1x3x1xf32>, tensor<1x1x3x1xf32>, tensor<1x2x2x3xf32>)
  %0 = nn.constant dense<[[[[1.5], [3.0]], [[1.5], [3.0]]]]> : tensor<1x2x2x1xf32>
  check.expect_close %y, %0 {relative = 1.0e-6} : tensor<1x2x2x1xf32>
  %1 = nn.constant dense<[[[[9.0], [0.0], [0.0]]]]> : tensor<1x1x3x1xf32>
  check.expect_eq %ky, %1 : tensor<1x1x3x1xf32>
  %2 = nn.constant dense<[[[[2.0], [1.0], [6.0]]]]> : tensor<1x1x3x1xf32>
  check.expect_eq %vy, %2 : tensor<1x1x3x1xf32>
  func.return
}

// 6 * 2 * 0.25 is 3; capped at 2, it is 2 tanh(3 / 2).
func.func @scale_and_cap() {
  %q = nn.constant dense<6.0> : tensor<1x1x1x1xf32>
  %k = nn.constant dense<2.0> : tensor<1x1x1x1xf32>
  %a, %a1, %a2, %raw = nn.attention %q, %k, %k {scale = 0.25, softcap = 2.0} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
  %0 = nn.constant dense<3.0> : tensor<1x1x1x1xf32>
  check.expect_eq %raw, %0 : tensor<1x1x1x1xf32>
  %b, %b1, %b2, %capped = nn.attention %q, %k, %k {scale = 0.25, softcap = 2.0, scores_are = "capped"} : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
  %1 = nn.constant dense<1.8102965> : tensor<1x1x1x1xf32>
  check.expect_close %capped, %1 {relative = 1.0e-6} : tensor<1x1x1x1xf32>
  func.return
}

// No keys at all: no query has any.
func.func @no_keys() {
  %q = nn.constant dense<1.0> : tensor<1x1x2x1xf32>
  %k = nn.constant dense<> : tensor<1x1x0x1xf32>
  %y, %pk, %pv, %s = nn.attention %q, %k, %k : (tensor<1x1x2x1xf32>, tensor<1x1x0x1xf32>, tensor<1x1x0x1xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x0x1xf32>, tensor<1x1x0x1xf32>, tensor<1x1x2x0xf32>)
  %0 = nn.constant dense<0.0> : tensor<1x1x2x1xf32>
  check.expect_eq %y, %0 : tensor<1x1x2x1xf32>
  func.return
}

// A quarter turn takes (a, b) to (-b, a): by halves, of neighbours, and of the first two only.
func.func @rotary_embedding() {
  %x = nn.constant dense<[[[[1.0, 2.0, 3.0, 4.0]]]]> : tensor<1x1x1x4xf32>
  %c = nn.constant dense<[[1.0, 1.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %s = nn.constant dense<[[0.0, 0.0], [1.0, 1.0]]> : tensor<2x2xf32>
  %p = nn.constant dense<[[1]]> : tensor<1x1xi64>
  %0 = nn.rotary_embedding %x, %c, %s, %p : (tensor<1x1x1x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x1xi64>) -> tensor<1x1x1x4xf32>
  %1 = nn.constant dense<[[[[-3.0, -4.0, 1.0, 2.0]]]]> : tensor<1x1x1x4xf32>
  check.expect_eq %0, %1 : tensor<1x1x1x4xf32>
  %2 = nn.rotary_embedding %x, %c, %s, %p {interleaved = true} : (tensor<1x1x1x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<1x1xi64>) -> tensor<1x1x1x4xf32>
  %3 = nn.constant dense<[[[[-2.0, 1.0, -4.0, 3.0]]]]> : tensor<1x1x1x4xf32>
  check.expect_eq %2, %3 : tensor<1x1x1x4xf32>
  %zero = nn.constant dense<0.0> : tensor<1x1x1xf32>
  %one = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %4 = nn.rotary_embedding %x, %zero, %one {size = 2} : (tensor<1x1x1x4xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1x4xf32>
  %5 = nn.constant dense<[[[[-2.0, 1.0, 3.0, 4.0]]]]> : tensor<1x1x1x4xf32>
  check.expect_eq %4, %5 : tensor<1x1x1x4xf32>
  func.return
}
