// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-bufferize

func.func @dynamic(%x: tensor<?xi8>) -> tensor<?xi8> {
  // expected-error @-1 {{'func.func' op @dynamic must have static shapes, but got tensor<?xi8>}}
  func.return %x : tensor<?xi8>
}
// -----
func.func @unranked(%x: tensor<*xi8>) -> tensor<*xi8> {
  // expected-error @-1 {{'func.func' op @unranked must have static shapes, but got tensor<*xi8>}}
  func.return %x : tensor<*xi8>
}
// -----
func.func private @declared(tensor<4xi8>) -> tensor<4xi8>
// expected-error @-1 {{'func.func' op @declared has no body}}
// -----
func.func @no_form(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op (act) cannot be bufferized: expected an operation in destination-passing style}}
  %0 = nn.relu %x : tensor<4xf32> {origin = "act"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @body(%x: tensor<4xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%p: i8, %old: i8):
    // expected-error @+1 {{'tensor.extract_slice' op is not allowed in the body of a structured operation; only tensor.extract is}}
    %s = tensor.extract_slice %x[0] [1] [1] : tensor<4xi8> to tensor<1xi8>
    linalg.yield %p : i8
  } -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
