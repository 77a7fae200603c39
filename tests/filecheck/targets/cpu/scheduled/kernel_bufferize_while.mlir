// RUN: qmlir-opt %s -p 'kernel-bufferize' | filecheck %s

// What a loop with a condition carries has memory of its own: a step leaves it there for the next one. What is exchanged
// goes through memory that is kept apart.
// CHECK-LABEL: @until(
// CHECK-SAME: [[V0:%.+]]: memref<4xf32> {nn.name = "x"}, [[V1:%.+]]: memref<4xf32> {nn.name = "y"}, [[V2:%.+]]: memref<1xf32> {nn.name = "limit"}, [[V3:%.+]]: memref<4xf32> {nn.result, nn.name = "z"})
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : memref<4xf32>) outs([[V3]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V5]] : f32
// CHECK: [[V7:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]] : memref<4xf32>) outs([[V7]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: f32, [[V9:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK: [[V10:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT: [[V11:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT: scf.while () : () -> () {
// CHECK-NEXT: [[V12:%.+]] = memref.load [[V3]][[[V4]]] : memref<4xf32>
// CHECK-NEXT: [[V13:%.+]] = memref.load [[V2]][[[V4]]] : memref<1xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.cmpf olt, [[V12]], [[V13]] : f32
// CHECK-NEXT: scf.condition([[V14]])
// CHECK-NEXT: } do {
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V3]], [[V7]] : memref<4xf32>, memref<4xf32>) outs([[V10]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V15:%.+]]: f32, [[V16:%.+]]: f32, [[V17:%.+]]: f32):
// CHECK-NEXT: [[V18:%.+]] = arith.addf [[V15]], [[V16]] : f32
// CHECK-NEXT: linalg.yield [[V18]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V7]] : memref<4xf32>) outs([[V11]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: f32, [[V20:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V19]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]] : memref<4xf32>) outs([[V3]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V21:%.+]]: f32, [[V22:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V10]] : memref<4xf32>) outs([[V7]] : memref<4xf32>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: f32, [[V24:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V23]] : f32
// CHECK: scf.yield
// CHECK: func.return
func.func @until(%x: tensor<4xf32> {nn.name = "x"}, %y: tensor<4xf32> {nn.name = "y"}, %limit: tensor<1xf32> {nn.name = "limit"}) -> (tensor<4xf32> {nn.name = "z"}) {
  %zero = arith.constant 0 : index
  %0, %1 = scf.while (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %first = tensor.extract %a[%zero] : tensor<4xf32>
    %most = tensor.extract %limit[%zero] : tensor<1xf32>
    %goes = arith.cmpf olt, %first, %most : f32
    scf.condition(%goes) %a, %b : tensor<4xf32>, tensor<4xf32>
  } do {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %empty = tensor.empty() : tensor<4xf32>
    %sum = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]
    } ins(%c, %d : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
    ^bb0(%one: f32, %two: f32, %old: f32):
      %3 = arith.addf %one, %two : f32
      linalg.yield %3 : f32
    } -> tensor<4xf32>
    scf.yield %d, %sum : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
