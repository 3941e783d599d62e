//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Match ops: what an op computes, not how it is written. Included by
// AttuneTransformOps.td.

#ifndef ATTUNE_MATCH_OPS_TD
#define ATTUNE_MATCH_OPS_TD

class AttuneTransform_Matcher<string mnemonic, list<Trait> traits = []>
    : AttuneTransform_Op<"match." # mnemonic, !listconcat([MatchOpInterface], traits)> {
  let hasVerifier = 1;
}

def AttuneTransform_MatchContractionOp : AttuneTransform_Matcher<"contraction"> {
  let summary = "Fails unless an op is a contraction of these sizes and types";
  let description = [{
    A product of two tensors summed over `k`, and nothing else computed besides
    (widening its operands is no computation): a matrix product in any layout,
    batched or not, named, as a category op or generic, with its operands in
    either order.

    `batch`, `m`, `n` and `k` list what the sizes of these loops may be, in the
    order in which the result has them (`k`: the left operand), and `m` comes
    before `n` there; a list that is left out allows anything. Elements are a number, `#attune.range<1, 64>`,
    `#attune.multiple<16>`, `unit` for any size, or -1 for one that is only
    known at run time. Loops that run once may be there or not. `types` are the
    element types of the operands and the result, `indexing_maps` their maps,
    up to the order of loops.

    With four results, these are the sizes that were found, as lists.

    ```mlir
    transform.attune.match.contraction %op {m = [#attune.range<1, 64>], k = [784],
        types = [f32, f32, f32]} : (!transform.any_op) -> ()
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ArrayAttr>:$batch, OptionalAttr<ArrayAttr>:$m,
                       OptionalAttr<ArrayAttr>:$n, OptionalAttr<ArrayAttr>:$k,
                       OptionalAttr<TypeArrayAttr>:$types,
                       OptionalAttr<AffineMapArrayAttr>:$indexing_maps);
  let results = (outs Variadic<TransformParamTypeInterface>:$sizes);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
}

def AttuneTransform_MatchConvolutionOp : AttuneTransform_Matcher<"convolution"> {
  let summary = "Fails unless an op is a convolution of these sizes and types";
  let description = [{
    A window moves over an image and is multiplied with a filter: in every layout
    (NHWC, NCHW, with the filter in any order), of any rank, depthwise and
    grouped. Lists are as in `match.contraction`; `strides` and `dilations` are
    numbers, one for each dimension of the window that is longer than 1.

    ```mlir
    transform.attune.match.convolution %op {output_image = [unit, unit], window = [3, 3],
        strides = [2, 2], types = [f32, f32, f32]} : (!transform.any_op) -> ()
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ArrayAttr>:$batch,
                       OptionalAttr<ArrayAttr>:$output_image,
                       OptionalAttr<ArrayAttr>:$output_channel,
                       OptionalAttr<ArrayAttr>:$window,
                       OptionalAttr<ArrayAttr>:$input_channel,
                       OptionalAttr<ArrayAttr>:$depth,
                       OptionalAttr<I64ArrayAttr>:$strides,
                       OptionalAttr<I64ArrayAttr>:$dilations,
                       OptionalAttr<TypeArrayAttr>:$types);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
}

def AttuneTransform_MatchReductionOp : AttuneTransform_Matcher<"reduction"> {
  let summary = "Fails unless an op is a reduction of these sizes, kind and types";
  let description = [{
    Any op with a reduction loop that is neither a contraction nor a convolution.
    `parallel` and `reduction` list sizes as in `match.contraction`, in the order
    of the loops. `combiner` is what joins two elements: `add`, `mul`, `max`,
    `min`, `and`, `or`, `xor`. With `plain`, nothing else is computed: a sum, not
    a sum of squares.

    ```mlir
    transform.attune.match.reduction %op {reduction = [#attune.range<128, 4096>],
        combiner = "max"} : (!transform.any_op) -> ()
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ArrayAttr>:$parallel,
                       OptionalAttr<ArrayAttr>:$reduction,
                       OptionalAttr<StrAttr>:$combiner,
                       OptionalAttr<TypeArrayAttr>:$types,
                       UnitAttr:$plain);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
}

def AttuneTransform_MatchAttentionOp : AttuneTransform_Matcher<"attention"> {
  let summary = "Fails unless an op ends attention: two contractions around a softmax";
  let description = [{
    The op is the second contraction, of the softmax with the values; between it
    and the first one, of queries and keys, may be views, a scale and a mask. The
    softmax is `linalg.softmax` or what frontends make of it. `batch`, `m`
    (queries), `n` (the width of a value), `k1` (of a key) and `k2` (keys) list
    sizes as in `match.contraction`; `types` are those of the queries, keys,
    values and the result.

    Example: `transform.attune.match.attention %op {k1 = [64]} : (!transform.any_op) -> ()`
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ArrayAttr>:$batch, OptionalAttr<ArrayAttr>:$m,
                       OptionalAttr<ArrayAttr>:$n, OptionalAttr<ArrayAttr>:$k1,
                       OptionalAttr<ArrayAttr>:$k2,
                       OptionalAttr<TypeArrayAttr>:$types);
  let assemblyFormat = "$target attr-dict `:` functional-type(operands, results)";
}

def AttuneTransform_MatchExampleOp
    : AttuneTransform_Matcher<"example", [SingleBlock, NoTerminator]> {
  let summary = "Fails unless an op and what it is computed from are as in an example";
  let description = [{
    The region is a piece of a program; its last op stands for the target, and
    its arguments for anything of their types. The same is computed, from the
    same values, with the same constants: a clamp at 6 is not a clamp at 1.
    Names, locations, discardable attributes, the form of ops (named, category,
    generic), the order of loops, of operands that commute, and dimensions of
    size 1 make no difference, nor does what an op overwrites.

    A dynamic size in the example stands for any size; `sizes`, a list for each
    argument, says more, as in `match.contraction`.

    ```mlir
    transform.attune.match.example %op {sizes = [[#attune.range<1, 64>, unit], [unit, unit]]} : !transform.any_op {
    ^bb0(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %init: tensor<?x?xf32>):
      %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
                         outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
    }
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       OptionalAttr<ArrayAttr>:$sizes);
  let regions = (region SizedRegion<1>:$example);
  let assemblyFormat = "$target attr-dict `:` type($target) $example";
}

#endif // ATTUNE_MATCH_OPS_TD
