// RUN: qmlir-opt %s --load-plugin qmlir_fxp.plugin --split-input-file --verify-diagnostics

func.func @f(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // expected-error@+1 {{takes and gives tensors of signless integers, found tensor<1x2x4x4xf32>}}
  %0 = fxp.limit %x {minimum = 0 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %0 : tensor<1x2x4x4xf32>
}

// -----

func.func @f(%x: tensor<1x2x4x4xi8>, %w: tensor<3x1x3x3xi4>) -> tensor<1x3x2x2xi24> {
  // expected-error@+1 {{weights [3, 1, 3, 3] in 1 groups do not go with data [1, 2, 4, 4]}}
  %0 = fxp.correlate %x, %w : (tensor<1x2x4x4xi8>, tensor<3x1x3x3xi4>) -> tensor<1x3x2x2xi24>
  func.return %0 : tensor<1x3x2x2xi24>
}

// -----

func.func @f(%x: tensor<1x2x4xi16>) -> tensor<1x2x4xi8> {
  // expected-error@+1 {{places are one number or one for each channel of [1, 2, 4]}}
  %0 = fxp.shift %x {places = array<i64: 1, 2, 3>} : (tensor<1x2x4xi16>) -> tensor<1x2x4xi8>
  func.return %0 : tensor<1x2x4xi8>
}

// -----

func.func @f(%x: tensor<1x2x4xi16>) -> tensor<1x2x4xi8> {
  // expected-error@+1 {{ties are even, up, away, found 'down'}}
  %0 = fxp.shift %x {places = array<i64: 1>, ties = "down"} : (tensor<1x2x4xi16>) -> tensor<1x2x4xi8>
  func.return %0 : tensor<1x2x4xi8>
}

// -----

func.func @f(%x: tensor<1x2x4xi32>, %b: tensor<3xi16>) -> tensor<1x2x4xi32> {
  // expected-error@+1 {{the bias has one number for each channel of [1, 2, 4], found [3]}}
  %0 = fxp.add_bias %x, %b : (tensor<1x2x4xi32>, tensor<3xi16>) -> tensor<1x2x4xi32>
  func.return %0 : tensor<1x2x4xi32>
}

// -----

func.func @f(%x: tensor<4xi16>) -> tensor<4xi8> {
  // expected-error@+1 {{keeps the width of its input, found tensor<4xi16> and tensor<4xi8>}}
  %0 = fxp.limit %x {minimum = 0 : i64} : (tensor<4xi16>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// -----

func.func @f(%x: tensor<4xi16>) -> tensor<5xi8> {
  // expected-error@+1 {{result has type tensor<5xi8>, the operands give the shape (4,)}}
  %0 = fxp.shift %x {places = array<i64: 8>} : (tensor<4xi16>) -> tensor<5xi8>
  func.return %0 : tensor<5xi8>
}
