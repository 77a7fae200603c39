// RUN: qmlir run %s

// What the activation functions give, by hand.

func.func @relu() {
  %x = nn.constant dense<[-1.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %r = nn.relu %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq %r, %y : tensor<4xf32>
  %x1 = nn.constant dense<[-128, 3]> : tensor<2xi8>
  %r1 = nn.relu %x1 : tensor<2xi8>
  %y1 = nn.constant dense<[0, 3]> : tensor<2xi8>
  check.expect_eq %r1, %y1 : tensor<2xi8>
  func.return
}

func.func @leaky_relu() {
  %x = nn.constant dense<[-8.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %r = nn.leaky_relu %x {alpha = 0.25} : tensor<4xf32>
  %y = nn.constant dense<[-2.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq %r, %y : tensor<4xf32>
  func.return
}

// A slope for each row.
func.func @prelu() {
  %a = nn.constant dense<[[-2.0, 4.0], [-2.0, -4.0]]> : tensor<2x2xf32>
  %b = nn.constant dense<[[0.5], [2.0]]> : tensor<2x1xf32>
  %r = nn.prelu %a, %b : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %y = nn.constant dense<[[-1.0, 4.0], [-4.0, -8.0]]> : tensor<2x2xf32>
  check.expect_eq %r, %y : tensor<2x2xf32>
  %a1 = nn.constant dense<[-2, 4]> : tensor<2xi32>
  %b1 = nn.constant dense<3> : tensor<i32>
  %r1 = nn.prelu %a1, %b1 : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %y1 = nn.constant dense<[-6, 4]> : tensor<2xi32>
  check.expect_eq %r1, %y1 : tensor<2xi32>
  func.return
}

// At the threshold it is 0.
func.func @thresholded_relu() {
  %x = nn.constant dense<[0.5, 1.0, 1.5, -3.0]> : tensor<4xf32>
  %r = nn.thresholded_relu %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.0, 1.5, 0.0]> : tensor<4xf32>
  check.expect_eq %r, %y : tensor<4xf32>
  func.return
}

// At -ln 2, where e^x is a half.
func.func @elu() {
  %x = nn.constant dense<[-0.693147181, 3.0, 0xFF800000, -0.0]> : tensor<4xf32>
  %r = nn.elu %x {alpha = 2.0} : tensor<4xf32>
  %y = nn.constant dense<[-1.0, 3.0, -2.0, -0.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// `e^x - 1` keeps its bits where `e^x` is about 1.
func.func @elu_near_zero() {
  %x = nn.constant dense<[-1.0e-10, 1.0e-10, 0.0, -1.0e-6]> : tensor<4xf32>
  %r = nn.elu %x : tensor<4xf32>
  %y = nn.constant dense<[-1.0e-10, 1.0e-10, 0.0, -9.999995e-7]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// `2 * (e^(-2 ln 2 / 2) - 1)`.
func.func @celu() {
  %x = nn.constant dense<[-1.38629436, 3.0, 0xFF800000, 0.0]> : tensor<4xf32>
  %r = nn.celu %x {alpha = 2.0} : tensor<4xf32>
  %y = nn.constant dense<[-1.0, 3.0, -2.0, 0.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

func.func @selu() {
  %x = nn.constant dense<[-0.693147181, 2.0, 0xFF800000, 0.0]> : tensor<4xf32>
  %r = nn.selu %x {alpha = 2.0, gamma = 3.0} : tensor<4xf32>
  %y = nn.constant dense<[-3.0, 6.0, -6.0, 0.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// At ln 3.
func.func @sigmoid() {
  %x = nn.constant dense<[0.0, 1.09861229, -1000.0, 1000.0]> : tensor<4xf32>
  %r = nn.sigmoid %x : tensor<4xf32>
  %y = nn.constant dense<[0.5, 0.75, 0.0, 1.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

func.func @hard_sigmoid() {
  %x = nn.constant dense<[0.0, -10.0, 10.0, 1.0]> : tensor<4xf32>
  %r = nn.hard_sigmoid %x : tensor<4xf32>
  %y = nn.constant dense<[0.5, 0.0, 1.0, 0.7]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

func.func @hard_swish() {
  %x = nn.constant dense<[-4.0, 0.0, 3.0, 1.5]> : tensor<4xf32>
  %r = nn.hard_swish %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.0, 3.0, 1.125]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// At ln 3 / 2, where the sigmoid of twice that is 3 / 4.
func.func @swish() {
  %x = nn.constant dense<[0.0, 0.549306145, 0x7F800000, -1000.0]> : tensor<4xf32>
  %r = nn.swish %x {alpha = 2.0} : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.411979608, 0x7F800000, 0.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// `e^x` would overflow at 1000. At ln(e - 1) it is 1.
func.func @softplus() {
  %x = nn.constant dense<[0.0, 1000.0, -1000.0, 0.541324855]> : tensor<4xf32>
  %r = nn.softplus %x : tensor<4xf32>
  %y = nn.constant dense<[0.693147181, 1000.0, 0.0, 1.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// `x * tanh(1)` at ln(e - 1).
func.func @mish() {
  %x = nn.constant dense<[0.0, 1000.0, -1000.0, 0.541324855]> : tensor<4xf32>
  %r = nn.mish %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 1000.0, 0.0, 0.412269848]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

func.func @softsign() {
  %x = nn.constant dense<[0.0, 1.0, -3.0, 9.0]> : tensor<4xf32>
  %r = nn.softsign %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.5, -0.75, 0.9]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// At ln 3 / 2.
func.func @tanh() {
  %x = nn.constant dense<[0.0, 0.549306145, 0x7F800000, -1000.0]> : tensor<4xf32>
  %r = nn.tanh %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.5, 1.0, -1.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// `x` times the normal distribution: 0.841344746 at 1.
func.func @gelu() {
  %x = nn.constant dense<[0.0, 1.0, -1.0, 100.0]> : tensor<4xf32>
  %r = nn.gelu %x : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.841344746, -0.158655254, 100.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

func.func @gelu_by_tanh() {
  %x = nn.constant dense<[0.0, 1.0, -1.0, 100.0]> : tensor<4xf32>
  %r = nn.gelu %x {tanh_approximation = true} : tensor<4xf32>
  %y = nn.constant dense<[0.0, 0.841191991, -0.158808009, 100.0]> : tensor<4xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<4xf32>
  func.return
}

// Computed in f32 and rounded once: `ln(1 + e^12)` would overflow f16 on the way.
func.func @short_floats() {
  %x = nn.constant dense<[0.0, 20.0]> : tensor<2xbf16>
  %r = nn.sigmoid %x : tensor<2xbf16>
  %y = nn.constant dense<[0.5, 1.0]> : tensor<2xbf16>
  check.expect_eq %r, %y : tensor<2xbf16>
  %x1 = nn.constant dense<[12.0, -30.0]> : tensor<2xf16>
  %r1 = nn.softplus %x1 : tensor<2xf16>
  %y1 = nn.constant dense<[12.0, 0.0]> : tensor<2xf16>
  check.expect_eq %r1, %y1 : tensor<2xf16>
  func.return
}

func.func @scalars_and_empty() {
  %x = nn.constant dense<0.0> : tensor<f64>
  %r = nn.gelu %x : tensor<f64>
  %y = nn.constant dense<0.0> : tensor<f64>
  check.expect_eq %r, %y : tensor<f64>
  %x1 = nn.constant dense<> : tensor<2x0xf32>
  %r1 = nn.celu %x1 : tensor<2x0xf32>
  %y1 = nn.constant dense<> : tensor<2x0xf32>
  check.expect_eq %r1, %y1 : tensor<2x0xf32>
  func.return
}
