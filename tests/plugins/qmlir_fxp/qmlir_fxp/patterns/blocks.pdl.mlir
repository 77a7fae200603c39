// A convolution and what limits it to values from 0 on become one block, which the device computes without a stop.
// A depthwise convolution is none: the device sums over all channels.

pdl.pattern @conv_relu : benefit(1) {
  %x = pdl.operand
  %w = pdl.operand
  %b = pdl.operand
  %summed = pdl.type
  %type = pdl.type
  %conv = pdl.operation "nn.conv" (%x, %w, %b : !pdl.value, !pdl.value, !pdl.value) -> (%summed : !pdl.type)
  %sum = pdl.result 0 of %conv
  %relu = pdl.operation "nn.relu" (%sum : !pdl.value) -> (%type : !pdl.type)
  %groups = pdl.attribute = "groups"
  %one = pdl.attribute = 1 : i64
  pdl.apply_native_constraint "used_once"(%sum : !pdl.value)
  pdl.apply_native_constraint "has_number"(%conv, %groups, %one, %one : !pdl.operation, !pdl.attribute, !pdl.attribute, !pdl.attribute)
  pdl.rewrite %relu {
    %block = pdl.operation "fxp.conv_block" (%x, %w, %b : !pdl.value, !pdl.value, !pdl.value) -> (%type : !pdl.type)
    %window = pdl.attribute = ["strides", "dilations", "pads"]
    pdl.apply_native_rewrite "copy_attributes"(%conv, %block, %window : !pdl.operation, !pdl.operation, !pdl.attribute)
    pdl.replace %relu with %block
  }
}

pdl.pattern @conv_clip : benefit(1) {
  %x = pdl.operand
  %w = pdl.operand
  %b = pdl.operand
  %summed = pdl.type
  %type = pdl.type
  %conv = pdl.operation "nn.conv" (%x, %w, %b : !pdl.value, !pdl.value, !pdl.value) -> (%summed : !pdl.type)
  %sum = pdl.result 0 of %conv
  %maximum = pdl.attribute
  %clip = pdl.operation "nn.clip" (%sum : !pdl.value) {"maximum" = %maximum} -> (%type : !pdl.type)
  %groups = pdl.attribute = "groups"
  %one = pdl.attribute = 1 : i64
  %minimum = pdl.attribute = "minimum"
  %zero = pdl.attribute = 0.0 : f32
  pdl.apply_native_constraint "used_once"(%sum : !pdl.value)
  pdl.apply_native_constraint "has_number"(%conv, %groups, %one, %one : !pdl.operation, !pdl.attribute, !pdl.attribute, !pdl.attribute)
  pdl.apply_native_constraint "has_number"(%clip, %minimum, %zero, %zero : !pdl.operation, !pdl.attribute, !pdl.attribute, !pdl.attribute)
  pdl.rewrite %clip {
    %block = pdl.operation "fxp.conv_block" (%x, %w, %b : !pdl.value, !pdl.value, !pdl.value) {"maximum" = %maximum} -> (%type : !pdl.type)
    %window = pdl.attribute = ["strides", "dilations", "pads"]
    pdl.apply_native_rewrite "copy_attributes"(%conv, %block, %window : !pdl.operation, !pdl.operation, !pdl.attribute)
    pdl.replace %clip with %block
  }
}
