builtin.module attributes {quant.targets = ["cpu"]} {}
// -----
builtin.module attributes {quant.targets = [#quant.target<"a">, #quant.target<"a">]} {}
