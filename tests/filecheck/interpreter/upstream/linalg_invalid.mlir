// RUN: not qmlir run %s 2>&1 | filecheck %s

// CHECK: 'linalg.generic' op cannot be computed: the loops access indices 0 to 1 of operand 1 along dimension 0, but its size is 3
func.func @shapes_that_disagree() {
  %n = arith.constant 2 : index
  %m = arith.constant 3 : index
  %x = tensor.splat %n[%n] : tensor<?xindex>
  %o = tensor.empty(%m) : tensor<?xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%o : tensor<?xindex>) {
  ^bb0(%a: index, %b: index):
    linalg.yield %a : index
  } -> tensor<?xindex>
  func.return
}
