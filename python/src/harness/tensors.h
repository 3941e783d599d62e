//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Attune's tensors and numpy's arrays, copied either way.

#ifndef ATTUNE_PYTHON_TENSORS_H
#define ATTUNE_PYTHON_TENSORS_H

#include "../convert.h"

#include "attune/Support/Tensor.h"

namespace attune::python {

/// numpy's name of a type; bf16 and i4 travel as raw integers.
const char *dtypeOf(ElementType type);

/// A numpy array of its own.
nanobind::object toArray(const Tensor &tensor);

/// `array`, anything that numpy takes, must have the type's dtype and shape; an
/// error begins with `what`.
Tensor toTensor(nanobind::handle array, const TensorType &type,
                const std::string &what);

} // namespace attune::python

#endif // ATTUNE_PYTHON_TENSORS_H
