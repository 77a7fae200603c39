// RUN: qmlir run %s

// What elementwise arithmetic gives, by hand.

// Half-way cases go to the even number.
func.func @round() {
  %x = nn.constant dense<[0.5, 1.5, 2.5, -0.5, -1.5, 0.9, -4.2]> : tensor<7xf32>
  %r = nn.round %x : tensor<7xf32>
  %y = nn.constant dense<[0.0, 2.0, 2.0, 0.0, -2.0, 1.0, -4.0]> : tensor<7xf32>
  check.expect_eq %r, %y : tensor<7xf32>
  func.return
}

func.func @floor() {
  %x = nn.constant dense<[1.5, -1.5, 2.0]> : tensor<3xf16>
  %r = nn.floor %x : tensor<3xf16>
  %y = nn.constant dense<[1.0, -2.0, 2.0]> : tensor<3xf16>
  check.expect_eq %r, %y : tensor<3xf16>
  func.return
}

func.func @ceil() {
  %x = nn.constant dense<[1.5, -1.5, 2.0]> : tensor<3xbf16>
  %r = nn.ceil %x : tensor<3xbf16>
  %y = nn.constant dense<[2.0, -1.0, 2.0]> : tensor<3xbf16>
  check.expect_eq %r, %y : tensor<3xbf16>
  func.return
}

func.func @sign() {
  %x = nn.constant dense<[-3.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %r = nn.sign %x : tensor<4xf32>
  %y = nn.constant dense<[-1.0, 0.0, 1.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq %r, %y : tensor<4xf32>
  func.return
}

func.func @sign_of_unsigned() {
  %x = nn.constant dense<[0, 200]> : tensor<2xui8>
  %r = nn.sign %x : tensor<2xui8>
  %y = nn.constant dense<[0, 1]> : tensor<2xui8>
  check.expect_eq %r, %y : tensor<2xui8>
  func.return
}

func.func @sqrt_and_log() {
  %x = nn.constant dense<[9.0, -1.0, 0x7F800000]> : tensor<3xf32>
  %r = nn.sqrt %x : tensor<3xf32>
  %y = nn.constant dense<[3.0, 0x7FC00000, 0x7F800000]> : tensor<3xf32>
  check.expect_eq %r, %y : tensor<3xf32>
  %z = nn.constant dense<[1.0, 0.0, -1.0]> : tensor<3xf32>
  %w = nn.constant dense<[0.0, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %l = nn.log %z : tensor<3xf32>
  check.expect_eq %l, %w : tensor<3xf32>
  func.return
}

func.func @reciprocal() {
  %x = nn.constant dense<[4.0, 0.0, -0.0]> : tensor<3xf32>
  %r = nn.reciprocal %x : tensor<3xf32>
  %y = nn.constant dense<[0.25, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  check.expect_eq %r, %y : tensor<3xf32>
  func.return
}

func.func @angles() {
  %x = nn.constant dense<[0.0, 0.523598776, 1.57079633]> : tensor<3xf32>
  %r = nn.sin %x : tensor<3xf32>
  %y = nn.constant dense<[0.0, 0.5, 1.0]> : tensor<3xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  %x1 = nn.constant dense<[0.0, 1.04719755, 3.14159265]> : tensor<3xf32>
  %r1 = nn.cos %x1 : tensor<3xf32>
  %y1 = nn.constant dense<[1.0, 0.5, -1.0]> : tensor<3xf32>
  check.expect_close %r1, %y1 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  %x2 = nn.constant dense<[0.0, 0.785398163, -0.785398163]> : tensor<3xf32>
  %r2 = nn.tan %x2 : tensor<3xf32>
  %y2 = nn.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
  check.expect_close %r2, %y2 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  func.return
}

func.func @arcs() {
  %x = nn.constant dense<[0.5, 1.0, 1.5]> : tensor<3xf32>
  %r = nn.asin %x : tensor<3xf32>
  %y = nn.constant dense<[0.523598776, 1.57079633, 0x7FC00000]> : tensor<3xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  %x1 = nn.constant dense<[0.5, -1.0, 1.5]> : tensor<3xf32>
  %r1 = nn.acos %x1 : tensor<3xf32>
  %y1 = nn.constant dense<[1.04719755, 3.14159265, 0x7FC00000]> : tensor<3xf32>
  check.expect_close %r1, %y1 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  %x2 = nn.constant dense<[1.0, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  %r2 = nn.atan %x2 : tensor<3xf32>
  %y2 = nn.constant dense<[0.785398163, 1.57079633, -1.57079633]> : tensor<3xf32>
  check.expect_close %r2, %y2 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<3xf32>
  func.return
}

// At ln 2, where e^x is 2 and e^-x is a half.
func.func @hyperbolic() {
  %x = nn.constant dense<[0.0, 0.693147181]> : tensor<2xf32>
  %r = nn.sinh %x : tensor<2xf32>
  %y = nn.constant dense<[0.0, 0.75]> : tensor<2xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<2xf32>
  %x1 = nn.constant dense<[0.0, 0.693147181]> : tensor<2xf32>
  %r1 = nn.cosh %x1 : tensor<2xf32>
  %y1 = nn.constant dense<[1.0, 1.25]> : tensor<2xf32>
  check.expect_close %r1, %y1 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<2xf32>
  func.return
}

func.func @inverse_hyperbolic() {
  %x = nn.constant dense<[0.0, 0.75]> : tensor<2xf32>
  %r = nn.asinh %x : tensor<2xf32>
  %y = nn.constant dense<[0.0, 0.693147181]> : tensor<2xf32>
  check.expect_close %r, %y {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<2xf32>
  %x1 = nn.constant dense<[1.25, 0.5]> : tensor<2xf32>
  %r1 = nn.acosh %x1 : tensor<2xf32>
  %y1 = nn.constant dense<[0.693147181, 0x7FC00000]> : tensor<2xf32>
  check.expect_close %r1, %y1 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<2xf32>
  %x2 = nn.constant dense<[0.6, 1.0]> : tensor<2xf32>
  %r2 = nn.atanh %x2 : tensor<2xf32>
  %y2 = nn.constant dense<[0.693147181, 0x7F800000]> : tensor<2xf32>
  check.expect_close %r2, %y2 {relative = 1.0e-6 : f64, absolute = 0.0 : f64} : tensor<2xf32>
  func.return
}

// Values of the error function from Abramowitz and Stegun, table 7.1.
func.func @erf() {
  %x = nn.constant dense<[0.0, 0.25, 1.0, -2.0, 5.0, 0xFF800000, 0x7FC00000]> : tensor<7xf32>
  %r = nn.erf %x : tensor<7xf32>
  %y = nn.constant dense<[0.0, 0.276326390, 0.842700793, -0.995322265, 1.0, -1.0, 0x7FC00000]> : tensor<7xf32>
  check.expect_close %r, %y {relative = 1.2e-7 : f64, absolute = 0.0 : f64} : tensor<7xf32>
  func.return
}

// Integers are divided towards zero, and wrap around.
func.func @integer_division() {
  %a = nn.constant dense<[7, -7, 7, -7, -128]> : tensor<5xi8>
  %b = nn.constant dense<[2, 2, -2, -2, -1]> : tensor<5xi8>
  %r = nn.div %a, %b : tensor<5xi8>
  %y = nn.constant dense<[3, -3, -3, 3, -128]> : tensor<5xi8>
  check.expect_eq %r, %y : tensor<5xi8>
  func.return
}

func.func @division_of_large_integers() {
  %a = nn.constant dense<[-9223372036854775808, -9223372036854775808, 9223372036854775807]> : tensor<3xi64>
  %b = nn.constant dense<[2, 3, -1]> : tensor<3xi64>
  %r = nn.div %a, %b : tensor<3xi64>
  %y = nn.constant dense<[-4611686018427387904, -3074457345618258602, -9223372036854775807]> : tensor<3xi64>
  check.expect_eq %r, %y : tensor<3xi64>
  func.return
}

func.func @unsigned_division() {
  %a = nn.constant dense<[18446744073709551615, 7]> : tensor<2xui64>
  %b = nn.constant dense<[2, 8]> : tensor<2xui64>
  %r = nn.div %a, %b : tensor<2xui64>
  %y = nn.constant dense<[9223372036854775807, 0]> : tensor<2xui64>
  check.expect_eq %r, %y : tensor<2xui64>
  func.return
}

func.func @float_division() {
  %a = nn.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf32>
  %b = nn.constant dense<[0.0, 0.0, 0.0]> : tensor<3xf32>
  %r = nn.div %a, %b : tensor<3xf32>
  %y = nn.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  check.expect_eq %r, %y : tensor<3xf32>
  func.return
}

func.func @wrapping() {
  %a = nn.constant dense<[127, -128, 100]> : tensor<3xi8>
  %b = nn.constant dense<[1, -1, 100]> : tensor<3xi8>
  %r = nn.add %a, %b : tensor<3xi8>
  %y = nn.constant dense<[-128, 127, -56]> : tensor<3xi8>
  check.expect_eq %r, %y : tensor<3xi8>
  func.return
}

func.func @wrapping_in_less_than_a_byte() {
  %a = nn.constant dense<[7, -8, 3]> : tensor<3xi4>
  %b = nn.constant dense<[7, -1, 2]> : tensor<3xi4>
  %r = nn.mul %a, %b : tensor<3xi4>
  %y = nn.constant dense<[1, -8, 6]> : tensor<3xi4>
  check.expect_eq %r, %y : tensor<3xi4>
  func.return
}

// f16 has 11 bits: the half-way case goes to the even one.
func.func @short_floats() {
  %a = nn.constant dense<[2048.0, 1.0]> : tensor<2xf16>
  %b = nn.constant dense<[1.0, 0.0009765625]> : tensor<2xf16>
  %r = nn.add %a, %b : tensor<2xf16>
  %y = nn.constant dense<[2048.0, 1.0009765625]> : tensor<2xf16>
  check.expect_eq %r, %y : tensor<2xf16>
  func.return
}

func.func @negation() {
  %x = nn.constant dense<[-128, 5]> : tensor<2xi8>
  %r = nn.neg %x : tensor<2xi8>
  %y = nn.constant dense<[-128, -5]> : tensor<2xi8>
  check.expect_eq %r, %y : tensor<2xi8>
  %x1 = nn.constant dense<[-8, 5]> : tensor<2xi4>
  %r1 = nn.abs %x1 : tensor<2xi4>
  %y1 = nn.constant dense<[-8, 5]> : tensor<2xi4>
  check.expect_eq %r1, %y1 : tensor<2xi4>
  func.return
}

// The remainder has the sign of the divisor, with `fmod` that of the dividend.
func.func @floored_remainder() {
  %a = nn.constant dense<[-4, 7, 5, 4, -7, 8]> : tensor<6xi32>
  %b = nn.constant dense<[2, -3, 8, -2, 3, 5]> : tensor<6xi32>
  %r = nn.mod %a, %b : tensor<6xi32>
  %y = nn.constant dense<[0, -2, 5, 0, 2, 3]> : tensor<6xi32>
  check.expect_eq %r, %y : tensor<6xi32>
  func.return
}

func.func @truncated_remainder() {
  %a = nn.constant dense<[-4, 7, 5, 4, -7, 8]> : tensor<6xi32>
  %b = nn.constant dense<[2, -3, 8, -2, 3, 5]> : tensor<6xi32>
  %r = nn.mod %a, %b {fmod = true} : tensor<6xi32>
  %y = nn.constant dense<[0, 1, 5, 0, -1, 3]> : tensor<6xi32>
  check.expect_eq %r, %y : tensor<6xi32>
  func.return
}

func.func @float_remainders() {
  %a = nn.constant dense<[-4.5, 5.0, 5.0, 0x7F800000, 1.0]> : tensor<5xf32>
  %b = nn.constant dense<[2.0, -3.0, 0xFF800000, 2.0, 0.0]> : tensor<5xf32>
  %r = nn.mod %a, %b : tensor<5xf32>
  %y = nn.constant dense<[1.5, -1.0, 0xFF800000, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>
  check.expect_eq %r, %y : tensor<5xf32>
  %a1 = nn.constant dense<[-4.5, 5.0, 5.0, 0x7F800000, 1.0]> : tensor<5xf32>
  %b1 = nn.constant dense<[2.0, -3.0, 0xFF800000, 2.0, 0.0]> : tensor<5xf32>
  %r1 = nn.mod %a1, %b1 {fmod = true} : tensor<5xf32>
  %y1 = nn.constant dense<[-0.5, 2.0, 5.0, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>
  check.expect_eq %r1, %y1 : tensor<5xf32>
  func.return
}

// `1 / 2^1` is 0 of integers.
func.func @integer_powers() {
  %a = nn.constant dense<[3, -2, 2, 2, -1, -1, 1]> : tensor<7xi32>
  %b = nn.constant dense<[4, 3, 31, -1, -3, -4, -7]> : tensor<7xi32>
  %r = nn.pow %a, %b : tensor<7xi32>
  %y = nn.constant dense<[81, -8, -2147483648, 0, -1, 1, 1]> : tensor<7xi32>
  check.expect_eq %r, %y : tensor<7xi32>
  func.return
}

func.func @float_powers() {
  %a = nn.constant dense<[4.0, 0.0, -8.0, 0x7FC00000, 2.0]> : tensor<5xf32>
  %b = nn.constant dense<[0.5, 0.0, 0.5, 0.0, -1.0]> : tensor<5xf32>
  %r = nn.pow %a, %b : tensor<5xf32>
  %y = nn.constant dense<[2.0, 1.0, 0x7FC00000, 1.0, 0.5]> : tensor<5xf32>
  check.expect_eq %r, %y : tensor<5xf32>
  func.return
}

func.func @nan_wins() {
  %a = nn.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %b = nn.constant dense<[0x7FC00000, 2.0, 4.0]> : tensor<3xf32>
  %r = nn.max %a, %b : tensor<3xf32>
  %y = nn.constant dense<[0x7FC00000, 0x7FC00000, 4.0]> : tensor<3xf32>
  check.expect_eq %r, %y : tensor<3xf32>
  %a1 = nn.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %b1 = nn.constant dense<[0x7FC00000, 2.0, 4.0]> : tensor<3xf32>
  %r1 = nn.min %a1, %b1 : tensor<3xf32>
  %y1 = nn.constant dense<[0x7FC00000, 0x7FC00000, 3.0]> : tensor<3xf32>
  check.expect_eq %r1, %y1 : tensor<3xf32>
  func.return
}

// Where the bounds are crossed, the maximum holds.
func.func @clip() {
  %x = nn.constant dense<[-1.0, 3.0, 7.0, 0x7FC00000]> : tensor<4xf32>
  %r = nn.clip %x {minimum = 0.0, maximum = 6.0} : tensor<4xf32>
  %y = nn.constant dense<[0.0, 3.0, 6.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_eq %r, %y : tensor<4xf32>
  %x1 = nn.constant dense<[-1.0, 3.0, 7.0]> : tensor<3xf32>
  %r1 = nn.clip %x1 {minimum = 4.0, maximum = 2.0} : tensor<3xf32>
  %y1 = nn.constant dense<[2.0, 2.0, 2.0]> : tensor<3xf32>
  check.expect_eq %r1, %y1 : tensor<3xf32>
  func.return
}

func.func @clip_integers() {
  %x = nn.constant dense<[-128, 3, 127]> : tensor<3xi8>
  %r = nn.clip %x {minimum = -1.5, maximum = 1000.0} : tensor<3xi8>
  %y = nn.constant dense<[-1, 3, 127]> : tensor<3xi8>
  check.expect_eq %r, %y : tensor<3xi8>
  func.return
}

func.func @broadcasting() {
  %a = nn.constant dense<[[1], [2]]> : tensor<2x1xi16>
  %b = nn.constant dense<[10, 20, 30]> : tensor<3xi16>
  %r = nn.sub %a, %b : (tensor<2x1xi16>, tensor<3xi16>) -> tensor<2x3xi16>
  %y = nn.constant dense<[[-9, -19, -29], [-8, -18, -28]]> : tensor<2x3xi16>
  check.expect_eq %r, %y : tensor<2x3xi16>
  func.return
}

func.func @scalars_and_empty() {
  %a = nn.constant dense<2.5> : tensor<f32>
  %b = nn.constant dense<0.5> : tensor<f32>
  %r = nn.add %a, %b : tensor<f32>
  %y = nn.constant dense<3.0> : tensor<f32>
  check.expect_eq %r, %y : tensor<f32>
  %x1 = nn.constant dense<> : tensor<0x3xf32>
  %r1 = nn.erf %x1 : tensor<0x3xf32>
  %y1 = nn.constant dense<> : tensor<0x3xf32>
  check.expect_eq %r1, %y1 : tensor<0x3xf32>
  %x2 = nn.constant dense<> : tensor<0xi8>
  %r2 = nn.mod %x2, %x2 : tensor<0xi8>
  %y2 = nn.constant dense<> : tensor<0xi8>
  check.expect_eq %r2, %y2 : tensor<0xi8>
  func.return
}

func.func @comparisons() {
  %a = nn.constant dense<[1.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  %b = nn.constant dense<[1.0, 0x7FC00000, -0.0]> : tensor<3xf32>
  %r = nn.equal %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %y = nn.constant dense<[true, false, true]> : tensor<3xi1>
  check.expect_eq %r, %y : tensor<3xi1>
  %a1 = nn.constant dense<[255, 0]> : tensor<2xui8>
  %b1 = nn.constant dense<[1, 0]> : tensor<2xui8>
  %r1 = nn.less_or_equal %a1, %b1 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  %y1 = nn.constant dense<[false, true]> : tensor<2xi1>
  check.expect_eq %r1, %y1 : tensor<2xi1>
  %a2 = nn.constant dense<[true, false]> : tensor<2xi1>
  %b2 = nn.constant dense<[true, true]> : tensor<2xi1>
  %r2 = nn.equal %a2, %b2 : tensor<2xi1>
  %y2 = nn.constant dense<[true, false]> : tensor<2xi1>
  check.expect_eq %r2, %y2 : tensor<2xi1>
  func.return
}

func.func @where() {
  %c = nn.constant dense<[[true], [false]]> : tensor<2x1xi1>
  %a = nn.constant dense<[1, 2]> : tensor<2xi64>
  %b = nn.constant dense<-1> : tensor<i64>
  %r = nn.where %c, %a, %b : (tensor<2x1xi1>, tensor<2xi64>, tensor<i64>) -> tensor<2x2xi64>
  %y = nn.constant dense<[[1, 2], [-1, -1]]> : tensor<2x2xi64>
  check.expect_eq %r, %y : tensor<2x2xi64>
  func.return
}

// Truncated towards zero; what does not fit loses its higher bits, NaN and infinity give 0.
func.func @float_to_integer() {
  %x = nn.constant dense<[2.9, -2.9, 200.0, -129.0, 0x7FC00000, 0x7F800000]> : tensor<6xf32>
  %r = nn.cast %x : (tensor<6xf32>) -> tensor<6xi8>
  %y = nn.constant dense<[2, -2, -56, 127, 0, 0]> : tensor<6xi8>
  check.expect_eq %r, %y : tensor<6xi8>
  %x1 = nn.constant dense<[-9.0, 8.0, 3.7]> : tensor<3xf32>
  %r1 = nn.cast %x1 : (tensor<3xf32>) -> tensor<3xi4>
  %y1 = nn.constant dense<[7, -8, 3]> : tensor<3xi4>
  check.expect_eq %r1, %y1 : tensor<3xi4>
  %x2 = nn.constant dense<[-1.0, 18446742974197923840.0]> : tensor<2xf32>
  %r2 = nn.cast %x2 : (tensor<2xf32>) -> tensor<2xui64>
  %y2 = nn.constant dense<[18446744073709551615, 18446742974197923840]> : tensor<2xui64>
  check.expect_eq %r2, %y2 : tensor<2xui64>
  func.return
}

// 200 is 0xC8, 40 is 0x28.
func.func @integer_to_integer() {
  %x = nn.constant dense<[200, -1, 40]> : tensor<3xi16>
  %r = nn.cast %x : (tensor<3xi16>) -> tensor<3xi8>
  %y = nn.constant dense<[-56, -1, 40]> : tensor<3xi8>
  check.expect_eq %r, %y : tensor<3xi8>
  %x1 = nn.constant dense<[200, -1, 40]> : tensor<3xi16>
  %r1 = nn.cast %x1 : (tensor<3xi16>) -> tensor<3xui4>
  %y1 = nn.constant dense<[8, 15, 8]> : tensor<3xui4>
  check.expect_eq %r1, %y1 : tensor<3xui4>
  func.return
}

// Half-way cases go to the even one: f16 has 11 bits and ends at 65504, bf16 has 8.
func.func @to_shorter_floats() {
  %x = nn.constant dense<[2049.0, 2051.0, 65520.0, 65519.0]> : tensor<4xf32>
  %r = nn.cast %x : (tensor<4xf32>) -> tensor<4xf16>
  %y = nn.constant dense<[2048.0, 2052.0, 0x7C00, 65504.0]> : tensor<4xf16>
  check.expect_eq %r, %y : tensor<4xf16>
  %x1 = nn.constant dense<[257.0, 259.0, -1.0]> : tensor<3xf32>
  %r1 = nn.cast %x1 : (tensor<3xf32>) -> tensor<3xbf16>
  %y1 = nn.constant dense<[256.0, 260.0, -1.0]> : tensor<3xbf16>
  check.expect_eq %r1, %y1 : tensor<3xbf16>
  func.return
}

func.func @to_boolean() {
  %x = nn.constant dense<[0.0, -0.0, 0.1, 0x7FC00000]> : tensor<4xf32>
  %r = nn.cast %x : (tensor<4xf32>) -> tensor<4xi1>
  %y = nn.constant dense<[false, false, true, true]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  %x1 = nn.constant dense<[true, false]> : tensor<2xi1>
  %r1 = nn.cast %x1 : (tensor<2xi1>) -> tensor<2xf64>
  %y1 = nn.constant dense<[1.0, 0.0]> : tensor<2xf64>
  check.expect_eq %r1, %y1 : tensor<2xf64>
  func.return
}

// ONNX Cast to floats of 8 bits: to the nearest, 0.53125 to the even mantissa; beyond the range saturated, or infinity.
func.func @small_floats() {
  %x = nn.constant dense<[0.53125, 500.0, 1.0e9, -1.0e9]> : tensor<4xf32>
  %r = nn.cast %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %e = nn.constant dense<[0.5, 448.0, 448.0, -448.0]> : tensor<4xf8E4M3FN>
  check.expect_eq %r, %e : tensor<4xf8E4M3FN>
  %r1 = nn.cast %x {saturate = false} : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %b1 = nn.bit_cast %r1 : (tensor<4xf8E5M2>) -> tensor<4xi8>
  %c1 = nn.constant dense<[56, 96, 124, -4]> : tensor<4xi8>
  check.expect_eq %b1, %c1 : tensor<4xi8>
  %r2 = nn.cast %x : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  %e2 = nn.constant dense<[0.5, 6.0, 6.0, -6.0]> : tensor<4xf4E2M1FN>
  check.expect_eq %r2, %e2 : tensor<4xf4E2M1FN>
  %r3 = nn.cast %e2 : (tensor<4xf4E2M1FN>) -> tensor<4xf16>
  %e3 = nn.constant dense<[0.5, 6.0, 6.0, -6.0]> : tensor<4xf16>
  check.expect_eq %r3, %e3 : tensor<4xf16>
  %y = nn.constant dense<[1.0, 3.0, 2.5]> : tensor<3xf32>
  %r4 = nn.cast %y : (tensor<3xf32>) -> tensor<3xf8E8M0FNU>
  %e4 = nn.constant dense<[1.0, 4.0, 4.0]> : tensor<3xf8E8M0FNU>
  check.expect_eq %r4, %e4 : tensor<3xf8E8M0FNU>
  %r5 = nn.cast %y {round_mode = "nearest"} : (tensor<3xf32>) -> tensor<3xf8E8M0FNU>
  %e5 = nn.constant dense<[1.0, 4.0, 2.0]> : tensor<3xf8E8M0FNU>
  check.expect_eq %r5, %e5 : tensor<3xf8E8M0FNU>
  func.return
}

func.func @bits() {
  %x = nn.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %r = nn.bit_cast %x : (tensor<2xf32>) -> tensor<2xi32>
  %y = nn.constant dense<[1065353216, -1073741824]> : tensor<2xi32>
  check.expect_eq %r, %y : tensor<2xi32>
  %x1 = nn.constant dense<[15, 7]> : tensor<2xui4>
  %r1 = nn.bit_cast %x1 : (tensor<2xui4>) -> tensor<2xi4>
  %y1 = nn.constant dense<[-1, 7]> : tensor<2xi4>
  check.expect_eq %r1, %y1 : tensor<2xi4>
  func.return
}
