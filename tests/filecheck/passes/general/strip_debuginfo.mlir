// RUN: qmlir-opt %s -p strip-debuginfo --print-debuginfo | filecheck %s
// RUN: qmlir-opt %s -p 'strip-debuginfo{provenance}' | filecheck %s --check-prefix=ALL

// ALL: builtin.module {{{$}}
builtin.module attributes {nn.annotations = {nodes = {relu1 = {doc = "limits"}}}} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    // ALL: nn.relu {{%.+}} : tensor<2xf32>{{$}}
    %0 = nn.relu %x : tensor<2xf32> {origin = "relu1", op_type = "Relu", module = "layers.0"} loc("model.onnx":3:4)
    func.return %0 : tensor<2xf32>
  }
}

// CHECK: nn.annotations = {nodes = {relu1 = {doc = "limits"
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32> loc(unknown)) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = "relu1", op_type = "Relu", module = "layers.0"} loc(unknown)
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32> loc(unknown)
// CHECK-NEXT: } loc(unknown)
// CHECK-NEXT: } loc(unknown)
