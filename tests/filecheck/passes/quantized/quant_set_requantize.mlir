// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=shift ties=away}' | filecheck %s --check-prefix=SHIFT
// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=double_round}' | filecheck %s --check-prefix=DOUBLE
// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=shift},quant-set-requantize{mode=f32}' | filecheck %s --check-prefix=F32
// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=single_round},nn-decompose' | filecheck %s --check-prefix=PARTS
// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=single_round}' | filecheck %s --check-prefix=IMPORTED
// RUN: not qmlir-opt %s -p 'quant-set-requantize{mode=single_round ties=up}' 2>&1 | filecheck %s --check-prefix=TIES
// RUN: not qmlir-opt %s -p 'quant-set-requantize{mode=round}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// TIES: ties require mode shift, but got mode single_round
// UNKNOWN: error: in the pass pipeline: column 22: option 'mode' of pass 'quant-set-requantize' must be one of f32, single_round, double_round, shift, litert_reference, litert_xnnpack, but got round

// SHIFT: [[MODE:#.+]] = #kernel.requantize<shift, away>
// DOUBLE: [[MODE:#.+]] = #kernel.requantize<double_round>
// PARTS: [[MODE:#.+]] = #kernel.requantize<single_round>

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!a = !quant.uniform<i32:f32, 0.125>
!b = !quant.uniform<u8:f32, 0.03:7>
!k = !quant.uniform<i4:f32:{0:1, 1:2}, {{0.5, 0.25}, {0.5, 0.5}}>

// What rescales exact integers is set; what moves or compares them, computes in floats or has blocks of scales is not.
func.func @main(%x: tensor<2x4x!x>, %w: tensor<2x4x!w>, %k: tensor<2x4x!k>, %c: tensor<2x!a>) -> (tensor<2x2x!x>, tensor<2x2x!x>, tensor<2x4x!x>) {
  // SHIFT: nn.fully_connected {{.*}}{components = {matmul = {{.*}}}, requantize = [[MODE]]}
  // DOUBLE: nn.fully_connected {{.*}}requantize = [[MODE]]}
  // F32-NOT: requantize
  // PARTS: nn.matmul {{.*}}{transpose_b = true, requantize = [[MODE]]}
  // PARTS: nn.add {{.*}}{requantize = [[MODE]]}
  %0 = nn.fully_connected %x, %w, %c {components = {matmul = !a}} : (tensor<2x4x!x>, tensor<2x4x!w>, tensor<2x!a>) -> tensor<2x2x!x> {origin = "fc"}
  // SHIFT: nn.matmul {{.*}}{transpose_b = true} :
  %1 = nn.matmul %x, %k {transpose_b = true} : (tensor<2x4x!x>, tensor<2x4x!k>) -> tensor<2x2x!x>
  // SHIFT: nn.add {{.*}}{requantize = [[MODE]]}
  %2 = nn.add %x, %w : (tensor<2x4x!x>, tensor<2x4x!w>) -> tensor<2x4x!x>
  // SHIFT: nn.sigmoid {{%.+}} : (
  %3 = nn.sigmoid %2 : (tensor<2x4x!x>) -> tensor<2x4x!b>
  // SHIFT: nn.transpose {{%.+}} {permutation = [1, 0]} :
  %4 = nn.transpose %3 {permutation = [1, 0]} : (tensor<2x4x!b>) -> tensor<4x2x!b>
  func.return %0, %1, %2 : tensor<2x2x!x>, tensor<2x2x!x>, tensor<2x4x!x>
}

// The arithmetic of an imported model goes; an operation that has no exact integers then computes through floats.
// F32-LABEL: @imported
// IMPORTED-LABEL: @imported
func.func @imported(%x: tensor<2x!x>) -> tensor<2x!x> {
  // F32: nn.add {{%.+}}, {{%.+}} :
  // IMPORTED: nn.add {{.*}}{requantize = {{.*}}}
  %0 = nn.add %x, %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!x>
  // F32: nn.sigmoid {{%.+}} :
  // IMPORTED: nn.sigmoid {{%.+}} :
  %1 = nn.sigmoid %0 {requantize = #kernel.requantize<qlinear>} : tensor<2x!x>
  func.return %1 : tensor<2x!x>
}
