//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A compiled library as a function of numpy arrays: the arrays' memory is what
// the library reads and writes.

#include "convert.h"

#include "attune/Measure/Library.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstring>
#include <mutex>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// numpy's name of a type; bf16 and i4 travel as raw integers.
const char *dtypeOf(ElementType type) {
  switch (static_cast<AttuneType>(type)) {
  case ATTUNE_F32:
    return "float32";
  case ATTUNE_F64:
    return "float64";
  case ATTUNE_F16:
    return "float16";
  case ATTUNE_BF16:
    return "uint16";
  case ATTUNE_I1:
    return "bool";
  case ATTUNE_I4:
  case ATTUNE_I8:
    return "int8";
  case ATTUNE_I16:
    return "int16";
  case ATTUNE_I32:
    return "int32";
  case ATTUNE_I64:
  case ATTUNE_INDEX:
    return "int64";
  }
  return "";
}

/// What kind of number a buffer's format says: `f`loat, `i`nteger, `b`oolean;
/// 0: something else, or of another byte order.
char kindOf(const char *format) {
  std::string_view text = format ? format : "B";
  if (text.size() == 2 && (text[0] == '<' || text[0] == '=' || text[0] == '@'))
    text.remove_prefix(1);
  if (text.size() != 1)
    return 0;
  if (text[0] == '?')
    return 'b';
  if (std::string_view("efd").find(text[0]) != std::string_view::npos)
    return 'f';
  return std::string_view("bBhHiIlLqQ").find(text[0]) != std::string_view::npos
             ? 'i'
             : 0;
}

char kindOf(ElementType type) {
  switch (static_cast<AttuneType>(type)) {
  case ATTUNE_F32:
  case ATTUNE_F64:
  case ATTUNE_F16:
    return 'f';
  case ATTUNE_I1:
    return 'b';
  default:
    return 'i';
  }
}

/// An array's memory, held while the library uses it.
class View {
public:
  View() = default;
  View(View &&other) noexcept
      : buffer(other.buffer), isHeld(std::exchange(other.isHeld, false)) {}
  ~View() {
    if (isHeld)
      PyBuffer_Release(&buffer);
  }

  bool open(PyObject *object, int flags) {
    isHeld = PyObject_GetBuffer(object, &buffer, flags) == 0;
    if (!isHeld)
      PyErr_Clear();
    return isHeld;
  }
  const Py_buffer &get() const { return buffer; }

private:
  Py_buffer buffer = {};
  bool isHeld = false;
};

class Function {
public:
  Function(const std::string &path, const std::string &name)
      : library(take(Library::open(path))) {
    const Signature &signature = library->getSignature();
    entry = name.empty() && signature.entries.size() == 1
                ? &signature.entries.front()
                : take(signature.find(name.empty() ? "main" : name));
    nb::object numpy = nb::module_::import_("numpy");
    empty = numpy.attr("empty");
    for (const TensorType &type : entry->outputs)
      dtypes.push_back(numpy.attr("dtype")(dtypeOf(type.type)));
    for (const TensorType &type : entry->outputs)
      shapes.push_back(type.isStatic() ? toTuple(type.shape) : nb::object());
  }

  nb::object call(nb::args arguments) {
    size_t count = entry->inputs.size();
    if (arguments.size() != count)
      raise(PyExc_TypeError, "takes " + std::to_string(count) +
                                 " arrays, not " +
                                 std::to_string(arguments.size()));
    llvm::SmallVector<View, 4> views(count);
    llvm::SmallVector<AttuneTensor, 4> inputs, outputs;
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(describe(arguments[i], i, views[i]));
    llvm::SmallVector<nb::object, 2> results;
    llvm::SmallVector<View, 2> resultViews(entry->outputs.size());
    for (size_t i = 0; i < entry->outputs.size(); ++i)
      outputs.push_back(makeOutput(i, results, resultViews[i]));
    run(inputs, outputs);
    // The library allocated those whose size it found out.
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!results[i].is_valid())
        results[i] = takeOver(outputs[i], i);
    if (results.size() == 1)
      return results.front();
    nb::list list;
    for (nb::object &result : results)
      list.append(result);
    return nb::tuple(list);
  }

  std::string getName() const { return entry->name; }
  std::vector<std::string> inputTypes() const { return typesOf(entry->inputs); }
  std::vector<std::string> outputTypes() const {
    return typesOf(entry->outputs);
  }

private:
  static std::vector<std::string>
  typesOf(const std::vector<TensorType> &types) {
    std::vector<std::string> texts;
    for (const TensorType &type : types)
      texts.push_back(toString(type));
    return texts;
  }

  static nb::object toTuple(llvm::ArrayRef<int64_t> shape) {
    nb::list list;
    for (int64_t size : shape)
      list.append(size);
    return nb::tuple(list);
  }

  [[noreturn]] void raise(PyObject *kind, const std::string &message) const {
    PyErr_SetString(kind, (entry->name + ": " + message).c_str());
    throw nb::python_error();
  }

  static std::string textOf(nb::object object) {
    return nb::str(nb::handle(object)).c_str();
  }

  static std::string dtypeName(nb::handle array) {
    if (nb::hasattr(array, "dtype"))
      return textOf(array.attr("dtype"));
    return textOf(array.type().attr("__name__"));
  }

  /// What is wrong with an argument is said with both sides.
  AttuneTensor describe(nb::handle argument, size_t index, View &view) const {
    const TensorType &type = entry->inputs[index];
    auto where = [&] { return "input " + std::to_string(index); };
    if (!view.open(argument.ptr(), PyBUF_STRIDES | PyBUF_FORMAT))
      raise(PyExc_TypeError,
            where() + " is a " + dtypeName(argument) + ", not a numpy array");
    const Py_buffer &buffer = view.get();
    if (kindOf(buffer.format) != kindOf(type.type) ||
        buffer.itemsize != static_cast<Py_ssize_t>(byteWidth(type.type)))
      raise(PyExc_TypeError, where() + " is " + toString(type) + ", that is " +
                                 dtypeOf(type.type) + "; the array is " +
                                 dtypeName(argument));
    AttuneTensor tensor = {};
    tensor.data = buffer.buf;
    tensor.type = static_cast<int32_t>(type.type);
    tensor.rank = buffer.ndim;
    bool fits = static_cast<size_t>(buffer.ndim) == type.shape.size() &&
                buffer.ndim <= ATTUNE_MAX_RANK;
    for (int d = 0; fits && d < buffer.ndim; ++d) {
      fits = type.shape[d] < 0 || type.shape[d] == buffer.shape[d];
      tensor.sizes[d] = buffer.shape[d];
      tensor.strides[d] = buffer.strides[d] / buffer.itemsize;
      if (buffer.strides[d] % buffer.itemsize)
        raise(PyExc_ValueError, where() + " has elements that overlap; give a "
                                          "copy of it");
    }
    if (!fits)
      raise(PyExc_ValueError, where() + " is " + toString(type) +
                                  "; the array has the shape " +
                                  textOf(argument.attr("shape")));
    return tensor;
  }

  /// numpy's memory where the size is known.
  AttuneTensor makeOutput(size_t index,
                          llvm::SmallVectorImpl<nb::object> &results,
                          View &view) const {
    const TensorType &type = entry->outputs[index];
    if (!shapes[index].is_valid()) {
      results.push_back(nb::object());
      AttuneTensor tensor = {};
      tensor.type = static_cast<int32_t>(type.type);
      tensor.rank = static_cast<int32_t>(type.shape.size());
      return tensor;
    }
    results.push_back(empty(shapes[index], dtypes[index]));
    view.open(results.back().ptr(), PyBUF_STRIDES | PyBUF_WRITABLE);
    return describeTensor(type.type, type.shape, view.get().buf);
  }

  void run(llvm::ArrayRef<AttuneTensor> inputs,
           llvm::MutableArrayRef<AttuneTensor> outputs) {
    llvm::Error error = llvm::Error::success();
    {
      llvm::ErrorAsOutParameter guard(error);
      nb::gil_scoped_release release;
      // An instance of a program is used by one thread at a time.
      std::lock_guard lock(mutex);
      error = library->run(entry->name, inputs, outputs);
    }
    if (error)
      throw AttuneError(entry->name + ": " + llvm::toString(std::move(error)));
  }

  nb::object takeOver(AttuneTensor &output, size_t index) {
    llvm::ArrayRef<int64_t> shape(output.sizes, output.rank);
    nb::object array = empty(toTuple(shape), dtypes[index]);
    View view;
    view.open(array.ptr(), PyBUF_STRIDES | PyBUF_WRITABLE);
    std::memcpy(view.get().buf, output.data, view.get().len);
    std::lock_guard lock(mutex);
    library->release(output);
    return array;
  }

  std::unique_ptr<Library> library;
  const Signature::Entry *entry = nullptr;
  nb::object empty; ///< numpy.empty
  std::vector<nb::object> dtypes, shapes;
  std::mutex mutex;
};

} // namespace

void addFunction(nb::module_ &module) {
  nb::class_<Function>(module, "Function")
      .def(nb::init<const std::string &, const std::string &>(), "path"_a,
           "entry"_a = "")
      .def("__call__", &Function::call)
      .def_prop_ro("name", &Function::getName)
      .def_prop_ro("inputs", &Function::inputTypes,
                   "Types of the inputs: ['4x784xf32', ...].")
      .def_prop_ro("outputs", &Function::outputTypes);
}

} // namespace attune::python

NB_MODULE(_attune, module) {
  using namespace attune::python;
  module.doc() = "The compiled part of the package attune.";
  nb::exception<AttuneError>(module, "Error", PyExc_RuntimeError);
  addSpace(module);
  addSearch(module);
  addFunction(module);
}
