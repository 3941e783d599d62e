//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Transform ops of ours: what upstream's cannot do without knowing the rank of
// an op, or only with attributes where a knob's param is wanted.

#ifndef ATTUNE_TRANSFORM_OPS_TD
#define ATTUNE_TRANSFORM_OPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/IR/TransformTypes.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/Dialect/Transform/Interfaces/MatchInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

class AttuneTransform_Op<string mnemonic, list<Trait> traits = []>
    : Op<Transform_Dialect, "attune." # mnemonic, !listconcat([
          DeclareOpInterfaceMethods<TransformOpInterface>,
          DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
          ReportTrackingListenerFailuresOpTrait], traits)> {
  let cppNamespace = "::attune::transform_ops";
}

def AttuneTransform_MatchOp : AttuneTransform_Op<"match", [MatchOpInterface]> {
  let summary = "Fails unless an op is of one of the given classes";
  let description = [{
    The classes are those of attune/Dialect/Classify.h, found by structure:
    `contraction`, `convolution`, `depthwise`, `pooling`, `reduction`,
    `elementwise`, `copy`, `fill`, `other`; and `matvec` for a contraction that has
    no loop to vectorise but its reduction.

    Example: `transform.attune.match %root is ["contraction"] : !transform.any_op`
  }];
  let arguments = (ins TransformHandleTypeInterface:$target, StrArrayAttr:$classes);
  let assemblyFormat = "$target `is` $classes attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def AttuneTransform_MatchParamOp : AttuneTransform_Op<"match_param", [MatchOpInterface]> {
  let summary = "Fails unless an integer is within bounds";
  let description = [{
    Example: `transform.attune.match_param %m in [1, 64] : !transform.param<i64>`
  }];
  let arguments = (ins TransformParamTypeInterface:$param,
                       I64Attr:$lower, I64Attr:$upper);
  let assemblyFormat =
      "$param `in` `[` $lower `,` $upper `]` attr-dict `:` type($param)";
}

def AttuneTransform_TileOp
    : AttuneTransform_Op<"tile", [AttrSizedOperandSegments]> {
  let summary = "Tiles loops by their role, and moves producers in";
  let description = [{
    `loops` names roles (`batch`, `m`, `n`, `k`, `window`), outermost first; each
    has a size, and every loop of that role gets it. 0 leaves a role alone.
    `order` is an optional permutation of `loops` in a param. With `threads` above
    1 the loops become one `scf.forall`. `fuse` lists the kinds (`attune.kind`)
    of producers to move into the loops, or `all`.

    Where a size does not divide a static extent, the rest becomes a part of its
    own, so that all tiles are static. The result holds the tiled ops, one for
    each part; targets that are not linalg ops are an error, none is fine.

    ```mlir
    %tiles = transform.attune.tile %last loops ["n", "m"] sizes(%nt, %mt)
        {fuse = ["root", "init", "epilogue"]}
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       Variadic<TransformParamTypeInterface>:$sizes,
                       Optional<TransformParamTypeInterface>:$order,
                       Optional<TransformParamTypeInterface>:$threads,
                       StrArrayAttr:$loops,
                       OptionalAttr<StrArrayAttr>:$fuse);
  let results = (outs TransformHandleTypeInterface:$tiled);
  let assemblyFormat = [{
    $target `loops` $loops `sizes` `(` $sizes `)` (`order` `(` $order^ `)`)?
    (`threads` `(` $threads^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def AttuneTransform_PackOp
    : AttuneTransform_Op<"pack", [AttrSizedOperandSegments]> {
  let summary = "Packs an operand of register tiles into contiguous panels";
  let description = [{
    `panel` is `m` or `n`: the operand that has that loop and not the other. The
    packed copy is made where the tensor that the tiles are cut from is
    defined, and is shared by the targets that read the same. `when`, an i64 or
    boolean param, is a knob's way to say no. Targets that cannot be
    packed stay as they are.

    ```mlir
    transform.attune.pack %root panel "n" lanes(%lanes) when(%pack_b) threads(%threads)
        : (!transform.any_op, ...) -> ()
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       TransformParamTypeInterface:$lanes,
                       Optional<TransformParamTypeInterface>:$when,
                       Optional<TransformParamTypeInterface>:$threads,
                       StrAttr:$panel);
  let assemblyFormat = [{
    $target `panel` $panel `lanes` `(` $lanes `)` (`when` `(` $when^ `)`)?
    (`threads` `(` $threads^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def AttuneTransform_TileReductionOp
    : AttuneTransform_Op<"tile_reduction", []> {
  let summary = "Reduces K as `lanes` partial results side by side";
  let description = [{
    The loop of role K runs in steps of `lanes`; the partial results are
    combined at its end. Targets with a loop N, along which the lanes run, go
    through their reductions step by step instead. Ops without a neutral element
    stay as they are.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       TransformParamTypeInterface:$lanes);
  let assemblyFormat = [{
    $target `lanes` `(` $lanes `)` attr-dict `:` functional-type(operands, results)
  }];
}

def AttuneTransform_TileRestOp : AttuneTransform_Op<"tile_rest", []> {
  let summary = "Tiles what no schedule has tiled yet to vectors";
  let description = [{
    Every linalg op under `target` that is too large for registers: the contiguous
    loop by `lanes`, the others by 1. Dynamic loops stay.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       TransformParamTypeInterface:$lanes);
  let assemblyFormat = [{
    $target `lanes` `(` $lanes `)` attr-dict `:` functional-type(operands, results)
  }];
}

def AttuneTransform_VectorizeOp : AttuneTransform_Op<"vectorize", []> {
  let summary = "Vectorises register-sized ops, and keeps vectors in registers";
  let description = [{
    Every linalg op under `target` with a static iteration space of at most
    `max_elements` points becomes vector code; nothing larger ever does. Then
    what passes from vector to vector through tensors is forwarded, and what loops
    carry is hoisted out of them.
  }];
  let arguments = (ins TransformHandleTypeInterface:$target,
                       DefaultValuedAttr<I64Attr, "4096">:$max_elements);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def AttuneTransform_RegisterTileOp
    : AttuneTransform_Op<"register_tile", []> {
  let summary = "A register tile that suits the sizes and the target";
  let description = [{
    The m by n tile that keeps accumulators, one row of n and one broadcast in the
    target's registers, and wastes least of them and of the sizes. With
    `whole_tiles` a rest costs as much as a tile: in a convolution it goes through
    the window again.

    ```mlir
    %mt, %nt = transform.attune.register_tile %m, %n, %element_bytes,
        %vector_bytes, %vector_registers : (...) -> (!transform.param<i64>, !transform.param<i64>)
    ```
  }];
  let arguments = (ins TransformParamTypeInterface:$m,
                       TransformParamTypeInterface:$n,
                       TransformParamTypeInterface:$element_bytes,
                       TransformParamTypeInterface:$vector_bytes,
                       TransformParamTypeInterface:$vector_registers,
                       UnitAttr:$whole_tiles);
  let results = (outs TransformParamTypeInterface:$m_tile,
                      TransformParamTypeInterface:$n_tile);
  let assemblyFormat = [{
    $m `,` $n `,` $element_bytes `,` $vector_bytes `,` $vector_registers attr-dict
    `:` functional-type(operands, results)
  }];
}

def AttuneTransform_ComputeOp : AttuneTransform_Op<"compute", []> {
  let summary = "Integer arithmetic on params";
  let description = [{
    The results of the map for the operands, dimensions first, then symbols; of
    several results the least. A negative operand (a dynamic size) makes the
    result 0, which tiling takes for "leave alone".

    ```mlir
    %block = transform.attune.compute affine_map<(d0)[s0] -> (d0 * s0)>
        (%tiles, %m_tile) : (...) -> !transform.param<i64>
    ```
  }];
  let arguments = (ins AffineMapAttr:$map,
                       Variadic<TransformParamTypeInterface>:$params);
  let results = (outs TransformParamTypeInterface:$result);
  let assemblyFormat =
      "$map `(` $params `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

include "attune/Dialect/AttuneMatchOps.td"

#endif // ATTUNE_TRANSFORM_OPS_TD
