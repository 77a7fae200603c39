#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// The maximum of each row minus each element, plus 5.
func.func @main() -> tensor<2x3xi8> {
  %x = arith.constant dense<[[1, 4, 2], [-3, -8, -3]]> : tensor<2x3xi8>
  %five = arith.constant dense<5> : tensor<2x3xi8>
  %none = arith.constant dense<-128> : tensor<2xi8>
  %0, %1 = kernel.by_rows outs(%five, %none : tensor<2x3xi8>, tensor<2xi8>) -> tensor<2x3xi8>, tensor<2xi8> attributes {rows = array<i64: 2>} {
  ^bb0(%y: tensor<2x3xi8>, %z: tensor<2xi8>):
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x3xi8>) outs(%z : tensor<2xi8>) {
    ^bb0(%a: i8, %o: i8):
      %2 = arith.maxsi %a, %o : i8
      linalg.yield %2 : i8
    } -> tensor<2xi8>
    %d = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x3xi8>, tensor<2xi8>) outs(%y : tensor<2x3xi8>) {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %2 = arith.subi %b, %a : i8
      %3 = arith.addi %2, %o : i8
      linalg.yield %3 : i8
    } -> tensor<2x3xi8>
    kernel.yield %d, %m : tensor<2x3xi8>, tensor<2xi8>
  }
  func.return %0 : tensor<2x3xi8>
}
