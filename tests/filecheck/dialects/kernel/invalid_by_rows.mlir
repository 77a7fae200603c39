// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @other_type(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi16> {
  // expected-error @+1 {{results and block arguments must have the types of 'outs'}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi16> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    kernel.yield %y : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi16>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @other_argument(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{results and block arguments must have the types of 'outs'}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x2xi8>):
    kernel.yield %y : tensor<4x2xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @no_rows(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{rows must be at least 2 along each axis, but got []}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64>} {
  ^bb0(%y: tensor<4x4xi8>):
    kernel.yield %y : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @one_row(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{rows must be at least 2 along each axis, but got [1, 4]}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 1, 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    kernel.yield %y : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @other_rows(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{the first axes of 'tensor<4x4xi8>' must be the rows [2]}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 2>} {
  ^bb0(%y: tensor<4x4xi8>):
    kernel.yield %y : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @too_many(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{the region must end in a kernel.yield of 1 values with the types of 'outs'}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    kernel.yield %y, %y : tensor<4x4xi8>, tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @no_structure(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a tensor.insert_slice that does not write [4] rows elementwise}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %s = tensor.insert_slice %t into %y[0, 0] [1, 4] [1, 1] : tensor<4xi8> into tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @moved_rows(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that does not write [4] rows elementwise}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %s = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0 + d1 - d1, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      linalg.yield %a : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @border(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.fill that does not write [4] rows elementwise}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %c = arith.constant 0 : i8
    %s = linalg.fill {kernel.overwritten = [array<i64: 0, 0>, array<i64: 1, 1>]} ins(%c : i8) outs(%y : tensor<4x4xi8>) -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @computed(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that reads 'tensor<4x4xi8>' at an index computed from the row index}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 mod 2, d1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      linalg.yield %a : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @another_row(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that reads another row of 'tensor<4xi8>', which is written in the same region}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xi8>) outs(%t : tensor<4xi8>) {
    ^bb0(%a: i8, %o: i8):
      %v = arith.maxsi %a, %o : i8
      linalg.yield %v : i8
    } -> tensor<4xi8>
    %s = linalg.generic {indexing_maps = [#second, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      linalg.yield %a : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @another_table(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that looks up another row of 'tensor<4xi8>', which is written in the same region}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xi8>) outs(%t : tensor<4xi8>) {
    ^bb0(%a: i8, %o: i8):
      %v = arith.maxsi %a, %o : i8
      linalg.yield %v : i8
    } -> tensor<4xi8>
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      %n = linalg.index 1 : index
      %v = tensor.extract %m[%n] : tensor<4xi8>
      linalg.yield %v : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @number(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that uses the row index beyond values written for that row}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      %n = linalg.index 0 : index
      %v = tensor.extract %t[%n] : tensor<4xi8>
      linalg.yield %v : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
func.func @diagonal(%x: tensor<4x4xi8>, %t: tensor<4xi8>, %0: tensor<4x4xi8>) -> tensor<4x4xi8> {
  // expected-error @+1 {{contains a linalg.generic that looks up another row of 'tensor<4x4xi8>', which is written in the same region}}
  %1 = kernel.row_fusion outs(%0 : tensor<4x4xi8>) -> tensor<4x4xi8> attributes {rows = array<i64: 4>} {
  ^bb0(%y: tensor<4x4xi8>):
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%y : tensor<4x4xi8>) {
    ^bb0(%a: i8, %o: i8):
      %n = linalg.index 0 : index
      %v = tensor.extract %y[%n, %n] : tensor<4x4xi8>
      linalg.yield %v : i8
    } -> tensor<4x4xi8>
    kernel.yield %s : tensor<4x4xi8>
  }
  func.return %1 : tensor<4x4xi8>
}
