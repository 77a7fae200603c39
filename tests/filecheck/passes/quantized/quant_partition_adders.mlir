// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-partition

// An adder of 16 bits takes a product whose partial sums it is proven to hold: 36 products of 7 with a byte reach from
// 36 * 7 * -128 to 36 * 7 * 127, and 37 of them go beyond it. A bias counts from there; that of a layer, too.
!x = !quant.uniform<i8:f32, 1.0>
!w = !quant.uniform<i4:f32, 1.0>
!a = !quant.uniform<i16:f32, 1.0>
!b = !quant.uniform<i16:f32, 2.0>
builtin.module attributes {target.specs = [#target.spec<"mac", supports = [{op = "nn.matmul", adder = i16},
    {op = "nn.add", adder = i16}, {op = "nn.fully_connected", adder = i16}]>]} {
  func.func @main(%x: tensor<1x36x!x>, %y: tensor<1x37x!x>) -> (tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!a>) {
    %w = nn.constant dense<7> : tensor<1x36xi4> -> tensor<1x36x!w>
    %v = nn.constant dense<7> : tensor<1x37xi4> -> tensor<1x37x!w>
    %few = nn.constant dense<763> : tensor<1xi16> -> tensor<1x!a>
    %many = nn.constant dense<764> : tensor<1xi16> -> tensor<1x!a>
    %other = nn.constant dense<1> : tensor<1xi16> -> tensor<1x!b>
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x36x!x>, tensor<1x36x!w>) -> tensor<1x1x!a> {origin = "held"}
    // expected-remark@+1 {{stays on the host: target 'mac' does not support it: sums in [-33152, 32893], which overflow its i16 adder}}
    %1 = nn.matmul %y, %v {transpose_b = true} : (tensor<1x37x!x>, tensor<1x37x!w>) -> tensor<1x1x!a> {origin = "beyond"}
    %2 = nn.add %0, %few : (tensor<1x1x!a>, tensor<1x!a>) -> tensor<1x1x!x> {origin = "biased"}
    // expected-remark@+1 {{does not support it: sums in [-31492, 32768], which overflow its i16 adder}}
    %3 = nn.add %0, %many : (tensor<1x1x!a>, tensor<1x!a>) -> tensor<1x1x!x> {origin = "biased_beyond"}
    // expected-remark@+1 {{does not support it: sums without a bound (its i16 adder needs integers of one scale and a static number of terms)}}
    %4 = nn.add %0, %other : (tensor<1x1x!a>, tensor<1x!b>) -> tensor<1x1x!x> {origin = "scales"}
    %5 = nn.fully_connected %x, %w, %few : (tensor<1x36x!x>, tensor<1x36x!w>, tensor<1x!a>) -> tensor<1x1x!x> {origin = "whole"}
    // expected-remark@+1 {{does not support it: sums in [-32256, 32768], which overflow its i16 adder}}
    %6 = nn.fully_connected %x, %w, %many : (tensor<1x36x!x>, tensor<1x36x!w>, tensor<1x!a>) -> tensor<1x1x!x> {origin = "whole_beyond"}
    func.return %2, %3, %4, %5, %6, %1 : tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!x>, tensor<1x1x!a>
  }
}
// -----
// Weights that are not known may be anything that their storage holds.
!x = !quant.uniform<u8:f32, 1.0:128>
!w = !quant.uniform<i4<-7:7>:f32, 1.0>
!a = !quant.uniform<i32:f32, 1.0>
builtin.module attributes {target.specs = [#target.spec<"mac", supports = [{op = "nn.matmul", adder = i16}]>]} {
  func.func @main(%x: tensor<1x37x!x>, %w: tensor<1x37x!w>, %v: tensor<1x?x!w>, %z: tensor<1x?x!x>) -> (tensor<1x1x!a>, tensor<1x1x!a>) {
    // expected-remark@+1 {{does not support it: sums in [-37592, 37888], which overflow its i16 adder}}
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x37x!x>, tensor<1x37x!w>) -> tensor<1x1x!a> {origin = "any"}
    // expected-remark@+1 {{stays on the host: target 'mac' does not support it: sums without a bound (its i16 adder needs integers of one scale and a static number of terms)}}
    %1 = nn.matmul %z, %v {transpose_b = true} : (tensor<1x?x!x>, tensor<1x?x!w>) -> tensor<1x1x!a> {origin = "open"}
    func.return %0, %1 : tensor<1x1x!a>, tensor<1x1x!a>
  }
}
// -----
// An adder of 24 bits: 516 products of 127 with a byte reach to -128 * 127 * 516, 517 of them beyond -2^23.
!x = !quant.uniform<i8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!a = !quant.uniform<i32:f32, 1.0>
builtin.module attributes {target.specs = [#target.spec<"mac", supports = [{op = "nn.matmul", adder = i24}]>]} {
  func.func @main(%x: tensor<1x516x!x>, %y: tensor<1x517x!x>) -> (tensor<1x1x!a>, tensor<1x1x!a>) {
    %w = nn.constant dense<127> : tensor<516x1xi8> -> tensor<516x1x!w>
    %v = nn.constant dense<127> : tensor<517x1xi8> -> tensor<517x1x!w>
    %0 = nn.matmul %x, %w : (tensor<1x516x!x>, tensor<516x1x!w>) -> tensor<1x1x!a> {origin = "held"}
    // expected-remark@+1 {{stays on the host: target 'mac' does not support it: sums in [-8404352, 8338693], which overflow its i24 adder}}
    %1 = nn.matmul %y, %v : (tensor<1x517x!x>, tensor<517x1x!w>) -> tensor<1x1x!a> {origin = "beyond"}
    func.return %0, %1 : tensor<1x1x!a>, tensor<1x1x!a>
  }
}
