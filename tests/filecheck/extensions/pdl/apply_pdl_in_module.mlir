// RUN: qmlir-opt %s -p apply-pdl --split-input-file | filecheck %s

// By provenance: the relu of one block of the model, and no other. The pattern is gone from the module.
// CHECK-LABEL: @provenance
// CHECK-NEXT: nn.abs {{.*}} {origin = "layer1/act", op_type = "Relu"}
// CHECK-NEXT: nn.relu {{.*}} {origin = "layer2/act", op_type = "Relu"}
// CHECK-NEXT: nn.relu {{.*}} {origin = "layer1/clip", op_type = "Clip"}
// CHECK-NEXT: func.return
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @provenance(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.relu %x : tensor<2xf32> {origin = "layer1/act", op_type = "Relu"}
  %1 = nn.relu %x : tensor<2xf32> {origin = "layer2/act", op_type = "Relu"}
  %2 = nn.relu %x : tensor<2xf32> {origin = "layer1/clip", op_type = "Clip"}
  func.return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
pdl.pattern @first_layer : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  %where = pdl.attribute = "layer1/*"
  %what = pdl.attribute = ["Relu", "LeakyRelu"]
  pdl.apply_native_constraint "has_origin"(%relu, %where : !pdl.operation, !pdl.attribute)
  pdl.apply_native_constraint "has_op_type"(%relu, %what : !pdl.operation, !pdl.attribute)
  pdl.rewrite %relu {
    %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %relu with %abs
  }
}
// -----
// A negated constraint, and a type made of another: what is not stored in 4 bits goes through them.
!a = !quant.uniform<i8:f32, 0.5>
!b = !quant.uniform<i4:f32, 0.5>
// CHECK: [[I4:!.+]] = !quant.uniform<i4:f32, 5.000000e-01>
// CHECK-LABEL: @narrowed
// CHECK-NEXT: [[V0:%.+]] = quant.qcast {{.*}} : tensor<2xf32> to tensor<2x[[I4]]>
// CHECK-NEXT: quant.dcast [[V0]] : tensor<2x[[I4]]> to tensor<2xf32>
// CHECK-NEXT: quant.qcast {{.*}} : tensor<2xf32> to tensor<2x[[I4]]>
func.func @narrowed(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x!b>) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!a>
  %1 = quant.dcast %0 : tensor<2x!a> to tensor<2xf32>
  %2 = quant.qcast %x : tensor<2xf32> to tensor<2x!b>
  func.return %1, %2 : tensor<2xf32>, tensor<2x!b>
}
pdl.pattern @narrow : benefit(1) {
  %wide = pdl.type
  %float = pdl.type
  %x = pdl.operand
  %q = pdl.operation "quant.qcast" (%x : !pdl.value) -> (%wide : !pdl.type)
  %stored = pdl.result 0 of %q
  %d = pdl.operation "quant.dcast" (%stored : !pdl.value) -> (%float : !pdl.type)
  %bits = pdl.attribute = 4 : i64
  pdl.apply_native_constraint "bits_at_most"(%wide, %bits : !pdl.type, !pdl.attribute) {isNegated = true}
  pdl.rewrite %d {
    %storage = pdl.attribute = "i4"
    %narrow = pdl.apply_native_rewrite "with_storage"(%wide, %storage : !pdl.type, !pdl.attribute) : !pdl.type
    %0 = pdl.operation "quant.qcast" (%x : !pdl.value) -> (%narrow : !pdl.type)
    %1 = pdl.result 0 of %0
    %2 = pdl.operation "quant.dcast" (%1 : !pdl.value) -> (%float : !pdl.type)
    pdl.replace %d with %2
  }
}
// -----
// Two roots: two activations of one value, side by side. The second stands behind what the first is used by.
// CHECK-LABEL: @two_roots
// CHECK-NEXT: [[V0:%.+]] = nn.relu
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]]
// CHECK-NEXT: nn.neg [[V1]]
// CHECK-NEXT: func.return {{%.+}}, [[V0]]
func.func @two_roots(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.relu %x : tensor<2xf32>
  %1 = nn.abs %0 : tensor<2xf32>
  %2 = nn.neg %1 : tensor<2xf32>
  %3 = nn.relu %x : tensor<2xf32>
  func.return %2, %3 : tensor<2xf32>, tensor<2xf32>
}
pdl.pattern @equal : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %one = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  %other = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite {
    %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %one with %relu
    pdl.replace %other with %relu
  }
}
// -----
// Two roots of which one needs what comes from the other do not fit.
// CHECK-LABEL: @chained_roots
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.abs
// CHECK-NEXT: nn.mul
// CHECK-NEXT: func.return
func.func @chained_roots(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = nn.abs %0 : tensor<2xf32>
  %2 = nn.mul %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %2 : tensor<2xf32>, tensor<2xf32>
}
pdl.pattern @sum_and_product : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %y = pdl.operand
  %z = pdl.operand
  %sum = pdl.operation "nn.add" (%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  %product = pdl.operation "nn.mul" (%x, %z : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite {
    %0 = pdl.operation "nn.mul" (%x, %z : !pdl.value, !pdl.value) -> (%type : !pdl.type)
    pdl.replace %product with %0
    %1 = pdl.operation "nn.sub" (%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
    pdl.replace %sum with %1
  }
}
// -----
// Constants are folded, and keep the names of constants; the operands may stand in either order.
// CHECK-LABEL: @constants
// CHECK-NEXT: [[V0:%.+]] = nn.constant dense<[6.0{{0*}}e+00, 8.0{{0*}}e+00]> : tensor<2xf32> {origin = ["a", "b"]}
// CHECK-NEXT: nn.mul {{%.+}}, [[V0]] {{.*}} {origin = ["m1", "m2"]{{.*}}}
// CHECK-NEXT: func.return
func.func @constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = nn.constant dense<[2.0, 2.0]> : tensor<2xf32> {origin = "a"}
  %b = nn.constant dense<[3.0, 4.0]> : tensor<2xf32> {origin = "b"}
  %0 = nn.mul %b, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {origin = "m1"}
  %1 = nn.mul %0, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {origin = "m2"}
  func.return %1 : tensor<2xf32>
}
pdl.pattern @factors : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %a = pdl.operation "nn.constant" -> (%type : !pdl.type)
  %b = pdl.operation "nn.constant" -> (%type : !pdl.type)
  %av = pdl.result 0 of %a
  %bv = pdl.result 0 of %b
  %inner = pdl.operation "nn.mul" (%x, %bv : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  %iv = pdl.result 0 of %inner
  %outer = pdl.operation "nn.mul" (%iv, %av : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.apply_native_constraint "commutative"(%inner, %outer : !pdl.operation, !pdl.operation)
  pdl.apply_native_constraint "used_once"(%iv : !pdl.value)
  pdl.rewrite %outer {
    %product = pdl.operation "nn.mul" (%bv, %av : !pdl.value, !pdl.value)
    %elements = pdl.apply_native_rewrite "folded"(%product : !pdl.operation) : !pdl.attribute
    pdl.erase %product
    %c = pdl.operation "nn.constant" {"value" = %elements} -> (%type : !pdl.type)
    %cv = pdl.result 0 of %c
    %mul = pdl.operation "nn.mul" (%x, %cv : !pdl.value, !pdl.value)
    pdl.replace %outer with %mul
  }
}
// -----
// A range takes any number of operands; the pattern with more benefit goes first.
// CHECK-LABEL: @ranges
// CHECK-NEXT: nn.concat {{%.+}}, {{%.+}}, {{%.+}} {axis = 1}
// CHECK-NEXT: func.return
func.func @ranges(%x: tensor<2x1xf32>, %y: tensor<2x1xf32>) -> tensor<2x3xf32> {
  %0 = nn.concat %x, %y, %x {axis = 1} : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %1 = nn.abs %0 : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
pdl.pattern @never : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %abs {
    %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %abs with %relu
  }
}
pdl.pattern @concat : benefit(5) {
  %type = pdl.type
  %many = pdl.operands
  %axis = pdl.attribute
  %concat = pdl.operation "nn.concat" (%many : !pdl.range<value>) {"axis" = %axis} -> (%type : !pdl.type)
  %y = pdl.result 0 of %concat
  %abs = pdl.operation "nn.abs" (%y : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %abs {
    %new = pdl.operation "nn.concat" (%many : !pdl.range<value>) {"axis" = %axis} -> (%type : !pdl.type)
    pdl.replace %abs with %new
  }
}
// -----
// Ranges of types and of results: however many parts there are. What has the default of an attribute is matched by it.
// CHECK-LABEL: @parts
// CHECK-NEXT: [[V0:%.+]], [[V1:%.+]] = nn.split %x : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {origin = ["a", "s"]{{.*}}}
// CHECK-NEXT: func.return [[V0]], [[V1]]
func.func @parts(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = nn.abs %x : tensor<4xf32> {origin = "a"}
  %1, %2 = nn.split %0 : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {origin = "s"}
  func.return %1, %2 : tensor<2xf32>, tensor<2xf32>
}
pdl.pattern @parts_of_abs : benefit(1) {
  %type = pdl.type
  %types = pdl.types
  %x = pdl.operand : %type
  %axis = pdl.attribute = 0 : i64
  %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
  %y = pdl.result 0 of %abs
  %split = pdl.operation "nn.split" (%y : !pdl.value) {"axis" = %axis} -> (%types : !pdl.range<type>)
  pdl.rewrite %split {
    %new = pdl.operation "nn.split" (%x : !pdl.value) {"axis" = %axis} -> (%types : !pdl.range<type>)
    %parts = pdl.results of %new
    pdl.replace %split with (%parts : !pdl.range<value>)
  }
}
// -----
// A new operation in the place of a whole one of several results, and one that says which of its operands are there.
// CHECK-LABEL: @segments
// CHECK-NEXT: nn.pad %x
// CHECK-NEXT: func.return
func.func @segments(%x: tensor<2xf32>, %v: tensor<f32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
pdl.pattern @pad : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    %pads = pdl.attribute = array<i64: 0, 0>
    %pad = pdl.operation "nn.pad" (%x : !pdl.value) {"pads" = %pads} -> (%type : !pdl.type)
    pdl.replace %relu with %pad
  }
}
