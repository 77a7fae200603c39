// RUN: qmlir-opt %s -p nn-tie-embeddings | filecheck %s
// RUN: qmlir-opt %s -p nn-tie-embeddings,nn-tie-embeddings | filecheck %s

// A second constant goes; the table stands for the nodes of both.
// CHECK-LABEL: @constant(
// CHECK: [[TABLE:%.+]] = nn.constant {{#w[0-9]+}} {origin = ["table", "head"]}
// CHECK-NEXT: [[ROWS:%.+]] = nn.gather [[TABLE]], {{%.+}} : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
// CHECK-NEXT: nn.matmul [[ROWS]], [[TABLE]] {transpose_b = true} : (tensor<?x4xf32>, tensor<4096x4xf32>) -> tensor<?x4096xf32> {origin = "logits"}
// CHECK-NEXT: func.return
func.func @constant(%tokens: tensor<?xi64>) -> tensor<?x4096xf32> {
  %table = nn.constant dense<0.5> : tensor<4096x4xf32> {origin = "table"}
  %0 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %head = nn.constant dense<0.5> : tensor<4x4096xf32> {origin = "head"}
  %1 = nn.matmul %0, %head : (tensor<?x4xf32>, tensor<4x4096xf32>) -> tensor<?x4096xf32> {origin = "logits"}
  func.return %1 : tensor<?x4096xf32>
}

// A transpose that others read, too, stays; the table comes before what reads it.
// CHECK-LABEL: @transposed(
// CHECK: [[TABLE2:%.+]] = nn.constant {{#w[0-9]+}}
// CHECK: [[TURNED:%.+]] = nn.transpose [[TABLE2]]
// CHECK-NEXT: [[LOGITS:%.+]] = nn.matmul {{%.+}}, [[TABLE2]] {transpose_b = true} : (tensor<2x4xf32>, tensor<4096x4xf32>) -> tensor<2x4096xf32>
// CHECK: func.return [[LOGITS]], {{%.+}}, [[TURNED]]
func.func @transposed(%x: tensor<2x4xf32>, %tokens: tensor<?xi64>) -> (tensor<2x4096xf32>, tensor<?x4xf32>, tensor<4x4096xf32>) {
  %table = nn.constant dense<0.25> : tensor<4096x4xf32>
  %head = nn.transpose %table {permutation = [1, 0]} : (tensor<4096x4xf32>) -> tensor<4x4096xf32>
  %0 = nn.matmul %x, %head : (tensor<2x4xf32>, tensor<4x4096xf32>) -> tensor<2x4096xf32>
  %1 = nn.gather %table, %tokens : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  func.return %0, %1, %head : tensor<2x4096xf32>, tensor<?x4xf32>, tensor<4x4096xf32>
}

// Other numbers, a table of few, known indices, and rows that are not taken: nothing changes.
// CHECK-LABEL: @others(
// CHECK-COUNT-4: nn.matmul {{%.+}}, {{%.+}} : (
func.func @others(%x: tensor<2x4xf32>, %i: tensor<?xi64>) -> (tensor<2x4096xf32>, tensor<2x8xf32>, tensor<2x4096xf32>, tensor<2x4096xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<1x4xf32>, tensor<4096x?xf32>) {
  %a = nn.constant dense<1.0> : tensor<4096x4xf32>
  %0 = nn.gather %a, %i : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %head = nn.constant dense<1.5> : tensor<4x4096xf32>
  %1 = nn.matmul %x, %head : (tensor<2x4xf32>, tensor<4x4096xf32>) -> tensor<2x4096xf32>
  %b = nn.constant dense<2.0> : tensor<8x4xf32>
  %2 = nn.gather %b, %i : (tensor<8x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %small = nn.constant dense<2.0> : tensor<4x8xf32>
  %3 = nn.matmul %x, %small : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %c = nn.constant dense<3.0> : tensor<4096x4xf32>
  %known = nn.constant dense<[5]> : tensor<1xi64>
  %4 = nn.gather %c, %known : (tensor<4096x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  %fixed = nn.constant dense<3.0> : tensor<4x4096xf32>
  %5 = nn.matmul %x, %fixed : (tensor<2x4xf32>, tensor<4x4096xf32>) -> tensor<2x4096xf32>
  %d = nn.constant dense<4.0> : tensor<4096x4xf32>
  %6 = nn.gather %d, %i {axis = 1} : (tensor<4096x4xf32>, tensor<?xi64>) -> tensor<4096x?xf32>
  %columns = nn.constant dense<4.0> : tensor<4x4096xf32>
  %7 = nn.matmul %x, %columns : (tensor<2x4xf32>, tensor<4x4096xf32>) -> tensor<2x4096xf32>
  func.return %1, %3, %5, %7, %0, %2, %4, %6 : tensor<2x4096xf32>, tensor<2x8xf32>, tensor<2x4096xf32>, tensor<2x4096xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<1x4xf32>, tensor<4096x?xf32>
}
