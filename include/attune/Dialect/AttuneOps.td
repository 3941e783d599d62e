//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTUNE_OPS_TD
#define ATTUNE_OPS_TD

include "attune/Dialect/AttuneDialect.td"
include "attune/Dialect/AttuneAttrs.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

class Attune_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attune_Dialect, mnemonic, traits>;

def Attune_DispatchOp : Attune_Op<"dispatch", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>, Pure]> {
  let summary = "Runs a dispatch: inputs read, results written to destinations";
  let description = [{
    The callee is a private function `(inputs..., destinations...) -> results`
    that carries `attune.dispatch`. Results have the types of the destinations.

    ```mlir
    %r = attune.dispatch @matmul_0 ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>)
                                   outs(%init : tensor<4x2xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyType>:$inputs,
                       Variadic<AnyRankedTensor>:$outputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `ins` `(` ($inputs^ `:` type($inputs))? `)`
    `outs` `(` $outputs `:` type($outputs) `)` attr-dict
    custom<SameTypes>(ref(type($outputs)), type($results))
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def Attune_WeightOp : Attune_Op<"weight", [Pure]> {
  let summary = "A constant that is kept beside the code";
  let description = [{
    Number `index` of the program's weights; `hash` is that of its bytes, or of
    its place in the program where the file left the values out.

    Example: `%w = attune.weight 3 hash "9f86d081" : tensor<512x784xf32>`
  }];
  let arguments = (ins I64Attr:$index, StrAttr:$hash);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$index `hash` $hash attr-dict `:` type($result)";
}

def Attune_ApplyOp : Attune_Op<"apply", []> {
  let summary = "An entry of a spec: this configuration for those dispatches";
  let description = [{
    Applies to every dispatch with this fingerprint; or, of those that no
    fingerprint names, to every one that a matcher beside it takes: a
    `transform.named_sequence` of match ops that gets the root op, or what its
    argument's `attune.bind` says (`root`, `last`). `root` and `shapes` are for
    people; `baseline_seconds` and `tuned_seconds` are what the tuner measured
    on `target`.

    ```mlir
    attune.apply #attune.config<"contraction_packed", {m_tile = 6 : i64}>
        to "9f86d081884c7d65" {root = "contraction", shapes = "1024x1024x1024xf32"}
    attune.apply #attune.config<"contraction_packed", {m_tile = 4 : i64}> to @few_rows
    ```
  }];
  let arguments = (ins Attune_ConfigAttr:$config, AnyAttrOf<[StrAttr, FlatSymbolRefAttr]>:$dispatches);
  let assemblyFormat = "$config `to` $dispatches attr-dict";
  let extraClassDeclaration = [{
    /// Empty: there is a matcher.
    ::llvm::StringRef getFingerprint() {
      auto text = ::mlir::dyn_cast<::mlir::StringAttr>(getDispatches());
      return text ? text.getValue() : ::llvm::StringRef();
    }
    ::mlir::FlatSymbolRefAttr getMatcher() {
      return ::mlir::dyn_cast<::mlir::FlatSymbolRefAttr>(getDispatches());
    }
  }];
}

def Attune_SizesOp : Attune_Op<"sizes", []> {
  let summary = "An entry of a spec: sizes an entry function is compiled for, too";
  let description = [{
    The program gets a variant of the entry function for inputs whose open
    dimensions, in order, are within the ranges; it picks by the sizes when it
    runs. Where a range is one size, the variant is static. Sizes outside of all
    ranges take the general way.

    Example: `attune.sizes "main" [#attune.range<8, 8>, #attune.range<1, 512>]`
  }];
  let arguments = (ins StrAttr:$entry, ArrayAttr:$ranges);
  let assemblyFormat = "$entry $ranges attr-dict";
  let hasVerifier = 1;
}

#endif // ATTUNE_OPS_TD
