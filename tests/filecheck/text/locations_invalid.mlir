// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{undefined symbol alias '#nowhere'}}
module {} loc(#nowhere)
// -----
module {} loc(#a)
// expected-error @+1 {{the location '#a' contains itself}}
#a = loc(callsite(#a at "b"))
