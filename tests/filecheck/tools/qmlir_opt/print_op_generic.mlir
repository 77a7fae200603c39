// RUN: qmlir-opt %s --print-op-generic | filecheck %s
// CHECK: "nn.relu"(%{{.+}}) {origin = "relu1"} : (tensor<2xf32>) -> tensor<2xf32>

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
