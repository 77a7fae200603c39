// RUN: not qmlir run %s 2>&1 | filecheck %s

// CHECK: 'math.ipowi' op cannot be computed: cannot raise 0 of type i8 to a negative power
func.func @power() {
  %a = arith.constant dense<[1, 0]> : tensor<2xi8>
  %b = arith.constant dense<-2> : tensor<2xi8>
  %c = math.ipowi %a, %b : tensor<2xi8>
  func.return
}
