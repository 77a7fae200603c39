// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// The elementwise operations and reductions that differ in nothing but their name and meaning.

// CHECK-LABEL: @unary(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.erf [[V1]] : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.exp [[V2]] : tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.hard_swish [[V3]] : tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.log [[V4]] : tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.neg [[V5]] : tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.reciprocal [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.sqrt [[V7]] : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.tanh [[V8]] : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.sigmoid [[V9]] : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<2x3xf32>
func.func @unary(%v0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %v1 = nn.abs %v0 : tensor<2x3xf32>
  %v2 = nn.erf %v1 : tensor<2x3xf32>
  %v3 = nn.exp %v2 : tensor<2x3xf32>
  %v4 = nn.hard_swish %v3 : tensor<2x3xf32>
  %v5 = nn.log %v4 : tensor<2x3xf32>
  %v6 = nn.neg %v5 : tensor<2x3xf32>
  %v7 = nn.reciprocal %v6 : tensor<2x3xf32>
  %v8 = nn.sqrt %v7 : tensor<2x3xf32>
  %v9 = nn.tanh %v8 : tensor<2x3xf32>
  %v10 = nn.sigmoid %v9 : tensor<2x3xf32>
  func.return %v10 : tensor<2x3xf32>
}

// CHECK-LABEL: @functions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.sin [[V0]] : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.cos [[V1]] : tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.tan [[V2]] : tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.asin [[V3]] : tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.acos [[V4]] : tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.atan [[V5]] : tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.sinh [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.cosh [[V7]] : tensor<2x3xf32>
// CHECK-NEXT: [[V9:%.+]] = nn.asinh [[V8]] : tensor<2x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.acosh [[V9]] : tensor<2x3xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.atanh [[V10]] : tensor<2x3xf32>
// CHECK-NEXT: [[V12:%.+]] = nn.floor [[V11]] : tensor<2x3xf32>
// CHECK-NEXT: [[V13:%.+]] = nn.ceil [[V12]] : tensor<2x3xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.round [[V13]] : tensor<2x3xf32>
// CHECK-NEXT: [[V15:%.+]] = nn.sign [[V14]] : tensor<2x3xf32>
// CHECK-NEXT: func.return [[V15]] : tensor<2x3xf32>
func.func @functions(%v0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %v1 = nn.sin %v0 : tensor<2x3xf32>
  %v2 = nn.cos %v1 : tensor<2x3xf32>
  %v3 = nn.tan %v2 : tensor<2x3xf32>
  %v4 = nn.asin %v3 : tensor<2x3xf32>
  %v5 = nn.acos %v4 : tensor<2x3xf32>
  %v6 = nn.atan %v5 : tensor<2x3xf32>
  %v7 = nn.sinh %v6 : tensor<2x3xf32>
  %v8 = nn.cosh %v7 : tensor<2x3xf32>
  %v9 = nn.asinh %v8 : tensor<2x3xf32>
  %v10 = nn.acosh %v9 : tensor<2x3xf32>
  %v11 = nn.atanh %v10 : tensor<2x3xf32>
  %v12 = nn.floor %v11 : tensor<2x3xf32>
  %v13 = nn.ceil %v12 : tensor<2x3xf32>
  %v14 = nn.round %v13 : tensor<2x3xf32>
  %v15 = nn.sign %v14 : tensor<2x3xf32>
  func.return %v15 : tensor<2x3xf32>
}

// CHECK-LABEL: @binary(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.sub [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.mul [[V2]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.div [[V3]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.max [[V4]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V6:%.+]] = nn.min [[V5]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V7:%.+]] = nn.pow [[V6]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<2x3xf32>
func.func @binary(%v0: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %v1 = nn.sub %v0, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v2 = nn.mul %v1, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v3 = nn.div %v2, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v4 = nn.max %v3, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v5 = nn.min %v4, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v6 = nn.pow %v5, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %v6 : tensor<2x3xf32>
}

// CHECK-LABEL: @comparisons(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<3xf32>)
// CHECK-NEXT: [[V2:%.+]] = nn.equal [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V3:%.+]] = nn.greater_or_equal [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V4:%.+]] = nn.less [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: [[V5:%.+]] = nn.less_or_equal [[V0]], [[V1]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT: func.return
func.func @comparisons(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  %0 = nn.equal %x, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %1 = nn.greater_or_equal %x, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %2 = nn.less %x, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %3 = nn.less_or_equal %x, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: @reductions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xf32>)
// CHECK-NEXT: [[V1:%.+]] = nn.reduce_max [[V0]] {axes = [1]} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.reduce_min [[V0]] {axes = [-1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.reduce_sum [[V0]] {axes = [0, 2]} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: func.return
func.func @reductions(%x: tensor<2x3x4xf32>) {
  %0 = nn.reduce_max %x {axes = [1]} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %1 = nn.reduce_min %x {axes = [-1], keep_dims = false} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %2 = nn.reduce_sum %x {axes = [0, 2]} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  func.return
}

// CHECK-LABEL: @remainders_and_powers(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>, [[V1:%.+]]: tensor<2x3xi8>, [[V2:%.+]]: tensor<i8>) -> (tensor<2x3xf32>, tensor<2x3xi8>)
// CHECK-NEXT: [[V3:%.+]] = nn.mod [[V0]], [[V0]] {fmod = true} : tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.mod [[V1]], [[V2]] : (tensor<2x3xi8>, tensor<i8>) -> tensor<2x3xi8>
// CHECK-NEXT: [[V5:%.+]] = nn.pow [[V4]], [[V2]] : (tensor<2x3xi8>, tensor<i8>) -> tensor<2x3xi8>
// CHECK-NEXT: func.return [[V3]], [[V5]] : tensor<2x3xf32>, tensor<2x3xi8>
func.func @remainders_and_powers(%x: tensor<2x3xf32>, %i: tensor<2x3xi8>, %s: tensor<i8>) -> (tensor<2x3xf32>, tensor<2x3xi8>) {
  %0 = nn.mod %x, %x {fmod = true} : tensor<2x3xf32>
  %1 = nn.mod %i, %s : (tensor<2x3xi8>, tensor<i8>) -> tensor<2x3xi8>
  %2 = nn.pow %1, %s : (tensor<2x3xi8>, tensor<i8>) -> tensor<2x3xi8>
  func.return %0, %2 : tensor<2x3xf32>, tensor<2x3xi8>
}

// CHECK-LABEL: @conversions(
// CHECK-SAME: [[V0:%.+]]: tensor<2x?xf32>) -> (tensor<2x?xi4>, tensor<2x?xui32>)
// CHECK-NEXT: [[V1:%.+]] = nn.cast [[V0]] : (tensor<2x?xf32>) -> tensor<2x?xi4>
// CHECK-NEXT: [[V2:%.+]] = nn.bit_cast [[V0]] : (tensor<2x?xf32>) -> tensor<2x?xui32>
// CHECK-NEXT: func.return [[V1]], [[V2]] : tensor<2x?xi4>, tensor<2x?xui32>
func.func @conversions(%x: tensor<2x?xf32>) -> (tensor<2x?xi4>, tensor<2x?xui32>) {
  %0 = nn.cast %x : (tensor<2x?xf32>) -> tensor<2x?xi4>
  %1 = nn.bit_cast %x : (tensor<2x?xf32>) -> tensor<2x?xui32>
  func.return %0, %1 : tensor<2x?xi4>, tensor<2x?xui32>
}
