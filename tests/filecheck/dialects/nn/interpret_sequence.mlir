// RUN: qmlir run %s

// What sequences give, by hand.

// [a, b, c]: b out, a in before the last, and the second from the end is a.
func.func @edited() {
  %a = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant dense<[3.0]> : tensor<1xf32>
  %c = nn.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
  %one = nn.constant dense<1> : tensor<i64>
  %last = nn.constant dense<-1> : tensor<1xi32>
  %back = nn.constant dense<-2> : tensor<i64>
  %0 = nn.sequence_construct %a, %b, %c : (tensor<2xf32>, tensor<1xf32>, tensor<3xf32>) -> !nn.sequence<tensor<?xf32>>
  %1 = nn.sequence_erase %0, %one : (!nn.sequence<tensor<?xf32>>, tensor<i64>) -> !nn.sequence<tensor<?xf32>>
  %2 = nn.sequence_insert %1, %a, %last : (!nn.sequence<tensor<?xf32>>, tensor<2xf32>, tensor<1xi32>) -> !nn.sequence<tensor<?xf32>>
  %3 = nn.concat_from_sequence %2 {axis = 0} : (!nn.sequence<tensor<?xf32>>) -> tensor<7xf32>
  %y = nn.constant dense<[1.0, 2.0, 1.0, 2.0, 4.0, 5.0, 6.0]> : tensor<7xf32>
  check.expect_eq %3, %y : tensor<7xf32>
  %4 = nn.sequence_at %2, %back : (!nn.sequence<tensor<?xf32>>, tensor<i64>) -> tensor<2xf32>
  check.expect_eq %4, %a : tensor<2xf32>
  %5 = nn.sequence_erase %2 : !nn.sequence<tensor<?xf32>>
  %6 = nn.sequence_length %5 : (!nn.sequence<tensor<?xf32>>) -> tensor<i64>
  %two = nn.constant dense<2> : tensor<i64>
  check.expect_eq %6, %two : tensor<i64>
  func.return
}

// A sequence is as long as it was: inserting at its length appends.
func.func @appended() {
  %a = nn.constant dense<true> : tensor<i1>
  %b = nn.constant dense<[false]> : tensor<1xi1>
  %end = nn.constant dense<1> : tensor<i64>
  %0 = nn.sequence_empty : () -> !nn.sequence<tensor<*xi1>>
  %1 = nn.sequence_insert %0, %a : (!nn.sequence<tensor<*xi1>>, tensor<i1>) -> !nn.sequence<tensor<*xi1>>
  %2 = nn.sequence_insert %1, %b, %end : (!nn.sequence<tensor<*xi1>>, tensor<1xi1>, tensor<i64>) -> !nn.sequence<tensor<*xi1>>
  %3 = nn.sequence_at %2, %end : (!nn.sequence<tensor<*xi1>>, tensor<i64>) -> tensor<1xi1>
  check.expect_eq %3, %b : tensor<1xi1>
  %4 = nn.sequence_length %0 : (!nn.sequence<tensor<*xi1>>) -> tensor<i64>
  %none = nn.constant dense<0> : tensor<i64>
  check.expect_eq %4, %none : tensor<i64>
  func.return
}

func.func @split() {
  %x = nn.constant dense<[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]> : tensor<2x5xi8>
  %at = nn.constant dense<1> : tensor<i64>
  // A scalar: the last part is what is left.
  %two = nn.constant dense<2> : tensor<i32>
  %0 = nn.split_to_sequence %x, %two {axis = -1} : (tensor<2x5xi8>, tensor<i32>) -> !nn.sequence<tensor<2x?xi8>>
  %1 = nn.sequence_length %0 : (!nn.sequence<tensor<2x?xi8>>) -> tensor<i64>
  %three = nn.constant dense<3> : tensor<i64>
  check.expect_eq %1, %three : tensor<i64>
  %2 = nn.sequence_at %0, %at : (!nn.sequence<tensor<2x?xi8>>, tensor<i64>) -> tensor<2x2xi8>
  %y2 = nn.constant dense<[[3, 4], [8, 9]]> : tensor<2x2xi8>
  check.expect_eq %2, %y2 : tensor<2x2xi8>
  // A list, with an empty part.
  %sizes = nn.constant dense<[4, 0, 1]> : tensor<3xi64>
  %3 = nn.split_to_sequence %x, %sizes {axis = 1, keep_dims = false} : (tensor<2x5xi8>, tensor<3xi64>) -> !nn.sequence<tensor<2x?xi8>>
  %4 = nn.sequence_at %3, %at : (!nn.sequence<tensor<2x?xi8>>, tensor<i64>) -> tensor<2x0xi8>
  %y4 = nn.slice %x {starts = [0], ends = [0], axes = [1]} : (tensor<2x5xi8>) -> tensor<2x0xi8>
  check.expect_eq %4, %y4 : tensor<2x0xi8>
  // One index each, the axis gone, and beside one another along a new one.
  %5 = nn.split_to_sequence %x {keep_dims = false} : (tensor<2x5xi8>) -> !nn.sequence<tensor<5xi8>>
  %6 = nn.concat_from_sequence %5 {axis = -1, new_axis = true} : (!nn.sequence<tensor<5xi8>>) -> tensor<5x2xi8>
  %y6 = nn.transpose %x {permutation = [1, 0]} : (tensor<2x5xi8>) -> tensor<5x2xi8>
  check.expect_eq %6, %y6 : tensor<5x2xi8>
  func.return
}

// Of a list of scalars, and of nothing.
func.func @small() {
  %x = nn.constant dense<[7, 8]> : tensor<2xi64>
  %first = nn.constant dense<0> : tensor<i64>
  %0 = nn.split_to_sequence %x {keep_dims = false} : (tensor<2xi64>) -> !nn.sequence<tensor<i64>>
  %1 = nn.sequence_at %0, %first : (!nn.sequence<tensor<i64>>, tensor<i64>) -> tensor<i64>
  %seven = nn.constant dense<7> : tensor<i64>
  check.expect_eq %1, %seven : tensor<i64>
  %e = nn.constant dense<> : tensor<0x2xf32>
  %2 = nn.split_to_sequence %e : (tensor<0x2xf32>) -> !nn.sequence<tensor<1x2xf32>>
  %3 = nn.sequence_length %2 : (!nn.sequence<tensor<1x2xf32>>) -> tensor<i64>
  check.expect_eq %3, %first : tensor<i64>
  func.return
}
