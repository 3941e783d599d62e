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
#include <nanobind/ndarray.h>
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

/// `f`loat, `B`rain float, `i`nteger, `b`oolean.
char kindOf(ElementType type) {
  switch (static_cast<AttuneType>(type)) {
  case ATTUNE_F32:
  case ATTUNE_F64:
  case ATTUNE_F16:
    return 'f';
  case ATTUNE_BF16:
    return 'B';
  case ATTUNE_I1:
    return 'b';
  default:
    return 'i';
  }
}

/// What kind of number a buffer's format says; 0: something else, or of another
/// byte order.
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

char kindOf(nb::dlpack::dtype type) {
  switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
  case nb::dlpack::dtype_code::Float:
    return 'f';
  case nb::dlpack::dtype_code::Bfloat:
    return 'B';
  case nb::dlpack::dtype_code::Bool:
    return 'b';
  case nb::dlpack::dtype_code::Int:
  case nb::dlpack::dtype_code::UInt:
    return 'i';
  default:
    return 0;
  }
}

/// An array's memory, held while the library uses it: of the buffer protocol
/// (numpy), else of DLPack (PyTorch, JAX, ...).
class View {
public:
  View() = default;
  View(View &&other) noexcept
      : buffer(other.buffer), isHeld(std::exchange(other.isHeld, false)),
        exchanged(std::move(other.exchanged)) {}
  ~View() {
    if (isHeld)
      PyBuffer_Release(&buffer);
  }

  /// False: it has no memory to share in these ways.
  bool open(nb::handle object) {
    isHeld = PyObject_GetBuffer(object.ptr(), &buffer,
                                PyBUF_STRIDES | PyBUF_FORMAT) == 0;
    if (isHeld)
      return true;
    PyErr_Clear();
    return nb::hasattr(object, "__dlpack__") &&
           nb::try_cast(object, exchanged) &&
           exchanged.device_type() == nb::device::cpu::value;
  }

  char kind() const {
    return isHeld ? kindOf(buffer.format) : kindOf(exchanged.dtype());
  }
  int64_t elementBytes() const {
    return isHeld ? buffer.itemsize : exchanged.itemsize();
  }
  size_t rank() const { return isHeld ? buffer.ndim : exchanged.ndim(); }
  int64_t size(size_t d) const {
    return isHeld ? buffer.shape[d] : exchanged.shape(d);
  }
  /// In bytes.
  int64_t stride(size_t d) const {
    return isHeld ? buffer.strides[d] : exchanged.stride(d) * elementBytes();
  }
  char *data() const {
    return static_cast<char *>(isHeld ? buffer.buf
                                      : const_cast<void *>(exchanged.data()));
  }
  bool isReadOnly() const { return isHeld && buffer.readonly; }

  bool isRowMajor() const {
    int64_t expected = elementBytes();
    for (size_t d = rank(); d-- > 0; expected *= size(d))
      if (size(d) > 1 && stride(d) != expected)
        return false;
    return true;
  }
  /// The bytes between its first and last element, both included.
  std::pair<const char *, const char *> extent() const {
    const char *first = data(), *last = first + elementBytes();
    for (size_t d = 0; d < rank(); ++d) {
      if (!size(d))
        return {data(), data()};
      int64_t reach = (size(d) - 1) * stride(d);
      (reach < 0 ? first : last) += reach;
    }
    return {first, last};
  }

private:
  Py_buffer buffer = {};
  bool isHeld = false;
  nb::ndarray<nb::ro> exchanged;
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

  nb::object call(nb::args arguments, nb::object given) {
    size_t count = entry->inputs.size();
    if (arguments.size() != count)
      raise(PyExc_TypeError, "takes " + std::to_string(count) +
                                 " arrays, not " +
                                 std::to_string(arguments.size()));
    llvm::SmallVector<View, 4> views(count);
    llvm::SmallVector<AttuneTensor, 4> inputs, outputs;
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(describe(arguments[i], entry->inputs[i], views[i],
                                [&] { return "input " + std::to_string(i); }));
    llvm::SmallVector<nb::object, 2> results;
    llvm::SmallVector<View, 2> resultViews(entry->outputs.size());
    if (given.is_none())
      for (size_t i = 0; i < entry->outputs.size(); ++i)
        outputs.push_back(makeOutput(i, results, resultViews[i]));
    else
      useOutputs(given, views, results, resultViews, outputs);
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

  /// What is wrong with an argument is said with both sides. `where()`: which.
  template <typename Where>
  AttuneTensor describe(nb::handle argument, const TensorType &type, View &view,
                        Where where) const {
    if (!view.open(argument))
      raise(PyExc_TypeError,
            where() + " is a " + dtypeName(argument) +
                ", not an array in this machine's memory (numpy's, or of "
                "DLPack)");
    char kind = view.kind();
    // bf16 is a kind of its own in DLPack, raw bits in numpy.
    bool isKind =
        kind == kindOf(type.type) || (kindOf(type.type) == 'B' && kind == 'i');
    if (!isKind ||
        view.elementBytes() != static_cast<int64_t>(byteWidth(type.type)))
      raise(PyExc_TypeError, where() + " is " + toString(type) + ", that is " +
                                 dtypeOf(type.type) + "; the array is " +
                                 dtypeName(argument));
    AttuneTensor tensor = {};
    tensor.data = view.data();
    tensor.type = static_cast<int32_t>(type.type);
    tensor.rank = static_cast<int32_t>(view.rank());
    bool fits =
        view.rank() == type.shape.size() && view.rank() <= ATTUNE_MAX_RANK;
    for (size_t d = 0; fits && d < view.rank(); ++d) {
      fits = type.shape[d] < 0 || type.shape[d] == view.size(d);
      tensor.sizes[d] = view.size(d);
      tensor.strides[d] = view.stride(d) / view.elementBytes();
      if (view.stride(d) % view.elementBytes())
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
    if (!view.open(results.back()))
      raise(PyExc_MemoryError, "numpy gave no array for a result");
    return describeTensor(type.type, type.shape, view.data());
  }

  /// The caller's arrays, which the library writes as it would its own: row by
  /// row, nothing else in between.
  void useOutputs(nb::object given, llvm::ArrayRef<View> inputs,
                  llvm::SmallVectorImpl<nb::object> &results,
                  llvm::MutableArrayRef<View> views,
                  llvm::SmallVectorImpl<AttuneTensor> &outputs) const {
    if (entry->outputs.size() == 1 && !nb::isinstance<nb::tuple>(given) &&
        !nb::isinstance<nb::list>(given))
      given = nb::make_tuple(given);
    if (!nb::isinstance<nb::sequence>(given) ||
        nb::len(given) != entry->outputs.size())
      raise(PyExc_TypeError, "out takes " +
                                 std::to_string(entry->outputs.size()) +
                                 " arrays, one a result");
    for (size_t i = 0; i < entry->outputs.size(); ++i) {
      nb::object array = given[i];
      auto where = [&] { return "out " + std::to_string(i); };
      outputs.push_back(describe(array, entry->outputs[i], views[i], where));
      if (views[i].isReadOnly())
        raise(PyExc_ValueError, where() + " is read-only");
      if (!views[i].isRowMajor())
        raise(PyExc_ValueError, where() + " is not contiguous (row-major)");
      for (size_t j = 0; j < inputs.size() + i; ++j)
        checkApart(views[i],
                   j < inputs.size() ? inputs[j] : views[j - inputs.size()],
                   where() + " shares memory with " +
                       (j < inputs.size()
                            ? "input " + std::to_string(j)
                            : "out " + std::to_string(j - inputs.size())));
      results.push_back(std::move(array));
    }
  }

  void checkApart(const View &left, const View &right,
                  const std::string &message) const {
    auto [first, last] = left.extent();
    auto [otherFirst, otherLast] = right.extent();
    if (first < otherLast && otherFirst < last)
      raise(PyExc_ValueError, message);
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
    if (!view.open(array))
      raise(PyExc_MemoryError, "numpy gave no array for a result");
    int64_t bytes = view.elementBytes();
    for (int64_t size : shape)
      bytes *= size;
    std::memcpy(view.data(), output.data, bytes);
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
  nb::class_<Function>(
      module, "Function",
      "A compiled entry function, called with an array for each input.")
      .def(nb::init<const std::string &, const std::string &>(), "path"_a,
           "entry"_a = "", "Loads a library that `attune compile` wrote.")
      .def("__call__", &Function::call, "arrays"_a, nb::kw_only(),
           "out"_a = nb::none(),
           "An array (numpy's, or of DLPack: PyTorch, JAX) of the right dtype "
           "and shape for each of `inputs`; no copies. Gives a new numpy array "
           "for each of `outputs`, in a tuple if there are several. `out`: "
           "contiguous, writable arrays to write instead. The interpreter's "
           "lock is released meanwhile.")
      .def_prop_ro("name", &Function::getName)
      .def_prop_ro("inputs", &Function::inputTypes,
                   "Types of the inputs: ['4x784xf32', ...]; ? is any size.")
      .def_prop_ro("outputs", &Function::outputTypes,
                   "Types of the results, the same way.");
}

} // namespace attune::python
