// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p apply-pdl

pdl.pattern @misspelt : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{pattern '@misspelt': 'pdl.apply_native_constraint' op uses an unknown constraint 'is_quantised'; did you mean 'is_quantized'? (available: bits_at_most, commutative, has_attribute}}
  pdl.apply_native_constraint "is_quantised"(%type : !pdl.type)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
pdl.pattern @no_such_rewrite : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{pattern '@no_such_rewrite': 'pdl.apply_native_rewrite' op uses an unknown rewrite 'has_bits'; did you mean 'bits'? (available: attribute, bits}}
    %0 = pdl.apply_native_rewrite "has_bits"(%type : !pdl.type) : !pdl.attribute
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
// A pattern without a name is named by its place.
pdl.pattern : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{apply_pdl_invalid.mlir:26:1': 'pdl.apply_native_constraint' op cannot call has_bits(of: value or type, bits: integer) with (pdl.operation)}}
  pdl.apply_native_constraint "has_bits"(%relu : !pdl.operation)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
pdl.pattern @kind : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  %four = pdl.attribute = "four"
  // expected-error @+1 {{calls has_bits(of: value or type, bits: integer): 'bits' must be an integer, but got "four"}}
  pdl.apply_native_constraint "has_bits"(%x, %four : !pdl.value, !pdl.attribute)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
pdl.pattern @results : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{must match the result types of bits(of: value or type) -> attribute, but got pdl.type}}
    %0 = pdl.apply_native_rewrite "bits"(%type : !pdl.type) : !pdl.type
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
pdl.pattern @unknown_operation : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{pattern '@unknown_operation': 'pdl.operation' op creates 'nn.rellu', which no dialect defines}}
    %0 = pdl.operation "nn.rellu" (%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %relu with %0
  }
}
// -----
pdl.pattern @empty : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{pattern '@empty': 'pdl.rewrite' op must have a body or a function}}
  pdl.rewrite %relu {
  }
}
// -----
pdl.pattern @exchange : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{'commutative' must be applied to an operation of the pattern}}
  pdl.apply_native_constraint "commutative"(%x : !pdl.value)
  pdl.rewrite %relu {
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
// What is wrong with a rewrite is found where it is done first.
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+1 {{'nn.relu' op (relu1) while applying the pattern}}
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  func.return %0 : tensor<2xf32>
}
pdl.pattern @ill_typed : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{pattern '@ill_typed': 'pdl.rewrite' op creates 'nn.abs', which does not verify: expected a result with the shape of 'tensor<2xf32>', but got 'tensor<3xf32>'}}
  pdl.rewrite %relu {
    %other = pdl.type : tensor<3xf32>
    %0 = pdl.operation "nn.abs" (%x : !pdl.value) -> (%other : !pdl.type)
    pdl.replace %relu with %0
  }
}
// -----
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+1 {{'nn.cast' op while applying the pattern}}
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2xf32>
  // expected-note @+1 {{'func.return' op here}}
  func.return %0 : tensor<2xf32>
}
pdl.pattern @other_type : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %cast = pdl.operation "nn.cast" (%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{pattern '@other_type': 'pdl.rewrite' op gives 'func.return' operands with which it does not verify}}
  pdl.rewrite %cast {
    %other = pdl.type : tensor<2xi8>
    %0 = pdl.operation "nn.cast" (%x : !pdl.value) -> (%other : !pdl.type)
    pdl.replace %cast with %0
  }
}
// -----
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+1 {{'nn.relu' op while applying the pattern}}
  %0 = nn.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
pdl.pattern @failing : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{pattern '@failing': 'pdl.apply_native_rewrite' op 'bits' requires a uniform quantized type of integers, but got tensor<2xf32>}}
    %0 = pdl.apply_native_rewrite "bits"(%x : !pdl.value) : !pdl.attribute
    pdl.replace %relu with (%x : !pdl.value)
  }
}
// -----
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+1 {{'nn.relu' op while applying the pattern}}
  %0 = nn.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
pdl.pattern @itself : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    %y = pdl.result 0 of %relu
    %0 = pdl.operation "nn.abs" (%y : !pdl.value)
    // expected-error @+1 {{must not replace an operation by a value that uses its result}}
    pdl.replace %relu with %0
  }
}
// -----
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @+2 {{'nn.relu' op while applying the pattern}}
  // expected-note @+1 {{'nn.relu' op used after the match}}
  %0 = nn.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
pdl.pattern @used : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{must not erase an operation whose results have uses}}
    pdl.erase %relu
  }
}
// -----
// What is made has properties of other kinds: told before any module is seen.
pdl.pattern @turns : benefit(1) {
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value)
  pdl.rewrite %relu {
    %order = pdl.attribute = [1, 0]
    // expected-error @+1 {{pattern '@turns': 'pdl.operation' op creates 'nn.transpose' with the invalid property 'permutation' = [1 : i64, 0 : i64]: }}
    %turned = pdl.operation "nn.transpose" (%x : !pdl.value) {"permutation" = %order}
    pdl.replace %relu with %turned
  }
}
// -----
pdl.pattern @flattens : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{pattern '@flattens': 'pdl.operation' op creates 'nn.reshape', whose result types cannot be inferred; write `-> (%type : !pdl.type)`}}
    %flat = pdl.operation "nn.reshape" (%x : !pdl.value)
    pdl.replace %relu with %flat
  }
}
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-note @+1 {{while applying the pattern}}
  %0 = nn.relu %x : tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
// -----
pdl.pattern @adds_nothing : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    // expected-error @+1 {{pattern '@adds_nothing': 'pdl.operation' op cannot create 'nn.add': Expected 2 operands, but got 1}}
    %sum = pdl.operation "nn.add" (%x : !pdl.value)
    pdl.replace %relu with %sum
  }
}
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-note @+1 {{while applying the pattern}}
  %0 = nn.relu %x : tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
