// A convolution and its relu become one operation of the device, where all scales are powers of two and the weights
// have 4 bits: its requantization is a shift, which the operation has as an attribute.
pdl.pattern @conv_relu : benefit(2) {
  %x = pdl.operand
  %w = pdl.operand
  %sum = pdl.type
  %type = pdl.type
  %conv = pdl.operation "nn.conv" (%x, %w : !pdl.value, !pdl.value) -> (%sum : !pdl.type)
  %y = pdl.result 0 of %conv
  %relu = pdl.operation "nn.relu" (%y : !pdl.value) -> (%type : !pdl.type)
  %i4 = pdl.attribute = "i4"
  pdl.apply_native_constraint "used_once"(%y : !pdl.value)
  pdl.apply_native_constraint "has_storage"(%w, %i4 : !pdl.value, !pdl.attribute)
  pdl.apply_native_constraint "has_power_of_two_scale"(%w : !pdl.value)
  pdl.apply_native_constraint "same_parameters"(%sum, %type : !pdl.type, !pdl.type)
  pdl.apply_native_constraint "is_shift"(%type, %x, %w : !pdl.type, !pdl.value, !pdl.value)
  pdl.rewrite %relu {
    %shift = pdl.apply_native_rewrite "shift"(%type, %x, %w : !pdl.type, !pdl.value, !pdl.value) : !pdl.attribute
    %fused = pdl.operation "device.conv_relu" (%x, %w : !pdl.value, !pdl.value) {"shift" = %shift} -> (%type : !pdl.type)
    pdl.replace %relu with %fused
  }
}
