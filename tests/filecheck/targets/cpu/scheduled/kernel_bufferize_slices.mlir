// RUN: qmlir-opt %s -p kernel-bufferize | filecheck %s

// What is inserted has memory of its own, and is copied, where the slice will not do.
#id = affine_map<(d0) -> (d0)>

// It is used behind the insertion, when the slice is another.
// CHECK-LABEL: @used_behind(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: linalg.{{.+}} outs([[OWN]] : memref<4xi8>)
func.func @used_behind(%x: tensor<4xi8>) -> (tensor<8xi8>, tensor<4xi8>) {
  %v = arith.constant 7 : i8
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %d = tensor.empty() : tensor<8xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<8xi8>) -> tensor<8xi8>
  %1 = tensor.insert_slice %0 into %f[0] [4] [1] : tensor<4xi8> into tensor<8xi8>
  %2 = tensor.insert %v into %1[%c1] : tensor<8xi8>
  %e2 = tensor.empty() : tensor<4xi8>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xi8>) outs(%e2 : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.muli %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  func.return %2, %3 : tensor<8xi8>, tensor<4xi8>
}

// Nobody knows which slice it is.
// CHECK-LABEL: @somewhere(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: linalg.{{.+}} outs([[OWN]] : memref<4xi8>)
func.func @somewhere(%x: tensor<4xi8>, %i: index) -> tensor<8xi8> {
  %v = arith.constant 7 : i8
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %d = tensor.empty() : tensor<8xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<8xi8>) -> tensor<8xi8>
  %1 = tensor.insert_slice %0 into %f[%i] [4] [1] : tensor<4xi8> into tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// It is read under another shape, too, which a slice does not have.
// CHECK-LABEL: @under_another_shape(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<2x2xi8>
// CHECK-NEXT: linalg.fill {{.+}} outs([[OWN]] : memref<2x2xi8>)
func.func @under_another_shape(%x: tensor<2x2xi8>) -> (tensor<2x6xi8>, tensor<4xi8>) {
  %v = arith.constant 7 : i8
  %e = tensor.empty() : tensor<2x2xi8>
  %0 = linalg.fill ins(%v : i8) outs(%e : tensor<2x2xi8>) -> tensor<2x2xi8>
  %flat = kernel.reshape %0 : tensor<2x2xi8> to tensor<4xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%flat : tensor<4xi8>) outs(%flat : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %d = tensor.empty() : tensor<2x6xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<2x6xi8>) -> tensor<2x6xi8>
  %3 = tensor.insert_slice %0 into %f[0, 1] [2, 2] [1, 1] : tensor<2x2xi8> into tensor<2x6xi8>
  func.return %3, %1 : tensor<2x6xi8>, tensor<4xi8>
}

// It is made outside of the choice that inserts it.
// CHECK-LABEL: @in_a_choice(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: linalg.{{.+}} outs([[OWN]] : memref<4xi8>)
func.func @in_a_choice(%x: tensor<4xi8>, %c: i1) -> tensor<8xi8> {
  %v = arith.constant 7 : i8
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  %r = scf.if %c -> (tensor<8xi8>) {
    %d = tensor.empty() : tensor<8xi8>
    %f = linalg.fill ins(%v : i8) outs(%d : tensor<8xi8>) -> tensor<8xi8>
    %1 = tensor.insert_slice %0 into %f[0] [4] [1] : tensor<4xi8> into tensor<8xi8>
    scf.yield %1 : tensor<8xi8>
  } else {
    %g = tensor.empty() : tensor<8xi8>
    %h = linalg.fill ins(%v : i8) outs(%g : tensor<8xi8>) -> tensor<8xi8>
    scf.yield %h : tensor<8xi8>
  }
  func.return %r : tensor<8xi8>
}

// It is computed from the slice whose place it takes, element by element: it is written over that.
// CHECK-LABEL: @over_its_slice(
// CHECK-SAME: {{%.+}}: memref<4xi8>, [[P:%.+]]: memref<6xi8> {nn.result})
// CHECK: linalg.generic {{.+}} outs({{.+}} : memref<4xi8, strided<[1], offset: 1>>)
// CHECK: memref.subview [[P]][1]
// CHECK-NEXT: [[Y:%.+]] = memref.subview [[P]][1]
// CHECK-NEXT: linalg.generic {{.+}} outs([[Y]] : {{.+}})
// CHECK-NOT: memref.subview
// CHECK: func.return
func.func @over_its_slice(%x: tensor<4xi8>) -> tensor<6xi8> {
  %v = arith.constant 7 : i8
  %d = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<6xi8>) -> tensor<6xi8>
  %p = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  %s = tensor.extract_slice %p[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %t = arith.addi %a, %a : i8
    linalg.yield %t : i8
  } -> tensor<4xi8>
  %3 = tensor.insert_slice %2 into %p[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  func.return %3 : tensor<6xi8>
}

// The slice that it is computed from lies elsewhere: elements would be written before they are read.
// CHECK-LABEL: @from_another_slice(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: linalg.generic {{.+}} outs([[OWN]] : memref<4xi8>)
func.func @from_another_slice(%x: tensor<4xi8>) -> tensor<6xi8> {
  %v = arith.constant 7 : i8
  %d = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<6xi8>) -> tensor<6xi8>
  %p = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  %s = tensor.extract_slice %p[2] [4] [1] : tensor<6xi8> to tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %t = arith.addi %a, %a : i8
    linalg.yield %t : i8
  } -> tensor<4xi8>
  %3 = tensor.insert_slice %2 into %p[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  func.return %3 : tensor<6xi8>
}

// Something reads the slice between what is computed and where it is inserted.
// CHECK-LABEL: @read_between(
// CHECK: [[OWN:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
// CHECK-NEXT: linalg.generic {{.+}} outs([[OWN]] : memref<4xi8>)
func.func @read_between(%x: tensor<4xi8>) -> (tensor<6xi8>, tensor<4xi8>) {
  %v = arith.constant 7 : i8
  %d = tensor.empty() : tensor<6xi8>
  %f = linalg.fill ins(%v : i8) outs(%d : tensor<6xi8>) -> tensor<6xi8>
  %p = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  %s = tensor.extract_slice %p[1] [4] [1] : tensor<6xi8> to tensor<4xi8>
  %e = tensor.empty() : tensor<4xi8>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<4xi8>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %t = arith.addi %a, %a : i8
    linalg.yield %t : i8
  } -> tensor<4xi8>
  %e2 = tensor.empty() : tensor<4xi8>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<4xi8>) outs(%e2 : tensor<4xi8>) {
  ^bb0(%a: i8, %o: i8):
    %t = arith.muli %a, %a : i8
    linalg.yield %t : i8
  } -> tensor<4xi8>
  %3 = tensor.insert_slice %2 into %p[1] [4] [1] : tensor<4xi8> into tensor<6xi8>
  func.return %3, %4 : tensor<6xi8>, tensor<4xi8>
}
