"""The presets of other tools that `benchmarks.repair_peers` runs, each tool in a process of its own.

`python -m benchmarks.repair_presets PEER FOLDER SETTING…` reads `model.onnx` and `samples.npz` of the folder: for each
input samples that calibrate (`data/NAME`) and that are judged (`test/NAME`), the axis of samples, how many of them the
model takes at once (0: any number), and for how many iterations a tool learns. For each preset it writes the scores of
what the tool itself runs, and the seconds that quantizing took, or the error of the tool. No tool reads labels.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, load_model_from_string
from onnx.shape_inference import infer_shapes
from onnx.version_converter import convert_version

from qmlir.arithmetic.arrays import Array

SETTINGS: Mapping[str, tuple[int, int]] = {"W8A8": (8, 8), "W4A8": (4, 8), "W4A4": (4, 4)}
"""Bits of weights and of activations."""

Feeds = Mapping[str, Array]
Scores = Callable[[Feeds], Array]
"""Of samples that the model takes at once."""


def parts_of(samples: Feeds, axis: int, size: int) -> list[dict[str, Array]]:
    """The samples on `axis`, so many at once; all of them for 0."""
    count = next(iter(samples.values())).shape[axis]
    positions = (np.arange(at, min(at + (size or count), count)) for at in range(0, count, size or count))
    return [
        {name: np.ascontiguousarray(array.take(each, axis)) for name, array in samples.items()} for each in positions
    ]


@dataclass(frozen=True)
class PresetTask:
    """A float model, the samples that calibrate, and the setting that is asked for."""

    path: Path
    data: Feeds
    axis: int
    """That of samples, of `data` and of what is judged."""

    most: int
    """So many samples the model takes at once; 0 for any number."""

    weights: int
    activations: int
    iterations: int
    """That a layer or a block is learned for; 0 for what each tool does by itself."""

    def model(self) -> ModelProto:
        """A copy of the float model, which a tool may change."""
        return load_model_from_string(self.path.read_bytes())

    def model_of_int4(self) -> ModelProto:
        """The same in opset 21, which has integers of 4 bits; tools leave floats in others."""
        return convert_version(self.model(), 21)

    @property
    def count(self) -> int:
        """How many samples calibrate."""
        return next(iter(self.data.values())).shape[self.axis]

    @property
    def output(self) -> str:
        """The name of the scores, the first of the outputs."""
        return self.model().graph.output[0].name

    def floats(self) -> set[str]:
        """The names of values that are floats."""
        graph = infer_shapes(self.model()).graph
        ports = [*graph.input, *graph.value_info, *graph.output]
        return {each.name for each in ports if each.type.tensor_type.elem_type == TensorProto.FLOAT}

    def batches(self, size: int) -> list[dict[str, Array]]:
        """The samples that calibrate, so many at once, or as many as the model takes."""
        return parts_of(self.data, self.axis, self.most or size)


def _run_by_onnx_runtime(task: PresetTask, model: ModelProto) -> Scores:
    """What a model of Q/DQ pairs says, without optimizations of the graph."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run([task.output], dict(feeds))[0]


# aimet-onnx


def _aimet(*, is_equalized: bool = False, rounding: str = "") -> Callable[[PresetTask], Scores]:
    """Its simulation; ranges of weights by sequential MSE or codes by AdaRound."""

    def quantized(task: PresetTask) -> Scores:
        aimet: Any = import_module("aimet_onnx")
        import_module("torch").manual_seed(0)
        model = task.model()
        if is_equalized:
            import_module("aimet_onnx.cross_layer_equalization").equalize_model(model)
        bits = {"param_type": f"int{task.weights}", "activation_type": f"int{task.activations}"}
        # Sequential MSE takes no other scheme than by the smallest and the largest value.
        scheme = "min_max" if rounding == "mse" else "tf_enhanced"
        sim = aimet.QuantizationSimModel(model, **bits, quant_scheme=scheme, config_file="default")
        scores = sim.qc_quantize_op_dict.get(task.output)
        if scores is not None:  # none behind a softmax whose result it leaves in float
            scores.set_bitwidth(8)
        batches = task.batches(64)
        if rounding == "mse":
            aimet.apply_seq_mse(sim, batches)
        elif rounding == "adaround":
            import_module("aimet_onnx.adaround.adaround_weight").Adaround.apply_adaround(
                sim, batches, task.iterations or 10000
            )
        sim.compute_encodings(batches)
        return lambda feeds: sim.session.run(None, dict(feeds))[0]

    return quantized


# esp-ppq


def _esp_ppq(*passes: str) -> Callable[[PresetTask], Scores]:
    """Its graph in torch with integers of any bits, per channel, and passes that repair."""

    def quantized(task: PresetTask) -> Scores:
        torch: Any = import_module("torch")
        torch.manual_seed(0)
        torch.set_num_threads(1)
        core, api, optim, quantizers = (
            import_module(f"esp_ppq.{name}") for name in ("core", "api", "quantization.optim", "quantization.quantizer")
        )
        kinds = core.QuantizationProperty

        def tensors(feeds: Feeds) -> dict[str, Any]:
            return {name: torch.from_numpy(array) for name, array in feeds.items()}

        def set_grid(config: Any, bits: int, *, is_weight: bool = False) -> None:
            low = -(2 ** (bits - 1)) if is_weight else 0
            config.num_of_bits, config.quant_min, config.quant_max = bits, low, low + 2**bits - 1
            policy = kinds.SYMMETRICAL + kinds.PER_CHANNEL if is_weight else kinds.ASYMMETRICAL + kinds.PER_TENSOR
            config.policy = core.QuantizationPolicy(policy + kinds.LINEAR)

        graph: Any = api.load_onnx_graph(str(task.path))
        quantizer: Any = quantizers.TensorRTQuantizer(graph)
        floats = task.floats()
        for name, operation in list(graph.operations.items()):
            # It leaves recurrent layers in float; what computes shapes has no ranges.
            if operation.type not in quantizer.quant_operation_types or operation.inputs[0].name not in floats:
                continue
            quantizer.quantize_operation(op_name=name, platform=quantizer.target_platform)
            operation = graph.operations[name]
            for each in operation.config.input_quantization_config:
                is_weight = each.policy.has_property(kinds.PER_CHANNEL)
                set_grid(each, task.weights if is_weight else task.activations, is_weight=is_weight)
            for each, value in zip(operation.config.output_quantization_config, operation.outputs, strict=True):
                set_grid(each, 8 if value.name == task.output else task.activations)
        batches = [tensors(each) for each in task.batches(64)]
        executor = import_module("esp_ppq.executor").TorchExecutor(graph=graph, device="cpu")
        executor.tracing_operation_meta(inputs=batches[0])
        known = {
            "equalize": lambda: optim.LayerwiseEqualizationPass(iterations=10),
            "learn steps": lambda: optim.LearnedStepSizePass(collecting_device="cpu", steps=task.iterations or 500),
            "correct biases": lambda: optim.BiasCorrectionPass(collecting_device="cpu"),
        }
        import_module("esp_ppq.lib").Pipeline(
            [
                optim.QuantizeSimplifyPass(),
                optim.QuantizeFusionPass(activation_type=quantizer.activation_fusion_types),
                *(known[each]() for each in passes if each == "equalize"),
                optim.ParameterQuantizePass(),
                optim.RuntimeCalibrationPass(),
                *(known[each]() for each in passes if each != "equalize"),
            ]
        ).optimize(calib_steps=len(batches), collate_fn=None, graph=graph, dataloader=batches, executor=executor)

        def scores(feeds: Feeds) -> Array:
            with torch.no_grad():
                return executor(tensors(feeds))[0].numpy()

        return scores

    return quantized


# nncf


def _nncf(*, is_fast: bool) -> Callable[[PresetTask], Scores]:
    """Integers of 8 bits, biases corrected by running the model or by layers; it says that it has no others."""

    def quantized(task: PresetTask) -> Scores:
        nncf: Any = import_module("nncf")
        advanced: Any = import_module("nncf.quantization.advanced_parameters")
        # By default weights have half of their range, for CPUs whose products saturate: the sums here are exact.
        given: dict[str, Any] = {"overflow_fix": advanced.OverflowFix.DISABLE}
        if (task.weights, task.activations) != (8, 8):
            widths = {"activations": task.activations, "weights": task.weights}
            for name, bits in widths.items():
                given[f"{name}_quantization_params"] = advanced.QuantizationParameters(num_bits=bits)
        found = nncf.quantize(
            task.model(), nncf.Dataset(task.batches(1)), preset=nncf.QuantizationPreset.MIXED,
            subset_size=task.count, fast_bias_correction=is_fast,
            advanced_parameters=nncf.AdvancedQuantizationParameters(**given),
        )  # fmt: skip
        return _run_by_onnx_runtime(task, found)

    return quantized


def _nncf_weights(task: PresetTask) -> Scores:
    """4 bits for weights of matrix products, AWQ, scales by the error of results. Activations stay floats."""
    nncf: Any = import_module("nncf")
    found = nncf.compress_weights(
        task.model_of_int4(), mode=nncf.CompressWeightsMode.INT4_SYM, group_size=-1,
        dataset=nncf.Dataset(task.batches(1)), awq=True, scale_estimation=True, subset_size=task.count,
    )  # fmt: skip
    return _run_by_onnx_runtime(task, found)


# onnxsim


def _onnxsim(*, method: str = "minmax", algorithm: str = "") -> Callable[[PresetTask], Scores]:
    """Q/DQ pairs throughout with 8 bits, whose weights AdaRound or AdaQuant may round."""

    def quantized(task: PresetTask) -> Scores:
        onnxsim: Any = import_module("onnxsim")
        model, batches = task.model(), task.batches(64)
        found = import_module("onnxsim.full_qdq").quantize_full_qdq(
            model, batches, method=method,
            weight_dtype=f"int{task.weights}", activation_dtype=f"uint{task.activations}",
        )  # fmt: skip
        if algorithm:
            tuning: Any = import_module("onnxsim.quark_finetune")
            options = tuning.FinetuneOptions(algorithm, num_iterations=task.iterations or 1000, batch_size=32)
            found, _ = tuning.finetune(model, found, batches, options)
        return _run_by_onnx_runtime(task, onnxsim.correct_bias(model, found, calibration_data=batches))

    return quantized


def _onnxsim_weights(task: PresetTask) -> Scores:
    """4 bits for weights by block of 32: equalized, AdaRound, biases corrected. Activations stay floats."""
    onnxsim: Any = import_module("onnxsim")
    found = onnxsim.auto_quantize_int4(
        task.model_of_int4(), accuracy_budget=0.0, calibration_data=task.batches(64),
        num_adaround_iterations=task.iterations or 300,
    )  # fmt: skip
    print(f"onnxsim kept {found.techniques_applied}", file=sys.stderr)
    return _run_by_onnx_runtime(task, found.quantized_model)


WEIGHTS_ONLY = "weights only"
"""In the name of a preset that leaves activations floats."""

PRESETS: Mapping[str, Mapping[str, tuple[Callable[[PresetTask], Scores], tuple[str, ...]]]] = {
    "onnxsim": {
        "full QDQ, biases corrected": (_onnxsim(), tuple(SETTINGS)),
        "full QDQ by MSE, AdaRound, biases corrected": (_onnxsim(method="mse", algorithm="adaround"), ("W8A8",)),
        "full QDQ, AdaRound, biases corrected": (_onnxsim(algorithm="adaround"), ("W8A8",)),
        f"auto_quantize_int4, {WEIGHTS_ONLY}": (_onnxsim_weights, ("W4A8",)),
    },
    "aimet-onnx": {
        "ranges by SQNR": (_aimet(), tuple(SETTINGS)),
        "sequential MSE": (_aimet(rounding="mse"), tuple(SETTINGS)),
        "AdaRound": (_aimet(rounding="adaround"), tuple(SETTINGS)),
        "CLE, AdaRound": (_aimet(is_equalized=True, rounding="adaround"), tuple(SETTINGS)),
    },
    "nncf": {
        "MIXED, accurate bias correction": (_nncf(is_fast=False), tuple(SETTINGS)),
        "MIXED, fast bias correction": (_nncf(is_fast=True), ("W8A8",)),
        f"AWQ, scale estimation, {WEIGHTS_ONLY}": (_nncf_weights, ("W4A8",)),
    },
    "esp-ppq": {
        "calibrated": (_esp_ppq(), tuple(SETTINGS)),
        "biases corrected": (_esp_ppq("correct biases"), tuple(SETTINGS)),
        "equalized, learned steps": (_esp_ppq("equalize", "learn steps"), tuple(SETTINGS)),
        "equalized, learned steps, biases corrected": (
            _esp_ppq("equalize", "learn steps", "correct biases"),
            tuple(SETTINGS),
        ),
    },
}
"""The presets of each tool, and the settings that each is run for."""


def run(peer: str, folder: Path, settings: Sequence[str], only: Sequence[str]) -> None:
    """Run the presets of `peer`, or `only` some, for the settings, and write what each gave into the folder."""
    given = dict(np.load(folder / "samples.npz"))
    axis, most, iterations = (int(given[name]) for name in ("axis", "most", "iterations"))
    data, test = (
        {name.partition("/")[2]: array for name, array in given.items() if name.startswith(f"{kind}/")}
        for kind in ("data", "test")
    )
    for setting in settings:
        task = PresetTask(folder / "model.onnx", data, axis, most, *SETTINGS[setting], iterations)
        for position, (preset, (quantize, known)) in enumerate(PRESETS[peer].items()):
            if setting not in known or (only and preset not in only):
                continue
            found: dict[str, Any]
            begun = time.perf_counter()
            try:
                scores_of = quantize(task)
                seconds = time.perf_counter() - begun
                scores = np.concatenate([scores_of(feeds) for feeds in parts_of(test, axis, most)])
                found = {"seconds": seconds, "scores": scores}
            except Exception as error:  # what a tool cannot do is a figure of the table: its own words are
                traceback.print_exc()
                found = {"failure": f"{type(error).__name__}: {error}"}
            np.savez(folder / f"{peer}-{setting}-{position}.npz", preset=preset, **found)


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair_presets", description=__doc__)
    parser.add_argument("peer", choices=list(PRESETS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("settings", nargs="+", choices=list(SETTINGS))
    parser.add_argument("--preset", action="append", default=[], help="only this (may be repeated)")
    arguments = parser.parse_args()
    run(arguments.peer, arguments.folder, arguments.settings, arguments.preset)


if __name__ == "__main__":
    main()
