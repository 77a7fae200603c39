// RUN: not qmlir run %s 2>&1 | filecheck %s

// CHECK: 'scf.for' op cannot be computed: the step must be positive, but got 0
func.func @no_step() {
  %c0 = arith.constant 0 : index
  scf.for %i = %c0 to %c0 step %c0 {
  }
  func.return
}
