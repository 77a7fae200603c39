// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{target name must consist of letters, digits, '_', '.' and '-', but got 'a b'}}
func.func private @name() attributes {t = #target.spec<"a b">}
// -----
// expected-error @+1 {{a target has no field 'keeps'; did you mean 'keep'? (available: keep, supports, requantize, raises, patterns, parameters)}}
func.func private @field() attributes {t = #target.spec<"t", keeps = []>}
// -----
// expected-error @+1 {{duplicate field 'keep'}}
func.func private @field_twice() attributes {t = #target.spec<"t", keep = ["a"], keep = ["b"]>}
// -----
// expected-error @+1 {{a support has no field 'inputs'; did you mean 'input'?}}
func.func private @slot() attributes {t = #target.spec<"t", supports = [{op = "nn.add", inputs = {}}]>}
// -----
// expected-error @+1 {{a slot has no field 'storage'; did you mean 'storages'? (available: storages, schemes, granularities, scales)}}
func.func private @accepted() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storage = [i8]}}]>}
// -----
// expected-error @+1 {{illegal storage type 'x8'}}
func.func private @storage() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storages = [x8]}}]>}
// -----
// expected-error @+1 {{in the support of 'nn.add': storage limits must ascend within [-128, 127], but got 3 and 3}}
func.func private @limits() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storages = [i8<3:3>]}}]>}
// -----
// expected-error @+1 {{in the support of 'nn.add': unknown scheme 'symetric'; did you mean 'symmetric'? (available: asymmetric, symmetric, asymmetric_pow2, symmetric_pow2)}}
func.func private @scheme() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {schemes = [symetric]}}]>}
// -----
// expected-error @+1 {{in the support of 'nn.conv': granularity must be tensor, channel, block or block:N, but got 'axis'}}
func.func private @granularity() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", weight = {granularities = [axis]}}]>}
// -----
// expected-error @+1 {{support of 'nn.conv': 'granularities' is only for weights, but slot 'input' has one scale}}
func.func private @granularity_of_data() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", input = {granularities = [channel]}}]>}
// -----
// expected-error @+1 {{a support must name an operation (op = "nn.conv" or op = "nn.*")}}
func.func private @no_operation() attributes {t = #target.spec<"t", supports = [{input = {}}]>}
// -----
// expected-error @+1 {{support of 'nn.conv': property 'group' must accept at least one value}}
func.func private @property() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", properties = {group = []}}]>}
// -----
// expected-error @+1 {{duplicate field 'group'}}
func.func private @property_twice() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", properties = {group = [1], group = [2]}}]>}
// -----
// expected-error @+1 {{unknown requantization mode 'shfit'; did you mean 'shift'? (available: f32, single_round, double_round, shift, qlinear, litert_reference, litert_xnnpack)}}
func.func private @mode() attributes {t = #target.spec<"t", requantize = [shfit]>}
// -----
// expected-error @+1 {{ties must be given for shifts, and only for those (shift:even, shift:up, shift:away), but got 'shift'}}
func.func private @ties() attributes {t = #target.spec<"t", requantize = [shift]>}
// -----
// expected-error @+1 {{ties must be given for shifts, and only for those (shift:even, shift:up, shift:away), but got 'f32:even'}}
func.func private @no_ties() attributes {t = #target.spec<"t", requantize = [f32:even]>}
// -----
// expected-error @+1 {{in the support of 'nn.add': unknown tie rounding 'down' (available: even, up, away)}}
func.func private @which_ties() attributes {t = #target.spec<"t", supports = [{op = "nn.add", requantize = [shift:down]}]>}
