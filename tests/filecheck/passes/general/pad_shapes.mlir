// RUN: qmlir-opt %s -p 'pad-shapes{function=attention sizes="n=1","s=4"},pad-shapes{function=rows sizes="n=3","x.1=2"},pad-shapes{function=mean sizes="s=4"},pad-shapes{function=uniform sizes="s=4"},pad-shapes{function=joined sizes="n=2","s=3"}' | filecheck %s

!x = !quant.uniform<i8:f32, 0.5:3>
!p = !quant.uniform<i8:f32, 0.00390625:-128>

// A softmax along an open size gets a mask. Its result is 0 in padding, so the sum of products that reads it needs no
// other one. A size whose capacity is 1 is no input.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME:    %x: tensor<1x4x8x!{{.*}}> {nn.name = "x"}, %[[S:[0-9]+]]: tensor<i64> {nn.name = "s"})
// CHECK-NEXT:    %[[PLACES:[0-9]+]] = nn.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT:    %[[VALID:[0-9]+]] = nn.less %[[PLACES]], %[[S]]
// CHECK-NEXT:    nn.transpose
// CHECK-NEXT:    %[[SCORES:[0-9]+]] = nn.matmul %x
// CHECK-NEXT:    %[[SOFT:[0-9]+]] = nn.softmax %[[SCORES]], %[[VALID]] : (tensor<1x4x4x!{{.*}}>, tensor<4xi1>)
// CHECK-NEXT:    nn.matmul %[[SOFT]], %x
func.func @attention(%x: tensor<?x?x8x!x> {nn.name = "x", nn.dims = ["n", "s", ""]}) -> tensor<?x?x8x!x> {
  %0 = nn.transpose %x {permutation = [0, 2, 1]} : (tensor<?x?x8x!x>) -> tensor<?x8x?x!x>
  %1 = nn.matmul %x, %0 : (tensor<?x?x8x!x>, tensor<?x8x?x!x>) -> tensor<?x?x?x!x>
  %2 = nn.softmax %1 : (tensor<?x?x?x!x>) -> tensor<?x?x?x!p>
  %3 = nn.matmul %2, %x : (tensor<?x?x?x!p>, tensor<?x?x8x!x>) -> tensor<?x?x8x!x>
  func.return %3 : tensor<?x?x8x!x>
}

// What computes element by element, or by rows that are not open, needs no mask. An index that is padding is 0.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %x: tensor<3x2xi64> {nn.name = "x"}, %[[N:[0-9]+]]: tensor<i64> {nn.name = "n"}, %[[S:[0-9]+]]: tensor<i64> {nn.name = "x.1"})
// CHECK:         %[[ROWS:[0-9]+]] = nn.less %{{.*}}, %[[N]]
// CHECK:         %[[COLUMNS:[0-9]+]] = nn.less %{{.*}}, %[[S]]
// CHECK-NEXT:    %[[VALID:[0-9]+]] = nn.and %[[ROWS]], %[[COLUMNS]]
// CHECK:         %[[ZERO:[0-9]+]] = nn.constant dense<0> : tensor<i64>
// CHECK:         %[[INDEX:[0-9]+]] = nn.where %[[VALID]], %x, %[[ZERO]]
// CHECK-NEXT:    %[[ROW:[0-9]+]] = nn.gather %{{.*}}, %[[INDEX]]
// CHECK-NEXT:    %[[SOFT:[0-9]+]] = nn.softmax %[[ROW]] : tensor<3x2x2xf32>
// CHECK-NEXT:    nn.tanh %[[SOFT]]
func.func @rows(%x: tensor<?x?xi64> {nn.name = "x", nn.dims = ["n", ""]}) -> tensor<?x?x2xf32> {
  %0 = nn.constant dense<[[0.5, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>
  %1 = nn.gather %0, %x : (tensor<2x2xf32>, tensor<?x?xi64>) -> tensor<?x?x2xf32>
  %2 = nn.softmax %1 : tensor<?x?x2xf32>
  %3 = nn.tanh %2 : tensor<?x?x2xf32>
  func.return %3 : tensor<?x?x2xf32>
}

// A mean is divided by the size of the run, and so is what divides by a size itself; as a shape it is the capacity.
// CHECK-LABEL: func.func @mean(
// CHECK-SAME:    %x: tensor<4x2xf32> {nn.name = "x"}, %[[S:[0-9]+]]: tensor<i64> {nn.name = "s"})
// CHECK:         %[[KEPT:[0-9]+]] = nn.where %{{.*}}, %x, %{{.*}}
// CHECK-NEXT:    %[[SUM:[0-9]+]] = nn.reduce_sum %[[KEPT]] {axes = [0]}
// CHECK-NEXT:    %[[COUNT:[0-9]+]] = nn.cast %[[S]] : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT:    %[[MEAN:[0-9]+]] = nn.div %[[SUM]], %[[COUNT]]
// CHECK:         %[[SIZE:[0-9]+]] = nn.cast %{{[0-9]+}} : (tensor<1xi64>) -> tensor<1xf32>
// CHECK-NEXT:    nn.expand %[[MEAN]] {shape = [4, 2]}
// CHECK-NEXT:    nn.div %{{[0-9]+}}, %[[SIZE]]
func.func @mean(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<?x2xf32> {
  %0 = nn.reduce_mean %x {axes = [0]} : (tensor<?x2xf32>) -> tensor<1x2xf32>
  %1 = nn.shape %x {end = 1} : (tensor<?x2xf32>) -> tensor<1xi64>
  %2 = nn.cast %1 : (tensor<1xi64>) -> tensor<1xf32>
  %3 = nn.constant dense<2> : tensor<1xi64>
  %4 = nn.concat %1, %3 {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %5 = nn.expand %0, %4 : (tensor<1x2xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %6 = nn.div %5, %2 : (tensor<?x2xf32>, tensor<1xf32>) -> tensor<?x2xf32>
  func.return %6 : tensor<?x2xf32>
}

// A row that a mask leaves empty gives equal parts to its valid elements: their scores are made equal.
// CHECK-LABEL: func.func @uniform(
// CHECK:         %[[VALID:[0-9]+]] = nn.less %{{.*}}, %{{.*}} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
// CHECK:         %[[KEEP:[0-9]+]] = nn.and %m, %[[VALID]]
// CHECK-NEXT:    %[[ANY:[0-9]+]] = nn.reduce_max %[[KEEP]] {axes = [1]}
// CHECK-NEXT:    %[[EMPTY:[0-9]+]] = nn.not %[[ANY]]
// CHECK-NEXT:    %[[WHOLE:[0-9]+]] = nn.and %[[VALID]], %[[EMPTY]]
// CHECK-NEXT:    %[[EQUAL:[0-9]+]] = nn.where %[[ANY]], %x, %{{[0-9]+}}
// CHECK-NEXT:    %[[MASK:[0-9]+]] = nn.or %[[KEEP]], %[[WHOLE]]
// CHECK-NEXT:    nn.softmax %[[EQUAL]], %[[MASK]] :
func.func @uniform(%x: tensor<2x?x!x> {nn.name = "x", nn.dims = ["", "s"]}, %m: tensor<2x?xi1> {nn.name = "m", nn.dims = ["", "s"]}) -> tensor<2x?x!p> {
  %0 = nn.softmax %x, %m {empty_rows = "uniform"} : (tensor<2x?x!x>, tensor<2x?xi1>) -> tensor<2x?x!p>
  func.return %0 : tensor<2x?x!p>
}

// Axes that are joined keep their padding apart: the valid places of six are those of both sizes.
// CHECK-LABEL: func.func @joined(
// CHECK-SAME:    %x: tensor<2x3xf32> {nn.name = "x"}, %[[N:[0-9]+]]: tensor<i64> {nn.name = "n"}, %[[S:[0-9]+]]: tensor<i64> {nn.name = "s"})
// CHECK:         %[[ROW:[0-9]+]] = nn.constant dense<[0, 0, 0, 1, 1, 1]>
// CHECK-NEXT:    %[[A:[0-9]+]] = nn.less %[[ROW]], %[[N]]
// CHECK-NEXT:    %[[COLUMN:[0-9]+]] = nn.constant dense<[0, 1, 2, 0, 1, 2]>
// CHECK-NEXT:    %[[B:[0-9]+]] = nn.less %[[COLUMN]], %[[S]]
// CHECK-NEXT:    %[[BOTH:[0-9]+]] = nn.and %[[A]], %[[B]]
// CHECK:         %[[FLAT:[0-9]+]] = nn.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    nn.where %[[BOTH]], %[[FLAT]]
func.func @joined(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["n", "s"]}) -> tensor<f32> {
  %0 = nn.reshape %x : (tensor<?x?xf32>) -> tensor<?xf32>
  %1 = nn.reduce_max %0 {axes = [0], keep_dims = false} : (tensor<?xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
