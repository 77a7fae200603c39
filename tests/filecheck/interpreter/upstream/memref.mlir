// RUN: qmlir run %s

// Copies a memref into a tensor, as a check wants it.
func.func private @read4(%m: memref<4xi32, strided<[?], offset: ?>>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = memref.load %m[%c0] : memref<4xi32, strided<[?], offset: ?>>
  %1 = memref.load %m[%c1] : memref<4xi32, strided<[?], offset: ?>>
  %2 = memref.load %m[%c2] : memref<4xi32, strided<[?], offset: ?>>
  %3 = memref.load %m[%c3] : memref<4xi32, strided<[?], offset: ?>>
  %t = tensor.from_elements %0, %1, %2, %3 : tensor<4xi32>
  func.return %t : tensor<4xi32>
}

"memref.global"() <{constant, sym_name = "weights", sym_visibility = "private", type = memref<2x4xi32>, initial_value = dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>}> : () -> ()
"memref.global"() <{sym_name = "state", sym_visibility = "private", type = memref<4xi32>, initial_value = dense<0> : tensor<4xi32>}> : () -> ()

// Every second element of a row, written through the view.
func.func @subview() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %w = memref.get_global @weights : memref<2x4xi32>
  %m = memref.alloc() : memref<2x4xi32>
  "memref.copy"(%w, %m) : (memref<2x4xi32>, memref<2x4xi32>) -> ()
  %v = memref.subview %m[%c1, 0] [1, 2] [1, %c2] : memref<2x4xi32> to memref<2xi32, strided<[?], offset: ?>>
  %a = arith.constant -1 : i32
  memref.store %a, %v[%c1] : memref<2xi32, strided<[?], offset: ?>>
  %row = memref.subview %m[1, 0] [1, 4] [1, 1] : memref<2x4xi32> to memref<4xi32, strided<[1], offset: 4>>
  %open = "memref.cast"(%row) : (memref<4xi32, strided<[1], offset: 4>>) -> memref<4xi32, strided<[?], offset: ?>>
  %0 = func.call @read4(%open) : (memref<4xi32, strided<[?], offset: ?>>) -> tensor<4xi32>
  %e0 = arith.constant dense<[5, 6, -1, 8]> : tensor<4xi32>
  check.expect_eq %0, %e0 : tensor<4xi32>

  // A subview of a subview: 2 of every 4
  %outer = memref.subview %m[0, 0] [2, 2] [1, 2] : memref<2x4xi32> to memref<2x2xi32, strided<[4, 2]>>
  %inner = memref.subview %outer[0, 1] [2, 1] [1, 1] : memref<2x2xi32, strided<[4, 2]>> to memref<2xi32, strided<[4], offset: 2>>
  %1 = memref.load %inner[%c0] : memref<2xi32, strided<[4], offset: 2>>
  %2 = memref.load %inner[%c1] : memref<2xi32, strided<[4], offset: 2>>
  %found = tensor.from_elements %1, %2 : tensor<2xi32>
  %expected = arith.constant dense<[3, -1]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  memref.dealloc %m : memref<2x4xi32>
  func.return
}

func.func @shapes() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = memref.alloca(%c3) : memref<2x?xi32>
  %d = memref.dim %m, %c1 : memref<2x?xi32>
  %flat = memref.collapse_shape %m [[0, 1]] : memref<2x?xi32> into memref<?xi32>
  %n = memref.dim %flat, %c0 : memref<?xi32>
  %r = "memref.rank"(%m) : (memref<2x?xi32>) -> index
  %a = arith.index_cast %d : index to i32
  %b = arith.index_cast %n : index to i32
  %c = arith.index_cast %r : index to i32
  %c5 = arith.constant 5 : index
  memref.store %b, %flat[%c5] : memref<?xi32>
  %cube = memref.expand_shape %flat [[0, 1, 2]] output_shape [1, 2, %c3] : memref<?xi32> into memref<1x2x?xi32>
  %c2 = arith.constant 2 : index
  %e = memref.load %cube[%c0, %c1, %c2] : memref<1x2x?xi32>
  %found = tensor.from_elements %a, %b, %c, %e : tensor<4xi32>
  %expected = arith.constant dense<[3, 6, 2, 6]> : tensor<4xi32>
  check.expect_eq %found, %expected : tensor<4xi32>
  func.return
}

// Globals are one memory for the whole run.
func.func private @bump() {
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  %s = memref.get_global @state : memref<4xi32>
  %a = memref.load %s[%c2] : memref<4xi32>
  %b = arith.addi %a, %one : i32
  memref.store %b, %s[%c2] : memref<4xi32>
  func.return
}

func.func @global() {
  func.call @bump() : () -> ()
  func.call @bump() : () -> ()
  %s = memref.get_global @state : memref<4xi32>
  %open = "memref.cast"(%s) : (memref<4xi32>) -> memref<4xi32, strided<[?], offset: ?>>
  %0 = func.call @read4(%open) : (memref<4xi32, strided<[?], offset: ?>>) -> tensor<4xi32>
  %e0 = arith.constant dense<[0, 0, 2, 0]> : tensor<4xi32>
  check.expect_eq %0, %e0 : tensor<4xi32>
  func.return
}

// Strides of an allocation: the columns lie one after the other.
func.func @layouts() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = arith.constant 7 : i32
  %m = memref.alloc() : memref<2x2xi32, strided<[1, 2], offset: 3>>
  memref.store %a, %m[%c0, %c1] : memref<2x2xi32, strided<[1, 2], offset: 3>>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %m : memref<2x2xi32, strided<[1, 2], offset: 3>> -> memref<i32>, index, index, index, index, index
  %o = arith.index_cast %offset : index to i32
  %s0 = arith.index_cast %strides#0 : index to i32
  %s1 = arith.index_cast %strides#1 : index to i32
  // The same element, at 3 + 2 of the buffer
  %flat = memref.reinterpret_cast %base to offset: [%offset], sizes: [4], strides: [1] : memref<i32> to memref<4xi32, strided<[1], offset: ?>>
  %c2 = arith.constant 2 : index
  %b = memref.load %flat[%c2] : memref<4xi32, strided<[1], offset: ?>>
  %found = tensor.from_elements %o, %s0, %s1, %b : tensor<4xi32>
  %expected = arith.constant dense<[3, 1, 2, 7]> : tensor<4xi32>
  check.expect_eq %found, %expected : tensor<4xi32>
  func.return
}

// Bytes 4 to 8 of a buffer as one f32, then as i32.
func.func @views() {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %m = memref.alloc() : memref<16xi8>
  %f = memref.view %m[%c4][] : memref<16xi8> to memref<1xf32>
  memref.store %one, %f[%c0] : memref<1xf32>
  %i = arith.bitcast %f : memref<1xf32> to memref<1xi32>
  %a = memref.load %i[%c0] : memref<1xi32>
  %c7 = arith.constant 7 : index
  %last = memref.load %m[%c7] : memref<16xi8>
  %b = arith.extsi %last : i8 to i32
  %found = tensor.from_elements %a, %b : tensor<2xi32>
  %expected = arith.constant dense<[1065353216, 63]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  func.return
}

// Indices and bf16 are kept in memory too; a rank of 0 is one element.
func.func @elements() {
  %c5 = arith.constant 5 : index
  %m = memref.alloc() : memref<index>
  memref.store %c5, %m[] : memref<index>
  %0 = memref.load %m[] : memref<index>
  %1 = arith.addi %0, %0 : index
  %a = arith.index_cast %1 : index to i32
  %x = arith.constant 1.5 : bf16
  %n = memref.alloc() : memref<1x1xbf16, strided<[2, 1], offset: 1>>
  %c0 = arith.constant 0 : index
  memref.store %x, %n[%c0, %c0] : memref<1x1xbf16, strided<[2, 1], offset: 1>>
  %y = memref.load %n[%c0, %c0] : memref<1x1xbf16, strided<[2, 1], offset: 1>>
  %z = arith.addf %y, %y : bf16
  %w = arith.fptosi %z : bf16 to i32
  %found = tensor.from_elements %a, %w : tensor<2xi32>
  %expected = arith.constant dense<[10, 3]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  func.return
}
