// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @main() {
  // expected-error@+1 {{'team.chunks' op has 64 chunks for each thread: at most 63}}
  team.chunks (%begin, %end) of 10 in 64 {
  }
  func.return
}

// -----

func.func @main() {
  // expected-error@+1 {{'team.chunks' op has block arguments of the types index: accepted are two of type index}}
  "team.chunks"() <{steps = 10 : i64, chunks = 3 : i64}> ({
  ^bb0(%begin: index):
  }) : () -> ()
  func.return
}

// -----

func.func @main() {
  team.single {
    // expected-error@+1 {{'team.chunks' op is inside of 'team.single': a thread alone cannot divide work among a team}}
    team.chunks (%begin, %end) of 10 in 3 {
    }
  }
  func.return
}
