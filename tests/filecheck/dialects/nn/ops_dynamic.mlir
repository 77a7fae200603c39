// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

func.func @dynamic(%x: tensor<2x?xf32>, %s: tensor<5x1x3xf32>, %w: tensor<1x8x3x!quant.uniform<i8:f32, 0.1>>, %r: tensor<1x8x2x!quant.uniform<u8:f32, 0.2:128>>, %b: tensor<1x16xf32>) {
  %q, %scale, %zero = nn.dynamic_quantize %x : (tensor<2x?xf32>) -> (tensor<2x?xui8>, tensor<f32>, tensor<ui8>)
  %rows, %scales, %points = nn.dynamic_quantize %x {axes = [-1]} : (tensor<2x?xf32>) -> (tensor<2x?xui8>, tensor<2x1xf32>, tensor<2x1xui8>)
  %columns, %of_each, %middle = nn.dynamic_quantize %x {axes = [0], scheme = "symmetric", storage = "i8"} : (tensor<2x?xf32>) -> (tensor<2x?xi8>, tensor<1x?xf32>, tensor<i8>)
  %h, %last, %cell = nn.dynamic_lstm %s, %w, %r, %b {hidden_size = 2, clip = 3.0 : f32} : (tensor<5x1x3xf32>, tensor<1x8x3x!quant.uniform<i8:f32, 0.1>>, tensor<1x8x2x!quant.uniform<u8:f32, 0.2:128>>, tensor<1x16xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 2.000000e-01:128>
// CHECK-LABEL: @dynamic(
// CHECK-SAME: [[V0:%.+]]: tensor<2x?xf32>, [[V1:%.+]]: tensor<5x1x3xf32>, [[V2:%.+]]: tensor<1x8x3x!q0>, [[V3:%.+]]: tensor<1x8x2x!q1>, [[V4:%.+]]: tensor<1x16xf32>)
// CHECK-NEXT: [[V5:%.+]], [[V6:%.+]], [[V7:%.+]] = nn.dynamic_quantize [[V0]] : (tensor<2x?xf32>) -> (tensor<2x?xui8>, tensor<f32>, tensor<ui8>)
// CHECK-NEXT: [[V8:%.+]], [[V9:%.+]], [[V10:%.+]] = nn.dynamic_quantize [[V0]] {axes = [-1]} : (tensor<2x?xf32>) -> (tensor<2x?xui8>, tensor<2x1xf32>, tensor<2x1xui8>)
// CHECK-NEXT: [[V11:%.+]], [[V12:%.+]], [[V13:%.+]] = nn.dynamic_quantize [[V0]] {axes = [0], scheme = "symmetric", storage = "i8"} : (tensor<2x?xf32>) -> (tensor<2x?xi8>, tensor<1x?xf32>, tensor<i8>)
// CHECK-NEXT: [[V14:%.+]], [[V15:%.+]], [[V16:%.+]] = nn.dynamic_lstm [[V1]], [[V2]], [[V3]], [[V4]] {hidden_size = 2, clip = 3.0} : (tensor<5x1x3xf32>, tensor<1x8x3x!q0>, tensor<1x8x2x!q1>, tensor<1x16xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
// CHECK-NEXT: func.return
