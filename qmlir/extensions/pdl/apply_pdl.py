"""`apply-pdl`: applies rewrite patterns written as PDL text."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.extensions.pdl.loading import PdlPattern, load_patterns, patterns_in
from qmlir.ir.diagnostics import nearest_name, text_error
from qmlir.ir.passes import EVERY_BIT, MEANING, ROUNDED, Preservation, count
from qmlir.ir.rewriting import DEFAULT_BUDGET, apply_patterns_greedily

_KEEPS = {"bits": EVERY_BIT, "rounded": ROUNDED, "meaning": MEANING}


@dataclass(frozen=True)
class ApplyPdl(ModulePass):
    """Applies the patterns of PDL files until none matches.

    `file` lists PDL files, and `named` lists patterns of installed packages by name (`qmlir doctor` shows them). If
    both are empty, the pass applies the patterns that the module itself contains, and removes them from it.
    [The reference](pdl.md) lists the functions that patterns can call. `keeps` states which guarantee
    `--verify-each=exec` checks: equality of every bit (the default), `rounded` floats, or only the `meaning`. The pass
    statistics count the matches of each pattern.

    Before:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.sigmoid %x : tensor<4xf32>
      %1 = nn.mul %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    pdl.pattern @swish : benefit(1) {
      %type = pdl.type
      %x = pdl.operand
      %sigmoid = pdl.operation "nn.sigmoid" (%x : !pdl.value) -> (%type : !pdl.type)
      %y = pdl.result 0 of %sigmoid
      %mul = pdl.operation "nn.mul" (%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
      pdl.apply_native_constraint "commutative"(%mul : !pdl.operation)
      pdl.apply_native_constraint "used_once"(%y : !pdl.value)
      pdl.rewrite %mul {
        %swish = pdl.operation "nn.swish" (%x : !pdl.value)
        pdl.replace %mul with %swish
      }
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.swish %x : tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```
    """

    name = "apply-pdl"

    file: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    keeps: str = "bits"
    budget: int = DEFAULT_BUDGET

    @property
    def preserves(self) -> Preservation:
        """The guarantee that the option `keeps` selects."""
        return _KEEPS.get(self.keeps, EVERY_BIT)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.keeps not in _KEEPS:
            raise text_error(f"{self.name}: keeps must be one of {', '.join(_KEEPS)}, but got '{self.keeps}'")
        paths = [*((Path(each), "") for each in self.file), *map(_file_named, self.named)]
        patterns = [each for path, package in paths for each in load_patterns(ctx, path, package)]
        if not self.file and not self.named:
            patterns = _taken_out(ctx, op)
        patterns.sort(key=lambda pattern: -pattern.benefit)
        statistics = apply_patterns_greedily(op, patterns, ctx, budget=self.budget)
        for pattern in patterns:
            count(f"matches of {pattern.pattern_name}", statistics.counts[pattern.pattern_name])


def _file_named(name: str) -> tuple[Path, str]:
    """Returns the pattern file of that name in a package, and a description of the package for messages."""
    there = registry.named("pdl")
    if name not in there:
        every = ", ".join(sorted(there)) or "none; no installed package provides patterns"
        raise text_error(f"no patterns named '{name}'{nearest_name(name, there)} (available: {every})")
    row = there[name]
    package, _, path = row.row.partition(":")
    try:
        return Path(str(files(package))) / path, f" (in package '{row.package.title}')"
    except ImportError as error:
        raise text_error(f"cannot load patterns '{name}' of package '{row.package.title}': {error}") from error


def _taken_out(ctx: Context, module: ModuleOp) -> list[PdlPattern]:
    """Returns the patterns in the module, and removes them from it."""
    found = patterns_in(ctx, module)
    if not found:
        raise text_error("apply-pdl: pass `file` or `named`, or put patterns into the module")
    for pattern in found:
        pattern.pattern.detach()
    return found
