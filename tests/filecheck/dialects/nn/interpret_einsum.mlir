// RUN: qmlir run %s

// What Einstein sums give, by hand.

func.func @products() {
  %x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = nn.constant dense<[[1, 0], [10, 1]]> : tensor<2x2xi32>
  %e = nn.constant dense<[[21, 2], [43, 4]]> : tensor<2x2xi32>
  %r = nn.einsum %x, %y {equation = "ij, jk -> ik"} : tensor<2x2xi32>
  check.expect_eq %r, %e : tensor<2x2xi32>
  %s = nn.einsum %x, %y {equation = "ij,jk"} : tensor<2x2xi32>
  check.expect_eq %s, %e : tensor<2x2xi32>
  // Without a result, labels are sorted: here it is the transpose.
  %t = nn.einsum %x {equation = "ba"} : tensor<2x2xi32>
  %f = nn.constant dense<[[1, 3], [2, 4]]> : tensor<2x2xi32>
  check.expect_eq %t, %f : tensor<2x2xi32>
  %u = nn.einsum %x, %y {equation = "ij,ij->"} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<i32>
  %g = nn.constant dense<35> : tensor<i32>
  check.expect_eq %u, %g : tensor<i32>
  func.return
}

// Capital letters are sorted before small ones.
func.func @sorted_labels() {
  %x = nn.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %r = nn.einsum %x {equation = "aB"} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %e = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  check.expect_eq %r, %e : tensor<2x1xf32>
  func.return
}

// The diagonal, its sum, and both behind an ellipsis of one axis, of none, of one that is broadcast.
func.func @diagonals() {
  %x = nn.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %r = nn.einsum %x {equation = "...ii->...i"} : (tensor<1x2x2xf32>) -> tensor<1x2xf32>
  %e = nn.constant dense<[[1.0, 4.0]]> : tensor<1x2xf32>
  check.expect_eq %r, %e : tensor<1x2xf32>
  %s = nn.einsum %x {equation = "...ii"} : (tensor<1x2x2xf32>) -> tensor<1xf32>
  %f = nn.constant dense<[5.0]> : tensor<1xf32>
  check.expect_eq %s, %f : tensor<1xf32>
  %v = nn.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %t = nn.einsum %r, %v {equation = "...i,i...->i..."} : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<2x1xf32>
  %g = nn.constant dense<[[10.0], [400.0]]> : tensor<2x1xf32>
  check.expect_eq %t, %g : tensor<2x1xf32>
  func.return
}

// Three operands; integers wrap, f16 is rounded once, no elements sum up to 0.
func.func @numbers() {
  %x = nn.constant dense<[100, 100]> : tensor<2xi8>
  %y = nn.constant dense<[2, 1]> : tensor<2xi8>
  %r = nn.einsum %x, %y, %y {equation = "i,i,j->j"} : (tensor<2xi8>, tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %e = nn.constant dense<[88, 44]> : tensor<2xi8>
  check.expect_eq %r, %e : tensor<2xi8>
  %h = nn.constant dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>
  %s = nn.einsum %h {equation = "i->"} : (tensor<3xf16>) -> tensor<f16>
  %f = nn.constant dense<2050.0> : tensor<f16>
  check.expect_eq %s, %f : tensor<f16>
  %n = nn.constant dense<> : tensor<0x2xf64>
  %t = nn.einsum %n {equation = "ij->j"} : (tensor<0x2xf64>) -> tensor<2xf64>
  %g = nn.constant dense<0.0> : tensor<2xf64>
  check.expect_eq %t, %g : tensor<2xf64>
  func.return
}
