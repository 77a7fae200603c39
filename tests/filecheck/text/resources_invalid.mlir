// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func private @f()
// expected-error @+1 {{'external_resources' of 'mlir_reproducer' cannot be kept; only resources of 'builtin' can}}
{-# external_resources: { mlir_reproducer: { pipeline: "builtin.module(cse)" } } #-}
// -----
func.func private @f()
// expected-error @+1 {{the resource 'x' must be "0x…" with at least 4 bytes of hexadecimal digits}}
{-# dialect_resources: { builtin: { x: "0x0" } } #-}
// -----
func.func private @f()
// expected-error @+1 {{unterminated string literal or unknown escape}}
{-# dialect_resources: { builtin: { x: "0x00000000 } } #-}
