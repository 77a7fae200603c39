// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'a b' is not a name of a target}}
func.func private @name() attributes {t = #target.spec<"a b">}
// -----
// expected-error @+1 {{a target has no field 'keeps', did you mean 'keep'?, there are keep, supports, requantize, raises, patterns, parameters}}
func.func private @field() attributes {t = #target.spec<"t", keeps = []>}
// -----
// expected-error @+1 {{'keep' is there twice}}
func.func private @field_twice() attributes {t = #target.spec<"t", keep = ["a"], keep = ["b"]>}
// -----
// expected-error @+1 {{a support has no field 'inputs', did you mean 'input'?}}
func.func private @slot() attributes {t = #target.spec<"t", supports = [{op = "nn.add", inputs = {}}]>}
// -----
// expected-error @+1 {{a slot has no field 'storage', did you mean 'storages'?, there are storages, schemes, granularities}}
func.func private @accepted() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storage = [i8]}}]>}
// -----
// expected-error @+1 {{illegal storage type 'x8'}}
func.func private @storage() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storages = [x8]}}]>}
// -----
// expected-error @+1 {{support of 'nn.add': the limits 3 and 3 must ascend}}
func.func private @limits() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {storages = [i8<3:3>]}}]>}
// -----
// expected-error @+1 {{support of 'nn.add': no scheme 'symetric', did you mean 'symmetric'?, there are}}
func.func private @scheme() attributes {t = #target.spec<"t", supports = [{op = "nn.add", input = {schemes = [symetric]}}]>}
// -----
// expected-error @+1 {{support of 'nn.conv': 'axis' is not a granularity: tensor, channel, block and block:N are accepted}}
func.func private @granularity() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", weight = {granularities = [axis]}}]>}
// -----
// expected-error @+1 {{support of 'nn.conv': granularities are for weights, slot 'input' has one scale}}
func.func private @granularity_of_data() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", input = {granularities = [channel]}}]>}
// -----
// expected-error @+1 {{a support names an operation}}
func.func private @no_operation() attributes {t = #target.spec<"t", supports = [{input = {}}]>}
// -----
// expected-error @+1 {{support of 'nn.conv': property 'group' has no value that is accepted}}
func.func private @property() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", properties = {group = []}}]>}
// -----
// expected-error @+1 {{'group' is there twice}}
func.func private @property_twice() attributes {t = #target.spec<"t", supports = [{op = "nn.conv", properties = {group = [1], group = [2]}}]>}
// -----
// expected-error @+1 {{no mode of requantization 'shfit', did you mean 'shift'?, there are f32, single_round, double_round, shift, qlinear}}
func.func private @mode() attributes {t = #target.spec<"t", requantize = [shfit]>}
// -----
// expected-error @+1 {{'shift': a shift, and nothing else, names its ties: shift:even, shift:up, shift:away}}
func.func private @ties() attributes {t = #target.spec<"t", requantize = [shift]>}
// -----
// expected-error @+1 {{'f32:even': a shift, and nothing else, names its ties}}
func.func private @no_ties() attributes {t = #target.spec<"t", requantize = [f32:even]>}
// -----
// expected-error @+1 {{no rule for ties 'down', there are even, up, away}}
func.func private @which_ties() attributes {t = #target.spec<"t", supports = [{op = "nn.add", requantize = [shift:down]}]>}
