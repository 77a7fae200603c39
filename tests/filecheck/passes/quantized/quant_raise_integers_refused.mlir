// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-raise-integers

// Each row has its own multiplier: no weights have such scales.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @rows(%x: tensor<2x2x!x>) -> tensor<2x2xui8> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: its multipliers are along axis 0, but channels are along axis 1}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %2 = nn.cast %1 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9 : tensor<2x2xui8>
}

// -----

// A matrix of multipliers.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @matrix(%x: tensor<2x2x!x>) -> tensor<2x2xui8> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: its multipliers must be one number, or one for each channel}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<[[0.5, 0.25], [0.125, 1.0]]> : tensor<2x2xf32>
  %2 = nn.cast %1 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9 : tensor<2x2xui8>
}

// -----

// A scale is positive.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @negative(%x: tensor<2x2x!x>) -> tensor<2x2xui8> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: its multipliers must be positive and finite}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<-0.5> : tensor<f32>
  %2 = nn.cast %1 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9 : tensor<2x2xui8>
}

// -----

// The sums are an output too.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @users(%x: tensor<2x2x!x>) -> (tensor<2x2xui8>, tensor<2x2xi32>) {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: several operations read its sums}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<0.5> : tensor<f32>
  %2 = nn.cast %1 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9, %1 : tensor<2x2xui8>, tensor<2x2xi32>
}

// -----

// The sums are changed before they are rounded.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @changed(%x: tensor<2x2x!x>) -> tensor<2x2xui8> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: 'nn.abs' op (abs) computes the integers in a way that is not supported}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<0.5> : tensor<f32>
  %8 = nn.abs %1 : tensor<2x2xi32> {origin = "abs"}
  %2 = nn.cast %8 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9 : tensor<2x2xui8>
}

// -----

// A bias of 2^31 - 1 leaves no room for sums: 32 bits would wrap.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @wraps(%x: tensor<2x2x!x>) -> tensor<2x2xui8> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  // expected-remark @+1 {{'nn.matmul' op (fc) is not raised to a quantized operation: the sums of 'nn.matmul' op (fc) may exceed 32 bits}}
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum> {origin = "fc"}
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %m = nn.constant dense<0.5> : tensor<f32>
  %b = nn.constant dense<2147483647> : tensor<2xi32>
  %8 = nn.add %1, %b : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  %2 = nn.cast %8 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %m : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.round %3 : tensor<2x2xf32>
  %5 = nn.clip %4 {minimum = 0.0, maximum = 255.0} : tensor<2x2xf32>
  %9 = nn.cast %5 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  func.return %9 : tensor<2x2xui8>
}

// -----

// Scales that are known at run time only are no fault, and stay silent. So do bytes of other arithmetic.
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
!sum = !quant.uniform<i32:f32, 1.0>
func.func @dynamic(%x: tensor<2x2x!x>, %s: tensor<f32>, %c: tensor<2xui8>) -> (tensor<2x2xf32>, tensor<2xui8>) {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %low = nn.constant dense<0> : tensor<i32>
  %high = nn.constant dense<100> : tensor<i32>
  %0 = nn.matmul %x, %w : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!sum>
  %1 = quant.scast %0 : tensor<2x2x!sum> to tensor<2x2xi32>
  %2 = nn.cast %1 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = nn.mul %2, %s : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = nn.cast %c : (tensor<2xui8>) -> tensor<2xi32>
  %5 = nn.max %4, %low : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %6 = nn.min %5, %high : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %7 = nn.cast %6 : (tensor<2xi32>) -> tensor<2xui8>
  func.return %3, %7 : tensor<2x2xf32>, tensor<2xui8>
}
