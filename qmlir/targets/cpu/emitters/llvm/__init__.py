"""The emitter of LLVM IR: a module of loops as text that llvmlite compiles."""
