// RUN: qmlir run %s

// What booleans, bits and questions give, by hand.

func.func @and() {
  %a = nn.constant dense<[true, true, false, false]> : tensor<4xi1>
  %b = nn.constant dense<[true, false, true, false]> : tensor<4xi1>
  %r = nn.and %a, %b : tensor<4xi1>
  %y = nn.constant dense<[true, false, false, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @or() {
  %a = nn.constant dense<[true, true, false, false]> : tensor<4xi1>
  %b = nn.constant dense<[true, false, true, false]> : tensor<4xi1>
  %r = nn.or %a, %b : tensor<4xi1>
  %y = nn.constant dense<[true, true, true, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @xor() {
  %a = nn.constant dense<[true, true, false, false]> : tensor<4xi1>
  %b = nn.constant dense<[true, false, true, false]> : tensor<4xi1>
  %r = nn.xor %a, %b : tensor<4xi1>
  %y = nn.constant dense<[false, true, true, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @not() {
  %x = nn.constant dense<[true, false, true, false]> : tensor<4xi1>
  %r = nn.not %x : tensor<4xi1>
  %y = nn.constant dense<[false, true, false, true]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @bitwise() {
  %a = nn.constant dense<[12, -1]> : tensor<2xi8>
  %b = nn.constant dense<[10, 7]> : tensor<2xi8>
  %r = nn.bitwise_and %a, %b : tensor<2xi8>
  %y = nn.constant dense<[8, 7]> : tensor<2xi8>
  check.expect_eq %r, %y : tensor<2xi8>
  %a1 = nn.constant dense<[12, -128]> : tensor<2xi8>
  %b1 = nn.constant dense<[10, 7]> : tensor<2xi8>
  %r1 = nn.bitwise_or %a1, %b1 : tensor<2xi8>
  %y1 = nn.constant dense<[14, -121]> : tensor<2xi8>
  check.expect_eq %r1, %y1 : tensor<2xi8>
  %a2 = nn.constant dense<[12, 255]> : tensor<2xui8>
  %b2 = nn.constant dense<[10, 7]> : tensor<2xui8>
  %r2 = nn.bitwise_xor %a2, %b2 : tensor<2xui8>
  %y2 = nn.constant dense<[6, 248]> : tensor<2xui8>
  check.expect_eq %r2, %y2 : tensor<2xui8>
  func.return
}

func.func @bitwise_not() {
  %x = nn.constant dense<[0, 7]> : tensor<2xui4>
  %r = nn.bitwise_not %x : tensor<2xui4>
  %y = nn.constant dense<[15, 8]> : tensor<2xui4>
  check.expect_eq %r, %y : tensor<2xui4>
  %x1 = nn.constant dense<[0, -128]> : tensor<2xi8>
  %r1 = nn.bitwise_not %x1 : tensor<2xi8>
  %y1 = nn.constant dense<[-1, 127]> : tensor<2xi8>
  check.expect_eq %r1, %y1 : tensor<2xi8>
  func.return
}

// Bits go past the sign; by the width or more, or by less than nothing, all go.
func.func @shift_left() {
  %a = nn.constant dense<[1, 64, -1, 5, 5]> : tensor<5xi8>
  %b = nn.constant dense<[3, 1, 7, 8, -1]> : tensor<5xi8>
  %r = nn.bit_shift %a, %b {direction = "left"} : tensor<5xi8>
  %y = nn.constant dense<[8, -128, -128, 0, 0]> : tensor<5xi8>
  check.expect_eq %r, %y : tensor<5xi8>
  func.return
}

func.func @shift_right() {
  %a = nn.constant dense<[-128, 100, -3, 5, -5]> : tensor<5xi8>
  %b = nn.constant dense<[3, 2, 8, 8, -1]> : tensor<5xi8>
  %r = nn.bit_shift %a, %b {direction = "right"} : tensor<5xi8>
  %y = nn.constant dense<[-16, 25, -1, 0, -1]> : tensor<5xi8>
  check.expect_eq %r, %y : tensor<5xi8>
  %a1 = nn.constant dense<[128, 255, 255]> : tensor<3xui8>
  %b1 = nn.constant dense<[7, 8, 64]> : tensor<3xui8>
  %r1 = nn.bit_shift %a1, %b1 {direction = "right"} : tensor<3xui8>
  %y1 = nn.constant dense<[1, 0, 0]> : tensor<3xui8>
  check.expect_eq %r1, %y1 : tensor<3xui8>
  func.return
}

func.func @narrow_shift() {
  %a = nn.constant dense<[7, 1]> : tensor<2xi4>
  %b = nn.constant dense<[1, 4]> : tensor<2xi4>
  %r = nn.bit_shift %a, %b {direction = "left"} : tensor<2xi4>
  %y = nn.constant dense<[-2, 0]> : tensor<2xi4>
  check.expect_eq %r, %y : tensor<2xi4>
  func.return
}

func.func @is_nan() {
  %x = nn.constant dense<[0x7FC00000, 0x7F800000, 0.0]> : tensor<3xf32>
  %r = nn.is_nan %x : (tensor<3xf32>) -> tensor<3xi1>
  %y = nn.constant dense<[true, false, false]> : tensor<3xi1>
  check.expect_eq %r, %y : tensor<3xi1>
  %x1 = nn.constant dense<[0x7FC0, 1.0]> : tensor<2xbf16>
  %r1 = nn.is_nan %x1 : (tensor<2xbf16>) -> tensor<2xi1>
  %y1 = nn.constant dense<[true, false]> : tensor<2xi1>
  check.expect_eq %r1, %y1 : tensor<2xi1>
  func.return
}

func.func @is_inf() {
  %x = nn.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, 1.0]> : tensor<4xf32>
  %r = nn.is_inf %x : (tensor<4xf32>) -> tensor<4xi1>
  %y = nn.constant dense<[false, true, true, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @is_positive_infinity() {
  %x = nn.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, 1.0]> : tensor<4xf32>
  %r = nn.is_inf %x {detect_negative = false} : (tensor<4xf32>) -> tensor<4xi1>
  %y = nn.constant dense<[false, true, false, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @is_negative_infinity() {
  %x = nn.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, 1.0]> : tensor<4xf32>
  %r = nn.is_inf %x {detect_positive = false} : (tensor<4xf32>) -> tensor<4xi1>
  %y = nn.constant dense<[false, false, true, false]> : tensor<4xi1>
  check.expect_eq %r, %y : tensor<4xi1>
  func.return
}

func.func @scalars_and_empty() {
  %x = nn.constant dense<true> : tensor<i1>
  %r = nn.not %x : tensor<i1>
  %y = nn.constant dense<false> : tensor<i1>
  check.expect_eq %r, %y : tensor<i1>
  %x1 = nn.constant dense<> : tensor<0xf16>
  %r1 = nn.is_inf %x1 : (tensor<0xf16>) -> tensor<0xi1>
  %y1 = nn.constant dense<> : tensor<0xi1>
  check.expect_eq %r1, %y1 : tensor<0xi1>
  func.return
}
