// RUN: qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" blocks=2}' 2>&1 | filecheck %s
// One layer is no block.
// RUN: qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" blocks=1}' 2>&1 | filecheck %s --check-prefix=ONE
// ONE-NOT: of its block
// RUN: not qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" blocks=-1}' 2>&1 | filecheck %s --check-prefix=INVALID
// INVALID: error: 'func.func' op blocks must be >= 0 (0 rounds layer by layer), but got -1
// RUN: not qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" weighted}' 2>&1 | filecheck %s --check-prefix=LAYERS
// LAYERS: error: 'func.func' op 'weighted' requires blocks >= 2, but got blocks=0
// RUN: not qmlir-opt %s --split-input-file -p 'quant-adaround{data="%S/Inputs/alike.npy" blocks=2 weighted}' 2>&1 | filecheck %s --check-prefix=FLOATS
// FLOATS: error: 'func.func' op 'weighted' requires the float program, whose gradients it uses

// Two layers of a chain are a block.
// CHECK: remark: 'nn.matmul' op (one) weights of its block are rounded to minimize the error of the block's output
// CHECK: remark: 'nn.matmul' op (two) weights of its block are rounded to minimize the error of the block's output
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
!h = !quant.uniform<i8:f32, 0.125>
!t = !quant.uniform<i32:f32, 0.0625>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> tensor<?x1xf32> {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "one"}
  %3 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
  %4 = quant.qcast %3 : tensor<?x1xf32> to tensor<?x1x!h>
  %v = nn.constant dense<[[1.2]]> : tensor<1x1xf32> {nn.trainable}
  %5 = quant.qcast %v : tensor<1x1xf32> to tensor<1x1x!w>
  %6 = nn.matmul %4, %5 {transpose_b = true} : (tensor<?x1x!h>, tensor<1x1x!w>) -> tensor<?x1x!t> {origin = "two"}
  %7 = quant.dcast %6 : tensor<?x1x!t> to tensor<?x1xf32>
  func.return %7 : tensor<?x1xf32>
}

// -----

// What flows by is in no block.
// CHECK-NOT: (three)
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i4:f32, 0.5>
!s = !quant.uniform<i32:f32, 0.125>
func.func @main(%x: tensor<?x2xf32> {nn.name = "x"}) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %0 = quant.qcast %x : tensor<?x2xf32> to tensor<?x2x!x>
  %w = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
  %1 = quant.qcast %w : tensor<1x2xf32> to tensor<1x2x!w>
  %2 = nn.matmul %0, %1 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "three"}
  %v = nn.constant dense<[[0.7, 0.6]]> : tensor<1x2xf32> {nn.trainable}
  %3 = quant.qcast %v : tensor<1x2xf32> to tensor<1x2x!w>
  %4 = nn.matmul %0, %3 {transpose_b = true} : (tensor<?x2x!x>, tensor<1x2x!w>) -> tensor<?x1x!s> {origin = "four"}
  %5 = quant.dcast %2 : tensor<?x1x!s> to tensor<?x1xf32>
  %6 = quant.dcast %4 : tensor<?x1x!s> to tensor<?x1xf32>
  func.return %5, %6 : tensor<?x1xf32>, tensor<?x1xf32>
}
