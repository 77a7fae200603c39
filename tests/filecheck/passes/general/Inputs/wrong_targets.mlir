builtin.module attributes {target.specs = ["cpu"]} {}
// -----
builtin.module attributes {target.specs = [#target.spec<"a">, #target.spec<"a">]} {}
