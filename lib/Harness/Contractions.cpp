//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Contractions and convolutions that come with Attune.

#include "Shipped.h"

namespace attune {

using Dimension = ProblemDimension;
static constexpr auto Reduction = Dimension::Kind::Reduction;
static constexpr auto Parallel = Dimension::Kind::Parallel;
static constexpr auto Parameter = Dimension::Kind::Parameter;

/// Products of matrices, each operand as it is or transposed.
static Problem matmul(const char *name, bool transposeA, bool transposeB) {
  Problem problem;
  problem.name = name;
  problem.dimensions = {{"m"}, {"n"}, {"k", Reduction}};
  problem.inputs = {{"A", transposeA ? "k m" : "m k"},
                    {"B", transposeB ? "n k" : "k n"}};
  problem.outputs = {{"C", "m n"}};
  problem.flops = "2 * m * n * k";
  std::string a = transposeA ? "(k, m)" : "(m, k)";
  std::string b = transposeB ? "(n, k)" : "(k, n)";
  problem.body =
      "%C = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> " + a +
      ">, affine_map<(m, n, k) -> " + b +
      ">, affine_map<(m, n, k) -> (m, n)>] "
      "ins(%A, %B : $A, $B) outs(%C.zero : $C) -> $C";
  return problem;
}

std::vector<Problem> contractionProblems() {
  return {
      matmul("matmul", false, false),
      matmul("matmul_transpose_a", true, false),
      matmul("matmul_transpose_b", false, true),
      matmul("matmul_transpose_ab", true, true),
      {.name = "batch_matmul",
       .dimensions = {{"b"}, {"m"}, {"n"}, {"k", Reduction}},
       .inputs = {{"A", "b m k"}, {"B", "b k n"}},
       .outputs = {{"C", "b m n"}},
       .flops = "2 * b * m * n * k",
       .body = "%C = linalg.batch_matmul ins(%A, %B : $A, $B) "
               "outs(%C.zero : $C) -> $C"},
      {.name = "matvec",
       .dimensions = {{"m"}, {"k", Reduction}},
       .inputs = {{"A", "m k"}, {"x", "k"}},
       .outputs = {{"y", "m"}},
       .flops = "2 * m * k",
       .body = "%y = linalg.matvec ins(%A, %x : $A, $x) "
               "outs(%y.zero : $y) -> $y"},
      {.name = "vecmat",
       .dimensions = {{"n"}, {"k", Reduction}},
       .inputs = {{"x", "k"}, {"A", "k n"}},
       .outputs = {{"y", "n"}},
       .flops = "2 * n * k",
       .body = "%y = linalg.vecmat ins(%x, %A : $x, $A) "
               "outs(%y.zero : $y) -> $y"},
      {.name = "matmul_bias_relu",
       .dimensions = {{"m"}, {"n"}, {"k", Reduction}},
       .inputs = {{"A", "m k"}, {"B", "k n"}, {"bias", "n"}},
       .outputs = {{"C", "m n"}},
       .flops = "2 * m * n * k + 2 * m * n",
       .body = R"(
    %product = linalg.matmul ins(%A, %B : $A, $B) outs(%C.zero : $C) -> $C
    %zero = arith.constant 0.0 : $type
    %C = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                         affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%product, %bias : $C, $bias) outs(%C.empty : $C) {
    ^bb0(%p: $type, %b: $type, %o: $type):
      %s = $add %p, %b : $type
      %r = $max %s, %zero : $type
      linalg.yield %r : $type
    } -> $C)"},
  };
}

/// Height and width of an image, its window, and what comes out.
static std::vector<Dimension> image(std::vector<Dimension> channels) {
  std::vector<Dimension> dimensions = {
      {"n"},
      {"h", Parameter},
      {"w", Parameter},
      {"kh", Reduction},
      {"kw", Reduction},
      {"stride", Parameter, "", 1},
      {"pad", Parameter, "", 0},
      {"hp", Parameter, "h + 2 * pad"},
      {"wp", Parameter, "w + 2 * pad"},
      {"oh", Parallel, "(hp - kh) // stride + 1"},
      {"ow", Parallel, "(wp - kw) // stride + 1"}};
  dimensions.insert(dimensions.begin() + 3, channels.begin(), channels.end());
  return dimensions;
}

/// An image with its border, if it has any: `low` is the padding of each
/// dimension.
static std::string bordered(const std::string &low) {
  return R"(
    %border = arith.constant 0.0 : $type
    %P = tensor.pad %I low[)" +
         low + "] high[" + low + R"(] {
    ^bb0(%i0: index, %i1: index, %i2: index, %i3: index):
      tensor.yield %border : $type
    } : $I to $P)";
}

static Problem conv2d(const char *name, bool channelsFirst) {
  Problem problem;
  problem.name = name;
  problem.dimensions = image({{"c", Reduction}, {"f"}});
  problem.inputs = {{"I", channelsFirst ? "n c h w" : "n h w c"},
                    {"K", channelsFirst ? "f c kh kw" : "kh kw c f"}};
  problem.outputs = {{"O", channelsFirst ? "n f oh ow" : "n oh ow f"}};
  problem.temporaries = {{"P", channelsFirst ? "n c hp wp" : "n hp wp c"}};
  problem.flops = "2 * n * oh * ow * f * kh * kw * c";
  std::string op = channelsFirst ? "conv_2d_nchw_fchw" : "conv_2d_nhwc_hwcf";
  problem.body =
      bordered(channelsFirst ? "0, 0, $pad, $pad" : "0, $pad, $pad, 0") +
      "\n    %O = linalg." + op +
      " {strides = dense<$stride> : vector<2xi64>, dilations = dense<1> : "
      "vector<2xi64>}\n        ins(%P, %K : $P, $K) outs(%O.zero : $O) -> $O";
  return problem;
}

/// The same with one more pixel on every side, unless told otherwise.
static Problem padded(Problem problem) {
  problem.name += "_padded";
  for (Dimension &dimension : problem.dimensions)
    if (dimension.name == "pad")
      dimension.defaultSize = 1;
  return problem;
}

static Problem conv1d(const char *name, bool channelsFirst) {
  Problem problem;
  problem.name = name;
  problem.dimensions = {{"n"},
                        {"w", Parameter},
                        {"c", Reduction},
                        {"f"},
                        {"kw", Reduction},
                        {"stride", Parameter, "", 1},
                        {"ow", Parallel, "(w - kw) // stride + 1"}};
  problem.inputs = {{"I", channelsFirst ? "n c w" : "n w c"},
                    {"K", channelsFirst ? "f c kw" : "kw c f"}};
  problem.outputs = {{"O", channelsFirst ? "n f ow" : "n ow f"}};
  problem.flops = "2 * n * ow * f * kw * c";
  problem.body =
      std::string("%O = linalg.") +
      (channelsFirst ? "conv_1d_ncw_fcw" : "conv_1d_nwc_wcf") +
      " {strides = dense<$stride> : vector<1xi64>, dilations = dense<1> : "
      "vector<1xi64>} ins(%I, %K : $I, $K) outs(%O.zero : $O) -> $O";
  return problem;
}

static Problem conv3d(const char *name, bool channelsFirst) {
  Problem problem;
  problem.name = name;
  problem.dimensions = {{"n"},
                        {"d", Parameter},
                        {"h", Parameter},
                        {"w", Parameter},
                        {"c", Reduction},
                        {"f"},
                        {"kd", Reduction},
                        {"kh", Reduction},
                        {"kw", Reduction},
                        {"stride", Parameter, "", 1},
                        {"od", Parallel, "(d - kd) // stride + 1"},
                        {"oh", Parallel, "(h - kh) // stride + 1"},
                        {"ow", Parallel, "(w - kw) // stride + 1"}};
  problem.inputs = {{"I", channelsFirst ? "n c d h w" : "n d h w c"},
                    {"K", channelsFirst ? "f c kd kh kw" : "kd kh kw c f"}};
  problem.outputs = {{"O", channelsFirst ? "n f od oh ow" : "n od oh ow f"}};
  problem.flops = "2 * n * od * oh * ow * f * kd * kh * kw * c";
  problem.body =
      std::string("%O = linalg.") +
      (channelsFirst ? "conv_3d_ncdhw_fcdhw" : "conv_3d_ndhwc_dhwcf") +
      " {strides = dense<$stride> : vector<3xi64>, dilations = dense<1> : "
      "vector<3xi64>} ins(%I, %K : $I, $K) outs(%O.zero : $O) -> $O";
  return problem;
}

std::vector<Problem> convolutionProblems() {
  return {
      conv1d("conv1d_nwc", false),
      conv1d("conv1d_ncw", true),
      conv2d("conv2d_nhwc", false),
      conv2d("conv2d_nchw", true),
      padded(conv2d("conv2d_nhwc", false)),
      conv3d("conv3d_ndhwc", false),
      conv3d("conv3d_ncdhw", true),
      {.name = "depthwise_conv1d",
       .dimensions = {{"n"},
                      {"w", Parameter},
                      {"c"},
                      {"kw", Reduction},
                      {"stride", Parameter, "", 1},
                      {"ow", Parallel, "(w - kw) // stride + 1"}},
       .inputs = {{"I", "n w c"}, {"K", "kw c"}},
       .outputs = {{"O", "n ow c"}},
       .flops = "2 * n * ow * c * kw",
       .body = "%O = linalg.depthwise_conv_1d_nwc_wc {strides = "
               "dense<$stride> : vector<1xi64>, dilations = dense<1> : "
               "vector<1xi64>} ins(%I, %K : $I, $K) outs(%O.zero : $O) -> $O"},
      {.name = "depthwise_conv2d",
       .dimensions = image({{"c"}}),
       .inputs = {{"I", "n h w c"}, {"K", "kh kw c"}},
       .outputs = {{"O", "n oh ow c"}},
       .temporaries = {{"P", "n hp wp c"}},
       .flops = "2 * n * oh * ow * c * kh * kw",
       .body = bordered("0, $pad, $pad, 0") + R"(
    %O = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<$stride> : vector<2xi64>,
        dilations = dense<1> : vector<2xi64>} ins(%P, %K : $P, $K) outs(%O.zero : $O) -> $O)"},
  };
}

} // namespace attune
