// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @observe_key(%x: tensor<2xf32>) {
  // expected-error @+1 {{key must not be empty}}
  %0 = calib.observe %x "" : tensor<2xf32>
  func.return
}
// -----
func.func @observe_axis(%x: tensor<2xf32>) {
  // expected-error @+1 {{axis 1 is out of range for rank 1}}
  %0 = calib.observe %x "x" axis 1 : i64 : tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_element(%x: tensor<2xf16>, %t: tensor<f32>) {
  // expected-error @+1 {{input must be f32 or f64, but got 'tensor<2xf16>'}}
  %0 = calib.fake_quant %x, %t : tensor<2xf16>, tensor<f32> -> tensor<2xf16>
  func.return
}
// -----
func.func @fake_quant_bits(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{bits must be in [1, 32], but got 33}}
  %0 = calib.fake_quant %x, %t {bits = 33 : i64} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_threshold(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{parameter 'log2_threshold' must have type 'tensor<2xf32>', but got 'tensor<f32>'}}
  %0 = calib.fake_quant %x, %t {axis = 0 : i64} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_method(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{method must be one of tqt, lsq, lsq_plus, pact, affine, range, but got 'lqs'}}
  %0 = calib.fake_quant %x, %t {method = "lqs"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_parameters(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{method 'affine' expects parameters scale and zero_point, but got 1}}
  %0 = calib.fake_quant %x, %t {method = "affine"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_pact(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{method 'pact' requires signed = false}}
  %0 = calib.fake_quant %x, %t {method = "pact"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
func.func @fake_quant_bit(%x: tensor<2xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{method 'lsq' requires signed = false}}
  %0 = calib.fake_quant %x, %t {bits = 1 : i64, method = "lsq"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}
// -----
// expected-error @+1 {{expected min <= mean <= max, but got 0.0, 2.0, 1.0}}
func.func private @stats_order() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 2.0, std = 0.0, count = 1>}
// -----
// expected-error @+1 {{std must be >= 0, but got -1.0}}
func.func private @stats_deviation() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 0.5, std = -1.0, count = 1>}
// -----
// expected-error @+1 {{count must be >= 1, but got 0}}
func.func private @stats_count() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 0.5, std = 0.1, count = 0>}
// -----
// expected-error @+1 {{statistics must be finite}}
func.func private @stats_finite() attributes {s = #calib.stats<min = 0.0, max = 0x7FF0000000000000, mean = 0.5, std = 0.1, count = 2>}
// -----
// expected-error @+1 {{expected the same number of minima and maxima, but got 2 and 1}}
func.func private @stats_axis() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 0.5, std = 0.1, count = 2, axis = 0, mins = [0.0, 0.0], maxs = [1.0]>}
// -----
// expected-error @+1 {{each per-axis minimum must be at most its maximum}}
func.func private @stats_ranges() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 0.5, std = 0.1, count = 2, axis = 0, mins = [2.0], maxs = [1.0]>}
// -----
// expected-error @+1 {{cannot decode the exact statistics: unexpected end of data}}
func.func private @stats_cut() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, exact = "0x010300">}
// -----
// expected-error @+1 {{cannot decode the exact statistics: expected format 01, but got 07}}
func.func private @stats_format() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, exact = "0x07">}
// -----
// expected-error @+1 {{the histogram must count all 4 values, but counts 3}}
func.func private @stats_histogram() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 4, recorded = {zeros = 3 : i64, sums = [0.0 : f64, 0.0 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}>}
// -----
// expected-error @+1 {{the recorded statistics contradict the summary: they give Summary(count=3, minimum=0.0, maximum=1.0, mean=0.5, deviation=0.5)}}
func.func private @stats_sums() attributes {s = #calib.stats<min = 0.0, max = 1.0, mean = 0.75, std = 0.5, count = 3, recorded = {zeros = 3 : i64, sums = [1.5 : f64, 1.5 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}>}
// -----
// expected-error @+1 {{cannot decode the recorded statistics: field 'sums' must be a list of 2 numbers}}
func.func private @stats_field() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, recorded = {zeros = 3 : i64, bins = 8 : i64, exponent = 0 : i64, first = 0 : i64}>}
// -----
// expected-error @+1 {{expected a string of hexadecimal digits starting with 0x}}
func.func private @stats_digits() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 4, exact = "0xZ">}
// -----
// expected-error @+1 {{cannot decode the recorded statistics: data of observers: the content must be an object, but got a list}}
func.func private @kept_list() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, recorded = {zeros = 3 : i64, sums = [0.0 : f64, 0.0 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}, kept = "[1]">}
// -----
// expected-error @+1 {{cannot decode the recorded statistics: data of observers is not JSON}}
func.func private @kept_text() attributes {s = #calib.stats<min = 0.0, max = 0.0, mean = 0.0, std = 0.0, count = 3, recorded = {zeros = 3 : i64, sums = [0.0 : f64, 0.0 : f64], bins = 2048 : i64, exponent = -1074 : i64, first = 0 : i64, counts = dense<[3]> : tensor<1xi32>}, kept = "{">}
// -----
func.func @straight_through(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{tensor<3xf32>}}
  %0 = "calib.straight_through"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @row_norm_type(%x: tensor<2x4xf64>, %s: tensor<f32>) {
  // expected-error @+1 {{expected integers held in f32 and one scale, but got 'tensor<2x4xf64>' and 'tensor<f32>'}}
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 8 : i64} : tensor<2x4xf64>, tensor<f32>
  func.return
}
// -----
func.func @row_norm_axis(%x: tensor<2x4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = calib.row_norm %x by %s {axis = 2 : i64, bits = 8 : i64} : tensor<2x4xf32>, tensor<f32>
  func.return
}
// -----
func.func @row_norm_bits(%x: tensor<2x4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{bits must be in [1, 16], but got 17}}
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 17 : i64} : tensor<2x4xf32>, tensor<f32>
  func.return
}
// -----
func.func @row_norm_long(%x: tensor<2x32769xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{has no integer arithmetic: sums of 32 bits hold at most 32768 elements of 16 bits, but rows have 32769}}
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 16 : i64} : tensor<2x32769xf32>, tensor<f32>
  func.return
}
// -----
func.func @row_norm_open(%x: tensor<2x?xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{has no integer arithmetic: the row length is dynamic}}
  %0 = calib.row_norm %x by %s {axis = 1 : i64, bits = 8 : i64} : tensor<2x?xf32>, tensor<f32>
  func.return
}
