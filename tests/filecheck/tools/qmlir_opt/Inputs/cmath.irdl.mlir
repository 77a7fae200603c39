irdl.dialect @tiny {
  irdl.operation @twice {
    %0 = irdl.is f32
    irdl.operands(input: %0)
    irdl.results(output: %0)
  }
}
