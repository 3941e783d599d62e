//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Between Attune's values and Python's. Errors become attune.Error with the
// same text as on the command line.

#ifndef ATTUNE_PYTHON_CONVERT_H
#define ATTUNE_PYTHON_CONVERT_H

#include "attune/Schedule/Configuration.h"
#include "attune/Space/Space.h"
#include "llvm/Support/Error.h"
#include <nanobind/nanobind.h>
#include <stdexcept>

namespace attune::python {

/// Becomes attune.Error.
class AttuneError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T> T take(llvm::Expected<T> value) {
  if (!value)
    throw AttuneError(llvm::toString(value.takeError()));
  return std::move(*value);
}

inline void check(llvm::Error error) {
  if (error)
    throw AttuneError(llvm::toString(std::move(error)));
}

nanobind::object toObject(const KnobValue &value);
/// numpy's and torch's scalars and arrays count as Python's.
KnobValue toValue(const std::string &name, nanobind::handle object);
/// {"tile": 4, "pack": True}, in the order of the knobs.
nanobind::dict toDict(const Configuration &configuration);
/// Knobs in the dictionary's order; a schedule has to be set by the caller.
Configuration toConfiguration(nanobind::dict values);

/// In the order of the space's knobs, with its schedule.
Configuration inOrder(const Space &space, nanobind::dict values);
/// The same; what is not in the space is an error that shows it.
Configuration member(const Space &space, nanobind::dict values);

void addSpace(nanobind::module_ &module);
void addSearch(nanobind::module_ &module);
void addFunction(nanobind::module_ &module);

} // namespace attune::python

#endif // ATTUNE_PYTHON_CONVERT_H
