pdl.pattern @again : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %relu = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %relu {
    %0 = pdl.operation "nn.relu" (%x : !pdl.value)
    pdl.replace %relu with %0
  }
}
