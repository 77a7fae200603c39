// RUN: qmlir-opt %s -p calib-insert-observers | filecheck %s
// Observers are not observed: twice is as good as once.
// RUN: qmlir-opt %s -p calib-insert-observers,calib-insert-observers | filecheck %s
// RUN: qmlir-opt %s -p 'calib-insert-observers{constants axis=-1}' | filecheck %s --check-prefix=AXIS
// RUN: qmlir-opt %s --load-plugin tests.support.observers -p 'calib-insert-observers{observers=norms}' | filecheck %s --check-prefix=OBSERVERS
// RUN: not qmlir-opt %s -p 'calib-insert-observers{observers=norms}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// OBSERVERS: calib.observe {{%.+}} "input:x" with ["norms"] : tensor<2x3xf32>
// UNKNOWN: error: unknown observer 'norms' (available: none)
// RUN: qmlir-opt %s -p calib-insert-observers,dce,canonicalize,cse | grep -c calib.observe | filecheck %s --check-prefix=KEPT

// KEPT: 14

// CHECK-LABEL: @main(
// CHECK-SAME: [[X:%.+]]: tensor<2x3xf32> {nn.name = "x"}, [[H:%.+]]: tensor<?x3xf16>, [[I:%.+]]: tensor<2xi64>
// CHECK-NEXT: [[OX:%.+]] = calib.observe [[X]] "input:x" : tensor<2x3xf32>
// CHECK-NEXT: [[OH:%.+]] = calib.observe [[H]] "input1" : tensor<?x3xf16>
// CHECK-NEXT: [[W:%.+]] = nn.constant {{.*}} {origin = "w"}
// CHECK-NEXT: [[V0:%.+]] = nn.add [[OX]], [[W]] : tensor<2x3xf32> {origin = "x", role = "bias_add"}
// CHECK-NEXT: [[V1:%.+]] = calib.observe [[V0]] "x/bias_add" : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]] : tensor<2x3xf32> {origin = ["a", "b"], role = ["", "gate"]}
// CHECK-NEXT: [[V3:%.+]] = calib.observe [[V2]] "a+b/gate" : tensor<2x3xf32>
// Results have numbers, an argument gives way to an operation of its name; both steps of one role share a key.
// CHECK-NEXT: [[V4:%.+]], [[V5:%.+]] = nn.split [[V3]] :
// CHECK-NEXT: [[V6:%.+]] = calib.observe [[V4]] "x" : tensor<1x3xf32>
// CHECK-NEXT: [[V7:%.+]] = calib.observe [[V5]] "x#1" : tensor<1x3xf32>
// CHECK-NEXT: [[V8:%.+]] = nn.tanh [[V6]]
// CHECK-NEXT: [[V9:%.+]] = calib.observe [[V8]] "lstm/step/tanh" : tensor<1x3xf32>
// CHECK-NEXT: [[V10:%.+]] = nn.tanh [[V7]]
// CHECK-NEXT: [[V11:%.+]] = calib.observe [[V10]] "lstm/step/tanh" : tensor<1x3xf32>
// Without provenance: the kind and its number. Several kinds of one node: the last gives what the node gives.
// CHECK-NEXT: [[V12:%.+]] = nn.neg [[V11]]
// CHECK-NEXT: [[V13:%.+]] = calib.observe [[V12]] "nn.neg[0]" : tensor<1x3xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.neg [[V13]]
// CHECK-NEXT: [[V15:%.+]] = calib.observe [[V14]] "nn.neg[1]" : tensor<1x3xf32>
// CHECK-NEXT: [[V16:%.+]] = nn.mul [[V15]], [[V15]]
// CHECK-NEXT: [[V17:%.+]] = calib.observe [[V16]] "node:nn.mul" : tensor<1x3xf32>
// CHECK-NEXT: [[V18:%.+]] = nn.sqrt [[V17]]
// CHECK-NEXT: [[V19:%.+]] = calib.observe [[V18]] "node" : tensor<1x3xf32>
// CHECK-NEXT: [[V20:%.+]] = nn.shape [[V19]]
// CHECK-NEXT: [[V21:%.+]] = func.call @helper([[V19]])
// CHECK-NEXT: func.return [[V21]], [[V20]]
// CHECK-LABEL: func.func @helper(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3xf32>
// CHECK-NEXT: [[V1:%.+]] = calib.observe [[V0]] "@helper/input0" : tensor<1x3xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V1]]
// CHECK-NEXT: [[V3:%.+]] = calib.observe [[V2]] "@helper/nn.relu[0]" : tensor<1x3xf32>

// AXIS: calib.observe {{.*}} "input:x" axis 1 : i64
// AXIS: calib.observe {{.*}} "w" axis 1 : i64
func.func @main(%x: tensor<2x3xf32> {nn.name = "x"}, %h: tensor<?x3xf16>, %i: tensor<2xi64>) -> (tensor<1x3xf32>, tensor<2xi64>) {
  %w = nn.constant dense<0.5> : tensor<2x3xf32> {origin = "w"}
  %0 = nn.add %x, %w : tensor<2x3xf32> {origin = "x", role = "bias_add"}
  %1 = nn.relu %0 : tensor<2x3xf32> {origin = ["a", "b"], role = ["", "gate"]}
  %2, %3 = nn.split %1 {axis = 0} : (tensor<2x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {origin = "x"}
  %4 = nn.tanh %2 : tensor<1x3xf32> {origin = "lstm", role = "step/tanh"}
  %5 = nn.tanh %3 : tensor<1x3xf32> {origin = "lstm", role = "step/tanh"}
  %6 = nn.neg %5 : tensor<1x3xf32>
  %7 = nn.neg %6 : tensor<1x3xf32>
  %8 = nn.mul %7, %7 : tensor<1x3xf32> {origin = "node"}
  %9 = nn.sqrt %8 : tensor<1x3xf32> {origin = "node"}
  %10 = nn.shape %9 : (tensor<1x3xf32>) -> tensor<2xi64>
  %11 = func.call @helper(%9) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %11, %10 : tensor<1x3xf32>, tensor<2xi64>
}

func.func @helper(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %0 = nn.relu %x : tensor<1x3xf32>
  func.return %0 : tensor<1x3xf32>
}
