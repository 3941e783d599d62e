//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Library.h"

#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <dlfcn.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static Error readTypes(const json::Array *array, std::vector<TensorType> &out) {
  if (!array)
    return makeError("a signature without inputs or outputs");
  for (const json::Value &value : *array) {
    const json::Object *object = value.getAsObject();
    Expected<TensorType> type = tensorTypeFromString(
        object ? object->getString("type").value_or("") : "");
    if (!type)
      return type.takeError();
    out.push_back(std::move(*type));
  }
  return Error::success();
}

Expected<Signature> attune::signatureFromJSON(StringRef text) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  const json::Array *entries = object ? object->getArray("entries") : nullptr;
  if (!entries)
    return makeError("a signature without entries");
  Signature signature;
  for (const json::Value &item : *entries) {
    const json::Object *entry = item.getAsObject();
    if (!entry)
      return makeError("a signature with a damaged entry");
    Signature::Entry read;
    read.name = entry->getString("name").value_or("").str();
    if (Error error = readTypes(entry->getArray("inputs"), read.inputs))
      return std::move(error);
    if (Error error = readTypes(entry->getArray("outputs"), read.outputs))
      return std::move(error);
    signature.entries.push_back(std::move(read));
  }
  if (const json::Array *dispatches = object->getArray("dispatches"))
    for (const json::Value &name : *dispatches)
      signature.dispatches.push_back(name.getAsString().value_or("").str());
  if (const json::Array *lowered = object->getArray("lowered"))
    for (const json::Value &item : *lowered)
      if (const json::Object *made = item.getAsObject())
        signature.lowered.push_back(
            {made->getString("name").value_or("").str(),
             made->getString("how").value_or("").str(),
             made->getString("code").value_or("").str()});
  return signature;
}

Expected<const Signature::Entry *> Signature::find(StringRef entry) const {
  std::vector<StringRef> names;
  for (const Entry &candidate : entries) {
    if (candidate.name == entry)
      return &candidate;
    names.push_back(candidate.name);
  }
  return makeError("no entry function '{0}'; there are: {1}", entry,
                   llvm::join(names, ", "));
}

AttuneTensor attune::describeTensor(ElementType type,
                                    llvm::ArrayRef<int64_t> shape, void *data) {
  AttuneTensor tensor = {};
  tensor.data = data;
  tensor.type = static_cast<int32_t>(type);
  tensor.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    tensor.sizes[d] = shape[d];
    tensor.strides[d] = stride;
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

struct Library::Functions {
  decltype(&attune_create) create;
  decltype(&attune_destroy) destroy;
  decltype(&attune_prepack) prepack;
  decltype(&attune_run) run;
  decltype(&attune_release) release;
  decltype(&attune_error) error;
  decltype(&attune_signature) signature;
  decltype(&attune_set_hooks) setHooks;
  decltype(&attune_set_checked) setChecked;
  decltype(&attune_recorder_create) createRecorder;
  decltype(&attune_recorder_destroy) destroyRecorder;
  decltype(&attune_recorder_hooks) recorderHooks;
  decltype(&attune_recorder_take) takeEvents;
  decltype(&attune_perf_counters) perfCounters;
};

template <typename Function>
static Error lookUp(void *handle, const char *name, Function &function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  if (!function)
    return makeError("it has no {0}; it was not made by Attune", name);
  return Error::success();
}

/// An OpenMP library that is unloaded with the program pulls the ground from
/// under its idle threads: it stays.
static void keepOpenMP() {
  for (const char *name :
       {"libomp.so.5", "libomp.so", "libgomp.so.1", "libiomp5.so"})
    ::dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/// The loader does not look whether all of a file is there, and dies of SIGBUS
/// when the disk was full or the linker killed. What is no ELF at all it finds
/// itself.
static Error checkWhole(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return Error::success();
  auto elf = llvm::object::ELFFile<llvm::object::ELF64LE>::create(
      (*buffer)->getBuffer());
  if (!elf) {
    llvm::consumeError(elf.takeError());
    return Error::success();
  }
  auto segments = elf->program_headers();
  if (!segments)
    return makeError("cannot load {0}: file too short", path);
  for (const auto &segment : *segments)
    if (segment.p_offset > elf->getBufSize() ||
        segment.p_filesz > elf->getBufSize() - segment.p_offset)
      return makeError("cannot load {0}: file too short", path);
  return Error::success();
}

Expected<std::unique_ptr<Library>> Library::open(StringRef path) {
  if (Error error = checkWhole(path))
    return std::move(error);
  std::unique_ptr<Library> library(new Library);
  library->handle = ::dlopen(path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    return makeError("cannot load {0}", ::dlerror());
  keepOpenMP();
  library->functions = std::make_unique<Functions>();
  Functions &f = *library->functions;
  Error missing = Error::success();
  auto find = [&](const char *name, auto &function) {
    if (!missing)
      missing = lookUp(library->handle, name, function);
  };
  find("attune_create", f.create);
  find("attune_destroy", f.destroy);
  find("attune_prepack", f.prepack);
  find("attune_run", f.run);
  find("attune_release", f.release);
  find("attune_error", f.error);
  find("attune_signature", f.signature);
  find("attune_set_hooks", f.setHooks);
  find("attune_set_checked", f.setChecked);
  find("attune_recorder_create", f.createRecorder);
  find("attune_recorder_destroy", f.destroyRecorder);
  find("attune_recorder_hooks", f.recorderHooks);
  find("attune_recorder_take", f.takeEvents);
  find("attune_perf_counters", f.perfCounters);
  if (missing)
    return makeError("cannot load {0}: {1}", path,
                     llvm::toString(std::move(missing)));
  Expected<Signature> signature = signatureFromJSON(f.signature());
  if (!signature)
    return makeError("cannot load {0}: {1}", path,
                     llvm::toString(signature.takeError()));
  library->signature = std::move(*signature);
  if (f.create(ATTUNE_ABI_VERSION, &library->program))
    return makeError("cannot create the program of {0}: {1}", path,
                     f.error(nullptr));
  return library;
}

std::string Library::getSignatureText() const { return functions->signature(); }

Library::~Library() {
  if (program)
    functions->destroy(program);
  if (handle)
    ::dlclose(handle);
}

Error Library::prepack(const std::string &entry,
                       llvm::ArrayRef<AttuneTensor> inputs) {
  if (functions->prepack(program, entry.c_str(), inputs.data(), inputs.size()))
    return makeError("{0}", functions->error(program));
  return Error::success();
}

Error Library::run(const std::string &entry,
                   llvm::ArrayRef<AttuneTensor> inputs,
                   llvm::MutableArrayRef<AttuneTensor> outputs) {
  if (functions->run(program, entry.c_str(), inputs.data(), inputs.size(),
                     outputs.data(), outputs.size())) {
    const char *text = functions->error(program);
    return makeError("{0}", text && *text ? text : "the program failed");
  }
  return Error::success();
}

void Library::release(AttuneTensor &output) {
  functions->release(program, &output);
}
void Library::setChecked(bool on) { functions->setChecked(program, on); }
void Library::setHooks(const AttuneHooks *hooks) {
  functions->setHooks(program, hooks);
}

//===----------------------------------------------------------------------===//
// Recorder
//===----------------------------------------------------------------------===//

Expected<Recorder> Library::createRecorder(int64_t eventsPerThread,
                                           Counters counters) {
  AttuneRecorderOptions options = {};
  options.eventsPerThread = eventsPerThread;
  if (counters == Counters::Hardware)
    options.counters = functions->perfCounters();
  Recorder recorder;
  recorder.destroyIt = functions->destroyRecorder;
  recorder.hooksOf = functions->recorderHooks;
  recorder.takeFrom = functions->takeEvents;
  if (functions->createRecorder(&options, &recorder.recorder))
    return makeError("recording dispatches: {0}", functions->error(nullptr));
  return recorder;
}

Recorder::Recorder(Recorder &&other) noexcept
    : recorder(std::exchange(other.recorder, nullptr)),
      destroyIt(other.destroyIt), hooksOf(other.hooksOf),
      takeFrom(other.takeFrom) {}

Recorder::~Recorder() {
  if (recorder)
    destroyIt(recorder);
}

const AttuneHooks *Recorder::hooks() const { return hooksOf(recorder); }

std::vector<AttuneEvent> Recorder::take(int64_t &lost) {
  constexpr int64_t step = 4096;
  std::vector<AttuneEvent> events;
  lost = 0;
  for (int64_t count = step; count == step;) {
    size_t old = events.size();
    events.resize(old + step);
    int64_t missing = 0;
    count = takeFrom(recorder, events.data() + old, step, &missing);
    lost += missing;
    events.resize(old + count);
  }
  return events;
}
