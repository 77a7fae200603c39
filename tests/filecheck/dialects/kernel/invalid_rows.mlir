// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @no_row(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%y : tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{row must list distinct iterators out of 2, but got []}}
    %1 = kernel.row_max %a {dims = array<i64>} : f32
    linalg.yield %o : f32
  } -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @no_iterator(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%y : tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{row must list distinct iterators out of 2, but got [2]}}
    %1 = kernel.row_max %a {dims = array<i64: 2>} : f32
    linalg.yield %o : f32
  } -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @one_twice(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%y : tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{row must list distinct iterators out of 2, but got [1, 1]}}
    %1 = kernel.row_sum %a {dims = array<i64: 1, 1>} : f32
    linalg.yield %o : f32
  } -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @another_row(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%y : tensor<2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = kernel.row_sum %a {dims = array<i64: 1>} : f32
    // expected-error @+1 {{row must be [1], as for the other reductions in this body, but got [0]}}
    %2 = kernel.row_max %a {dims = array<i64: 0>} : f32
    linalg.yield %o : f32
  } -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @integers_without_order(%x: tensor<2x3xi8>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi8>) outs(%y : tensor<2x3xf32>) {
  ^bb0(%a: i8, %o: f32):
    // expected-error @+1 {{'reassoc' requires a float, but got 'i8'}}
    %1 = kernel.row_sum %a {dims = array<i64: 1>, reassoc} : i8
    linalg.yield %o : f32
  } -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// -----
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @in_a_reduction(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x3xf32>) outs(%y : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{requires a parent on tensors with parallel iterators only}}
    %1 = kernel.row_max %a {dims = array<i64: 1>} : f32
    linalg.yield %o : f32
  } -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @outside(%a: f32) {
  // expected-error @+1 {{must be in the body of a linalg.generic}}
  %0 = kernel.row_max %a {dims = array<i64: 0>} : f32
  func.return
}
// -----
func.func @on_memory(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @+1 {{requires a parent on tensors with parallel iterators only}}
    %0 = kernel.row_max %a {dims = array<i64: 0>} : f32
    linalg.yield %0 : f32
  }
  func.return
}
