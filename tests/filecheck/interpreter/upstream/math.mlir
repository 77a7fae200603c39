// RUN: qmlir run %s

func.func @rounding() {
  %x = arith.constant dense<[0.5, 1.5, -0.5, -2.5, 0.49999997, 2.7]> : tensor<6xf32>
  %0 = math.round %x : tensor<6xf32>
  %e0 = arith.constant dense<[1.0, 2.0, -1.0, -3.0, 0.0, 3.0]> : tensor<6xf32>
  check.expect_eq %0, %e0 : tensor<6xf32>
  %1 = math.roundeven %x : tensor<6xf32>
  %e1 = arith.constant dense<[0.0, 2.0, -0.0, -2.0, 0.0, 3.0]> : tensor<6xf32>
  check.expect_eq %1, %e1 : tensor<6xf32>
  %2 = math.floor %x : tensor<6xf32>
  %e2 = arith.constant dense<[0.0, 1.0, -1.0, -3.0, 0.0, 2.0]> : tensor<6xf32>
  check.expect_eq %2, %e2 : tensor<6xf32>
  %3 = math.ceil %x : tensor<6xf32>
  %e3 = arith.constant dense<[1.0, 2.0, -0.0, -2.0, 1.0, 3.0]> : tensor<6xf32>
  check.expect_eq %3, %e3 : tensor<6xf32>
  %4 = math.trunc %x : tensor<6xf32>
  %e4 = arith.constant dense<[0.0, 1.0, -0.0, -2.0, 0.0, 2.0]> : tensor<6xf32>
  check.expect_eq %4, %e4 : tensor<6xf32>
  func.return
}

// (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24: the product alone would be rounded to 1 + 2^-11.
func.func @fused_multiply_add() {
  %x = arith.constant 1.000244140625 : f32
  %one = arith.constant -1.0 : f32
  %fused = math.fma %x, %x, %one : f32
  %product = arith.mulf %x, %x : f32
  %rounded = arith.addf %product, %one : f32
  %found = tensor.from_elements %fused, %rounded : tensor<2xf32>
  %expected = arith.constant dense<[0.000488340854644775390625, 0.00048828125]> : tensor<2xf32>
  check.expect_eq %found, %expected : tensor<2xf32>
  func.return
}

func.func @integers() {
  %x = arith.constant dense<[0, 1, -1, -64, 20]> : tensor<5xi7>
  %0 = math.ctlz %x : tensor<5xi7>
  %e0 = arith.constant dense<[7, 6, 0, 0, 2]> : tensor<5xi7>
  check.expect_eq %0, %e0 : tensor<5xi7>
  %1 = math.cttz %x : tensor<5xi7>
  %e1 = arith.constant dense<[7, 0, 0, 6, 2]> : tensor<5xi7>
  check.expect_eq %1, %e1 : tensor<5xi7>
  %2 = math.ctpop %x : tensor<5xi7>
  %e2 = arith.constant dense<[0, 1, 7, 1, 2]> : tensor<5xi7>
  check.expect_eq %2, %e2 : tensor<5xi7>
  %3 = math.absi %x : tensor<5xi7>
  %e3 = arith.constant dense<[0, 1, 1, -64, 20]> : tensor<5xi7>
  check.expect_eq %3, %e3 : tensor<5xi7>
  %n = arith.constant dense<[0, -3, -3, 2, 2]> : tensor<5xi7>
  %4 = math.ipowi %x, %n : tensor<5xi7>
  %e4 = arith.constant dense<[1, 1, -1, 0, 16]> : tensor<5xi7>
  check.expect_eq %4, %e4 : tensor<5xi7>
  func.return
}

func.func @functions() {
  %x = arith.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
  %0 = math.exp %x : tensor<3xf32>
  %e0 = arith.constant dense<[1.0, 2.7182817, 0.36787945]> : tensor<3xf32>
  check.expect_close %0, %e0 {relative = 1.0e-7 : f64} : tensor<3xf32>
  %1 = math.tanh %x : tensor<3xf32>
  %e1 = arith.constant dense<[0.0, 0.7615942, -0.7615942]> : tensor<3xf32>
  check.expect_close %1, %e1 {relative = 1.0e-7 : f64} : tensor<3xf32>
  %2 = math.erf %x : tensor<3xf32>
  %e2 = arith.constant dense<[0.0, 0.8427008, -0.8427008]> : tensor<3xf32>
  check.expect_close %2, %e2 {relative = 1.0e-7 : f64} : tensor<3xf32>
  %3 = math.log %x : tensor<3xf32>
  %e3 = arith.constant dense<[0xFF800000, 0.0, 0x7FC00000]> : tensor<3xf32>
  check.expect_eq %3, %e3 : tensor<3xf32>
  %4 = math.atan2 %x, %x : tensor<3xf32>
  %e4 = arith.constant dense<[0.0, 0.7853982, -2.3561945]> : tensor<3xf32>
  check.expect_close %4, %e4 {relative = 1.0e-7 : f64} : tensor<3xf32>
  %5 = math.copysign %e0, %x : tensor<3xf32>
  %e5 = arith.constant dense<[1.0, 2.7182817, -0.36787945]> : tensor<3xf32>
  check.expect_eq %5, %e5 : tensor<3xf32>
  %two = arith.constant dense<-2.0> : tensor<3xf32>
  %n = arith.constant dense<[3, -1, 0]> : tensor<3xi32>
  %6 = math.fpowi %two, %n : tensor<3xf32>, tensor<3xi32>
  %e6 = arith.constant dense<[-8.0, -0.5, 1.0]> : tensor<3xf32>
  check.expect_eq %6, %e6 : tensor<3xf32>
  func.return
}
