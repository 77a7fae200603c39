pdl.pattern : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    %abs = pdl.operation "nn.abs" (%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %relu with %abs
  }
}
