irdl.dialect @device {
  irdl.operation @conv_relu {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.any
    irdl.operands(x: %0, w: %1)
    irdl.results(y: %2)
  }
}
