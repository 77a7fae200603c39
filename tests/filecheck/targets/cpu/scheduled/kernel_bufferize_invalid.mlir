// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-bufferize

func.func @dynamic(%x: tensor<?xi8>) -> tensor<?xi8> {
  // expected-error @-1 {{'func.func' op @dynamic takes or gives tensor<?xi8>: memory is planned for known shapes}}
  func.return %x : tensor<?xi8>
}
// -----
func.func private @declared(tensor<4xi8>) -> tensor<4xi8>
// expected-error @-1 {{'func.func' op @declared has no body}}
// -----
func.func @no_form(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op (act) has no form on memory: accepted are operations in destination style}}
  %0 = nn.relu %x : tensor<4xf32> {origin = "act"}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @body(%x: tensor<4xi8>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%p: i8, %old: i8):
    // expected-error @+1 {{'tensor.extract_slice' op stands in the body of a structured operation: only tensor.extract may}}
    %s = tensor.extract_slice %x[0] [1] [1] : tensor<4xi8> to tensor<1xi8>
    linalg.yield %p : i8
  } -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
