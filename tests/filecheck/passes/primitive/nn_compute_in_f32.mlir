// RUN: qmlir-opt %s -p nn-compute-in-f32 | filecheck %s
// RUN: qmlir-opt %s -p nn-compute-in-f32,nn-compute-in-f32 | filecheck %s

// CHECK-LABEL: func.func @half
func.func @half(%x: tensor<1x2xf16>, %shape: tensor<2xi64>) -> (tensor<1x2xf16>, tensor<2xi64>) {
  // CHECK-SAME: tensor<1x2xf16>
  // CHECK-NEXT: [[X:%.+]] = nn.cast {{%.+}} : (tensor<1x2xf16>) -> tensor<1x2xf32>
  // CHECK-NEXT: [[W:%.+]] = nn.constant dense<[{{\[}}1.000000e+00, -2.000000e+00], [5.000000e-01, 6.550400e+04]]> : tensor<2x2xf32>
  %w = nn.constant dense<[[1.0, -2.0], [0.5, 65504.0]]> : tensor<2x2xf16>
  // CHECK-NEXT: [[Y:%.+]] = nn.matmul [[X]], [[W]] : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %0 = nn.matmul %x, %w : (tensor<1x2xf16>, tensor<2x2xf16>) -> tensor<1x2xf16> {origin = "product"}
  // CHECK-NEXT: [[OUT:%.+]] = nn.cast [[Y]] : (tensor<1x2xf32>) -> tensor<1x2xf16>
  // CHECK-NEXT: func.return [[OUT]], {{%.+}} : tensor<1x2xf16>, tensor<2xi64>
  func.return %0, %shape : tensor<1x2xf16>, tensor<2xi64>
}

// CHECK-LABEL: func.func @mixed
func.func @mixed(%x: tensor<2xf32>, %y: tensor<2xbf16>) -> tensor<2xf32> {
  // CHECK-NEXT: [[IN:%.+]] = nn.cast {{%.+}} : (tensor<2xbf16>) -> tensor<2xf32>
  // CHECK-NEXT: [[SAME:%.+]] = nn.cast {{%.+}} : tensor<2xf32>
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2xbf16>
  // CHECK-NEXT: nn.add [[SAME]], [[IN]] : tensor<2xf32>
  %1 = nn.add %0, %y : tensor<2xbf16>
  %2 = nn.cast %1 : (tensor<2xbf16>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// Beyond the range of f32: its largest numbers, and infinity where the model has it.
// CHECK-LABEL: func.func @double
func.func @double() -> tensor<3xf64> {
  // CHECK-NEXT: nn.constant dense<"0xFFFF7FFF0000807F0000003F"> : tensor<3xf32>
  %0 = nn.constant dense<"0x9C7500883CE437FE000000000000F07F000000000000E03F"> : tensor<3xf64>
  func.return %0 : tensor<3xf64>
}

// An input that is an output, too, is handed on in its own type: its last bit included.
// CHECK-LABEL: func.func @handed_on
func.func @handed_on(%x: tensor<2xf64>, %c: i1) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
  // CHECK-SAME: ([[X:%.+]]: tensor<2xf64>, [[C:%.+]]: i1)
  // CHECK-NEXT: [[IN:%.+]] = nn.cast [[X]] : (tensor<2xf64>) -> tensor<2xf32>
  // CHECK-NEXT: [[R:%.+]] = nn.relu [[IN]] : tensor<2xf32>
  %0 = nn.relu %x : tensor<2xf64>
  // CHECK-NEXT: [[CHOSEN:%.+]] = scf.if [[C]] -> (tensor<2xf64>) {
  %1 = scf.if %c -> (tensor<2xf64>) {
    // CHECK-NEXT: scf.yield [[X]] : tensor<2xf64>
    scf.yield %x : tensor<2xf64>
  } else {
    // CHECK: [[N:%.+]] = nn.neg [[IN]] : tensor<2xf32>
    %2 = nn.neg %x : tensor<2xf64>
    scf.yield %2 : tensor<2xf64>
  }
  // CHECK: [[OUT:%.+]] = nn.cast [[R]] : (tensor<2xf32>) -> tensor<2xf64>
  // CHECK-NEXT: func.return [[OUT]], [[X]], [[CHOSEN]] :
  func.return %0, %x, %1 : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}

// A cast to a quantized type takes what it took: its real numbers are f16.
// CHECK-LABEL: func.func @quantized
func.func @quantized(%x: tensor<2xf16>) -> tensor<2x!quant.uniform<i8:f16, 0.5>> {
  // CHECK: [[R:%.+]] = nn.relu {{%.+}} : tensor<2xf32>
  // CHECK-NEXT: [[BACK:%.+]] = nn.cast [[R]] : (tensor<2xf32>) -> tensor<2xf16>
  // CHECK-NEXT: quant.qcast [[BACK]]
  %0 = nn.relu %x : tensor<2xf16>
  %1 = quant.qcast %0 : tensor<2xf16> to tensor<2x!quant.uniform<i8:f16, 0.5>>
  func.return %1 : tensor<2x!quant.uniform<i8:f16, 0.5>>
}
