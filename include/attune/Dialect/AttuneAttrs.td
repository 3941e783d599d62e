//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTUNE_ATTRS_TD
#define ATTUNE_ATTRS_TD

include "attune/Dialect/AttuneDialect.td"

class Attune_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Attune_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Attune_ConfigAttr : Attune_Attr<"Config", "config"> {
  let summary = "A configuration: a schedule and one value for each of its knobs";
  let description = [{
    Sits as `attune.config` on a dispatch function, never on the ops inside,
    whose attributes do not survive generalisation, fusion or packing.

    Integers are `i64`, booleans `true` and `false`, floats `f64`, choices
    strings, permutations and tile-size vectors `array<i64: ...>`.

    Example: `#attune.config<"contraction_packed", {m_tile = 6 : i64, order = array<i64: 1, 0>}>`
  }];
  let parameters = (ins StringRefParameter<"schedule name">:$schedule,
                        "::mlir::DictionaryAttr":$values);
  let assemblyFormat = "`<` $schedule `,` $values `>`";
}

def Attune_TargetAttr : Attune_Attr<"TargetMachine", "target"> {
  let summary = "The machine code is made for; sizes in bytes";
  let description = [{
    Example: `#attune.target<cpu = "znver3", features = "+avx2,+fma", vectorBytes = 32,
    vectorRegisters = 16, cores = 2, l1 = 32768, l2 = 524288, l3 = 33554432>`
  }];
  let parameters = (ins StringRefParameter<"LLVM CPU name">:$cpu,
                        StringRefParameter<"LLVM features">:$features,
                        "int64_t":$vectorBytes, "int64_t":$vectorRegisters,
                        "int64_t":$cores, "int64_t":$l1, "int64_t":$l2, "int64_t":$l3);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// Domains: the `options` of a transform.tune.knob
//===----------------------------------------------------------------------===//

def Attune_RangeAttr : Attune_Attr<"Range", "range"> {
  let summary = "Integers from lower to upper, both included, by step";
  let description = "Example: `#attune.range<1, 64, step = 4>` is 1, 5, ..., 61.";
  let parameters = (ins "int64_t":$lower, "int64_t":$upper,
                        DefaultValuedParameter<"int64_t", "1">:$step);
  let assemblyFormat = "`<` $lower `,` $upper (`,` `step` `=` $step^)? `>`";
  let genVerifyDecl = 1;
}

def Attune_Pow2Attr : Attune_Attr<"Pow2", "pow2"> {
  let summary = "Powers of two from lower to upper, both included";
  let description = "Example: `#attune.pow2<8, 64>` is 8, 16, 32, 64.";
  let parameters = (ins "int64_t":$lower, "int64_t":$upper);
  let assemblyFormat = "`<` $lower `,` $upper `>`";
  let genVerifyDecl = 1;
}

def Attune_DivisorsAttr : Attune_Attr<"Divisors", "divisors"> {
  let summary = "The divisors of a dimension of the problem, or of a number";
  let description = [{
    `#attune.divisors<"m">` names a dimension that the dispatch binds; of a
    dynamic dimension the only divisor is 1. `of` may be a number in quotes.
  }];
  let parameters = (ins StringRefParameter<"dimension name or number">:$of);
  let assemblyFormat = "`<` $of `>`";
}

def Attune_PermutationAttr : Attune_Attr<"Permutation", "permutation"> {
  let summary = "The permutations of 0 .. size-1";
  let description = "Example: `#attune.permutation<3>` has six values, `array<i64: 0, 1, 2>` first.";
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
  let genVerifyDecl = 1;
}

def Attune_MultipleAttr : Attune_Attr<"Multiple", "multiple"> {
  let summary = "Of a size that is matched: a multiple of this";
  let description = "Example: `#attune.multiple<16>` is 16, 32, 48, ...";
  let parameters = (ins "int64_t":$of);
  let assemblyFormat = "`<` $of `>`";
  let genVerifyDecl = 1;
}

// Booleans are `[true, false]`, choices an array of strings, explicit integers
// an array of integers: all built-in ArrayAttr.

#endif // ATTUNE_ATTRS_TD
