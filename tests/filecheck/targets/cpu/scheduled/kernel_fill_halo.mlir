// RUN: qmlir-opt %s -p kernel-fill-halo | filecheck %s

func.func @padded(%x: tensor<2x3xi8>, %v: i8) -> tensor<4x5xi8> {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  func.return %2 : tensor<4x5xi8>
}

// Somebody else reads all of the fill.
func.func @read(%x: tensor<2x3xi8>, %v: i8) -> (tensor<4x5xi8>, tensor<4x5xi8>) {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  func.return %1, %2 : tensor<4x5xi8>, tensor<4x5xi8>
}

// A slice with gaps, one whose place is not known, and one with nothing in it.
func.func @others(%x: tensor<2x3xi8>, %v: i8, %i: index, %none: tensor<0x5xi8>)
    -> (tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>) {
  %0 = tensor.empty() : tensor<4x5xi8>
  %1 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %2 = tensor.insert_slice %x into %1[0, 0] [2, 3] [2, 2] : tensor<2x3xi8> into tensor<4x5xi8>
  %3 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %4 = tensor.insert_slice %x into %3[%i, 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
  %5 = linalg.fill ins(%v : i8) outs(%0 : tensor<4x5xi8>) -> tensor<4x5xi8>
  %6 = tensor.insert_slice %none into %5[0, 0] [0, 5] [1, 1] : tensor<0x5xi8> into tensor<4x5xi8>
  func.return %2, %4, %6 : tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>
}

// What gets a border is read there by the addition, too, whose result gets the same border in its place.
func.func @residual(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> {
  %z = arith.constant 3 : i8
  %z2 = arith.constant 3 : i8
  %e = tensor.empty() : tensor<1x4x4x2xi8>
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  %f = linalg.fill ins(%z : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %1 = tensor.insert_slice %0 into %f[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %2 = kernel.packed_conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue(%0 : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %r: i8):
    %t = arith.trunci %sum : i32 to i8
    %u = arith.addi %t, %r : i8
    kernel.yield %u : i8
  }
  %g = linalg.fill ins(%z2 : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %3 = tensor.insert_slice %2 into %g[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %4 = kernel.packed_conv ins(%3, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  func.return %4 : tensor<1x2x2x2xi8>
}

// Another border is another tensor; the addition reads there nevertheless.
func.func @other_border(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> {
  %z = arith.constant 3 : i8
  %z2 = arith.constant 4 : i8
  %e = tensor.empty() : tensor<1x4x4x2xi8>
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  %f = linalg.fill ins(%z : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %1 = tensor.insert_slice %0 into %f[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %2 = kernel.packed_conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue(%0 : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %r: i8):
    %t = arith.trunci %sum : i32 to i8
    %u = arith.addi %t, %r : i8
    kernel.yield %u : i8
  }
  %g = linalg.fill ins(%z2 : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %3 = tensor.insert_slice %2 into %g[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %4 = kernel.packed_conv ins(%3, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  func.return %4 : tensor<1x2x2x2xi8>
}

// What somebody reads later keeps its place.
func.func @read_later(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x3x1x6x2xi8>) -> (tensor<1x4x4x2xi8>, tensor<1x2x2x2xi8>) {
  %z = arith.constant 3 : i8
  %z2 = arith.constant 3 : i8
  %e = tensor.empty() : tensor<1x4x4x2xi8>
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  %f = linalg.fill ins(%z : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %1 = tensor.insert_slice %0 into %f[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %2 = kernel.packed_conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue(%0 : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %r: i8):
    %t = arith.trunci %sum : i32 to i8
    %u = arith.addi %t, %r : i8
    kernel.yield %u : i8
  }
  %g = linalg.fill ins(%z2 : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %3 = tensor.insert_slice %2 into %g[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %4 = kernel.packed_conv ins(%3, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  func.return %1, %4 : tensor<1x4x4x2xi8>, tensor<1x2x2x2xi8>
}

// What not only convolutions by windows read is read where it was.
func.func @elsewhere(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x3x1x6x2xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>) {
  %z = arith.constant 3 : i8
  %z2 = arith.constant 3 : i8
  %e = tensor.empty() : tensor<1x4x4x2xi8>
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  %f = linalg.fill ins(%z : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %1 = tensor.insert_slice %0 into %f[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %2 = kernel.packed_conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue(%0 : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %r: i8):
    %t = arith.trunci %sum : i32 to i8
    %u = arith.addi %t, %r : i8
    kernel.yield %u : i8
  }
  %g = linalg.fill ins(%z2 : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %3 = tensor.insert_slice %2 into %g[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %4 = kernel.packed_conv ins(%3, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  func.return %4, %0 : tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>
}

// The caller's memory is no place for what loops may read past its end.
func.func @given(%x: tensor<1x4x4x2xi8>, %w: tensor<1x1x3x1x6x2xi8>) -> tensor<1x4x4x2xi8> {
  %z = arith.constant 3 : i8
  %z2 = arith.constant 3 : i8
  %e = tensor.empty() : tensor<1x4x4x2xi8>
  %0 = kernel.packed_conv ins(%x, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = []} {
  ^bb0(%sum: i32):
    %t = arith.trunci %sum : i32 to i8
    kernel.yield %t : i8
  }
  %f = linalg.fill ins(%z : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %1 = tensor.insert_slice %0 into %f[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  %2 = kernel.packed_conv ins(%1, %w : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue(%0 : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
  ^bb0(%sum: i32, %r: i8):
    %t = arith.trunci %sum : i32 to i8
    %u = arith.addi %t, %r : i8
    kernel.yield %u : i8
  }
  %g = linalg.fill ins(%z2 : i8) outs(%e : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
  %3 = tensor.insert_slice %2 into %g[0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
  func.return %3 : tensor<1x4x4x2xi8>
}

// CHECK: #k0 = #kernel.layout<variant = "splat_bytes", vectors = 1, lanes = 2>
// CHECK-LABEL: @padded(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8) -> tensor<4x5xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 1, 2>, array<i64: 2, 3>]} ins([[V1]] : i8) outs([[V2]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.insert_slice [[V0]] into [[V3]][1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<4x5xi8>
// CHECK-LABEL: @read(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8) -> (tensor<4x5xi8>, tensor<4x5xi8>)
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.insert_slice [[V0]] into [[V3]][1, 2] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<4x5xi8>, tensor<4x5xi8>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xi8>, [[V1:%.+]]: i8, [[V2:%.+]]: index, [[V3:%.+]]: tensor<0x5xi8>) -> (tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>)
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x5xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.insert_slice [[V0]] into [[V5]][0, 0] [2, 3] [2, 2] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.insert_slice [[V0]] into [[V7]][[[V2]], 0] [2, 3] [1, 1] : tensor<2x3xi8> into tensor<4x5xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V4]] : tensor<4x5xi8>) -> tensor<4x5xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.insert_slice [[V3]] into [[V9]][0, 0] [0, 5] [1, 1] : tensor<0x5xi8> into tensor<4x5xi8>
// CHECK-NEXT: func.return [[V6]], [[V8]], [[V10]] : tensor<4x5xi8>, tensor<4x5xi8>, tensor<4x5xi8>
// CHECK-LABEL: @residual(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>, [[V1:%.+]]: tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V4:%.+]] = kernel.packed_conv ins([[V0]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.trunci [[V5]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V6]] : i8
// CHECK: [[V7:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V2]] : i8) outs([[V3]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.insert_slice [[V4]] into [[V7]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.extract_slice [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> to tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V10:%.+]] = kernel.packed_conv ins([[V8]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue([[V9]] : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.trunci [[V11]] : i32 to i8
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V13]], [[V12]] : i8
// CHECK-NEXT: kernel.yield [[V14]] : i8
// CHECK: [[V15:%.+]] = tensor.insert_slice [[V10]] into [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V16:%.+]] = kernel.packed_conv ins([[V15]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i32):
// CHECK-NEXT: [[V18:%.+]] = arith.trunci [[V17]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V18]] : i8
// CHECK: func.return [[V16]] : tensor<1x2x2x2xi8>
// CHECK-LABEL: @other_border(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>, [[V1:%.+]]: tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 4 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.packed_conv ins([[V0]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V6]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V2]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.insert_slice [[V5]] into [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.extract_slice [[V9]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> to tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V11:%.+]] = kernel.packed_conv ins([[V9]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue([[V10]] : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = arith.trunci [[V12]] : i32 to i8
// CHECK-NEXT: [[V15:%.+]] = arith.addi [[V14]], [[V13]] : i8
// CHECK-NEXT: kernel.yield [[V15]] : i8
// CHECK: [[V16:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V3]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V17:%.+]] = tensor.insert_slice [[V11]] into [[V16]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V18:%.+]] = kernel.packed_conv ins([[V17]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i32):
// CHECK-NEXT: [[V20:%.+]] = arith.trunci [[V19]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V20]] : i8
// CHECK: func.return [[V18]] : tensor<1x2x2x2xi8>
// CHECK-LABEL: @read_later(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>, [[V1:%.+]]: tensor<1x1x3x1x6x2xi8>) -> (tensor<1x4x4x2xi8>, tensor<1x2x2x2xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.packed_conv ins([[V0]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V6]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V2]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.insert_slice [[V5]] into [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.extract_slice [[V9]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> to tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V11:%.+]] = kernel.packed_conv ins([[V9]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue([[V10]] : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = arith.trunci [[V12]] : i32 to i8
// CHECK-NEXT: [[V15:%.+]] = arith.addi [[V14]], [[V13]] : i8
// CHECK-NEXT: kernel.yield [[V15]] : i8
// CHECK: [[V16:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V3]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V17:%.+]] = tensor.insert_slice [[V11]] into [[V16]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V18:%.+]] = kernel.packed_conv ins([[V17]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i32):
// CHECK-NEXT: [[V20:%.+]] = arith.trunci [[V19]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V20]] : i8
// CHECK: func.return [[V9]], [[V18]] : tensor<1x4x4x2xi8>, tensor<1x2x2x2xi8>
// CHECK-LABEL: @elsewhere(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>, [[V1:%.+]]: tensor<1x1x3x1x6x2xi8>) -> (tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.packed_conv ins([[V0]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V6]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V2]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.insert_slice [[V5]] into [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V10:%.+]] = kernel.packed_conv ins([[V9]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue([[V5]] : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.trunci [[V11]] : i32 to i8
// CHECK-NEXT: [[V14:%.+]] = arith.addi [[V13]], [[V12]] : i8
// CHECK-NEXT: kernel.yield [[V14]] : i8
// CHECK: [[V15:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V3]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V16:%.+]] = tensor.insert_slice [[V10]] into [[V15]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V17:%.+]] = kernel.packed_conv ins([[V16]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i32):
// CHECK-NEXT: [[V19:%.+]] = arith.trunci [[V18]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V19]] : i8
// CHECK: func.return [[V17]], [[V5]] : tensor<1x2x2x2xi8>, tensor<1x2x2x2xi8>
// CHECK-LABEL: @given(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>, [[V1:%.+]]: tensor<1x1x3x1x6x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.packed_conv ins([[V0]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V6]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V2]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V9:%.+]] = tensor.insert_slice [[V5]] into [[V8]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.extract_slice [[V9]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x4x4x2xi8> to tensor<1x2x2x2xi8>
// CHECK-NEXT: [[V11:%.+]] = kernel.packed_conv ins([[V9]], [[V1]] : tensor<1x4x4x2xi8>, tensor<1x1x3x1x6x2xi8>) epilogue([[V10]] : tensor<1x2x2x2xi8>) -> tensor<1x2x2x2xi8> attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k0, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = arith.trunci [[V12]] : i32 to i8
// CHECK-NEXT: [[V15:%.+]] = arith.addi [[V14]], [[V13]] : i8
// CHECK-NEXT: kernel.yield [[V15]] : i8
// CHECK: [[V16:%.+]] = linalg.fill {kernel.overwritten = [array<i64: 0, 1, 1, 0>, array<i64: 1, 2, 2, 2>]} ins([[V3]] : i8) outs([[V4]] : tensor<1x4x4x2xi8>) -> tensor<1x4x4x2xi8>
// CHECK-NEXT: [[V17:%.+]] = tensor.insert_slice [[V11]] into [[V16]][0, 1, 1, 0] [1, 2, 2, 2] [1, 1, 1, 1] : tensor<1x2x2x2xi8> into tensor<1x4x4x2xi8>
// CHECK-NEXT: func.return [[V17]] : tensor<1x4x4x2xi8>
