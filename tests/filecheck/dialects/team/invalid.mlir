// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @main() {
  // expected-error@+1 {{'team.chunks' op chunks per thread must be at most 63, but got 64}}
  team.chunks (%begin, %end) of 10 in 64 {
  }
  func.return
}

// -----

func.func @main() {
  // expected-error@+1 {{'team.chunks' op expected two block arguments of type index (the bounds), but got index}}
  "team.chunks"() <{steps = 10 : i64, chunks = 3 : i64}> ({
  ^bb0(%begin: index):
  }) : () -> ()
  func.return
}

// -----

func.func @main() {
  team.single {
    // expected-error@+1 {{'team.chunks' op cannot be nested in 'team.single': a single thread cannot divide work among a team}}
    team.chunks (%begin, %end) of 10 in 3 {
    }
  }
  func.return
}
