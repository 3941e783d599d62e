//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "attune/Support/Error.h"

#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace llvm;

namespace attune::fakes {

static const TensorType tensorType = {ElementType::F32, {4}};

const FakeDispatch &World::find(StringRef name) const {
  for (const FakeDispatch &dispatch : dispatches)
    if (dispatch.name == name)
      return dispatch;
  report_fatal_error("a dispatch nobody made: " + name);
}

double World::baselineSeconds() const {
  double sum = 0;
  for (const FakeDispatch &dispatch : dispatches)
    sum += dispatch.baselineSeconds;
  return sum;
}

double World::tunedSeconds(const Spec &spec) const {
  double sum = 0;
  for (const FakeDispatch &dispatch : dispatches) {
    double seconds = dispatch.baselineSeconds;
    for (const SpecEntry &entry : spec.entries)
      if (entry.fingerprint == dispatch.name + "-print")
        seconds = dispatch
                      .behave(knob(entry.configuration, "tile"),
                              knob(entry.configuration, "unroll"))
                      .seconds;
    sum += seconds;
  }
  return sum;
}

double World::jitter() {
  return std::exp(
      std::normal_distribution<>(0, noise)(sameTimesAgain ? again : random));
}

void World::called(StringRef what) {
  if (onCall)
    onCall(what);
  again.seed(xxh3_64bits(what));
}

int64_t World::count(StringRef what) const {
  return llvm::count_if(log,
                        [&](StringRef line) { return line.contains(what); });
}

Space fakeSpace(StringRef schedule, int64_t tiles) {
  std::vector<Knob> knobs;
  knobs.push_back({"tile", cantFail(Domain::range(1, tiles))});
  knobs.push_back({"unroll", cantFail(Domain::powersOfTwo(1, 4))});
  return cantFail(Space::create(schedule.str(), std::move(knobs), {}));
}

Configuration fakeConfiguration(int64_t tile, int64_t unroll) {
  return {"fake", {{"tile", tile}, {"unroll", unroll}}};
}

int64_t knob(const Configuration &configuration, StringRef name) {
  return std::get<int64_t>(*configuration.find(name));
}

FakeBackend::FakeBackend(World &world) : world(world) {
  entryList.push_back({"main", {tensorType}, {tensorType}});
  for (const FakeDispatch &fake : world.dispatches) {
    BackendDispatch dispatch;
    dispatch.name = fake.name;
    dispatch.fingerprint = fake.name + "-print";
    dispatch.rootOp = "contraction";
    dispatch.shapes = "4xf32";
    dispatch.calls = 1;
    dispatch.operations = fake.operations;
    dispatch.number = dispatchList.size();
    dispatch.inputs = dispatch.outputs = {tensorType};
    dispatch.isConstant = {false};
    dispatchList.push_back(dispatch);
  }
}

Expected<std::vector<CandidateSpace>>
FakeBackend::spaces(const BackendDispatch &) {
  std::vector<CandidateSpace> spaces;
  spaces.push_back({"fake", scheduleVersion, fakeSpace("fake", world.tiles),
                    fakeConfiguration(1, 1)});
  return spaces;
}

Expected<std::string> FakeBackend::buildProgram(Build build) {
  world.called("build program");
  world.log.push_back("build");
  world.clock.advance(1);
  return build == Build::Reference ? "reference"
         : build == Build::Capture ? "capture"
                                   : "baseline";
}

Expected<std::string> FakeBackend::buildTuned(const Spec &spec,
                                              ApplyResult &applied, StringRef) {
  world.called("build tuned");
  world.log.push_back("tuned with " + std::to_string(spec.entries.size()));
  world.tuned.push_back(spec);
  for (const SpecEntry &entry : spec.entries)
    applied.entries.push_back({&entry, {entry.fingerprint}, ""});
  return "tuned/" + std::to_string(world.tuned.size() - 1);
}

Expected<std::string>
FakeBackend::buildDispatch(const BackendDispatch &dispatch, Build build) {
  world.called("build dispatch " + dispatch.name);
  return "dispatch/" + dispatch.name +
         (build == Build::Reference ? "/reference" : "/baseline");
}

Expected<std::vector<CompiledCandidate>>
FakeBackend::compileCandidates(const BackendDispatch &dispatch,
                               ArrayRef<Configuration> configurations) {
  world.called("compile " + dispatch.name);
  world.clock.advance(world.compileCost);
  std::vector<CompiledCandidate> result;
  for (const Configuration &configuration : configurations) {
    Behaviour behaviour =
        world.find(dispatch.name)
            .behave(knob(configuration, "tile"), knob(configuration, "unroll"));
    std::string name =
        formatv("{0}/{1},{2}", dispatch.name, knob(configuration, "tile"),
                knob(configuration, "unroll"));
    world.log.push_back("compile " + name);
    ++world.compiled[name];
    CompiledCandidate candidate;
    candidate.outcome = behaviour.compile;
    if (world.accident && world.accident() == Outcome::Crash)
      candidate.outcome = Outcome::CompileError;
    candidate.compileSeconds = world.compileCost;
    if (candidate.outcome == Outcome::Ok)
      candidate.library = "candidate/" + name;
    else
      candidate.reason = "the compiler said no";
    result.push_back(std::move(candidate));
  }
  return result;
}

void FakeExecutor::addTimes(Measurement &measurement, double seconds,
                            double baseline, unsigned repetitions) {
  for (unsigned i = 0; i < repetitions; ++i) {
    measurement.seconds.push_back(seconds * world.jitter());
    measurement.baselineSeconds.push_back(baseline * world.jitter());
  }
}

/// The accident, if one happens to this job.
static Outcome accidentOf(World &world, const Limits &limits) {
  Outcome outcome = world.accident ? world.accident() : Outcome::Ok;
  if (outcome == Outcome::RunTimeout)
    world.clock.advance(limits.wallSeconds);
  return outcome;
}

Expected<Measurement> FakeExecutor::measure(const MeasureJob &job,
                                            const Limits &limits) {
  world.called(
      formatv("measure {0} {1}", job.candidate, job.timing.minRepetitions)
          .str());
  world.clock.advance(world.measureCost);
  if (Outcome outcome = accidentOf(world, limits); outcome != Outcome::Ok) {
    Measurement result;
    result.outcome = outcome;
    result.reason = "an accident";
    return result;
  }
  SmallVector<StringRef> parts;
  StringRef(job.candidate).split(parts, '/');
  if (parts.front() == "candidate")
    return measureCandidate(parts[1], parts[2], job);
  if (parts.front() == "tuned") {
    unsigned number = 0;
    parts[1].getAsInteger(10, number);
    return measureProgram(world.tuned[number], job);
  }
  return Measurement(); // the untuned program against the reference
}

Expected<Measurement> FakeExecutor::measureCandidate(StringRef name,
                                                     StringRef configuration,
                                                     const MeasureJob &job) {
  if (world.beforeMeasure)
    world.beforeMeasure(world.measured);
  if (world.measured++ == world.executorDiesAt)
    return makeError("the run process cannot be started");
  const FakeDispatch &dispatch = world.find(name);
  int64_t tile = 0, unroll = 0;
  auto [left, right] = configuration.split(',');
  left.getAsInteger(10, tile);
  right.getAsInteger(10, unroll);
  Behaviour behaviour = dispatch.behave(tile, unroll);
  Measurement result;
  result.outcome = behaviour.run;
  if (behaviour.run != Outcome::Ok)
    result.reason = "it did something bad";
  else if (behaviour.garbage)
    result.seconds = {-1, 0};
  else
    addTimes(result, behaviour.seconds, dispatch.baselineSeconds,
             job.timing.minRepetitions);
  return result;
}

Measurement FakeExecutor::measureProgram(const Spec &spec,
                                         const MeasureJob &job) {
  Measurement result;
  if (world.programOutcome)
    result.outcome = world.programOutcome(spec);
  if (result.outcome != Outcome::Ok) {
    result.reason = "result 0 differs at [2]";
    return result;
  }
  std::optional<double> seconds;
  if (world.programSeconds)
    seconds = world.programSeconds(spec);
  addTimes(result, seconds.value_or(world.tunedSeconds(spec)),
           world.baselineSeconds(), job.timing.minRepetitions);
  return result;
}

/// What a dispatch takes inside a program: of a tuned one, as its configuration
/// says, unless it is one that gains nothing there.
double World::insideSeconds(StringRef library, const FakeDispatch &dispatch) {
  size_t number = 0;
  if (!library.consume_front("tuned/") || library.getAsInteger(10, number) ||
      dispatch.losesInside)
    return dispatch.baselineSeconds;
  for (const SpecEntry &entry : tuned[number].entries)
    if (entry.fingerprint == dispatch.name + "-print")
      return dispatch
          .behave(knob(entry.configuration, "tile"),
                  knob(entry.configuration, "unroll"))
          .seconds;
  return dispatch.baselineSeconds;
}

Expected<RunResult> FakeExecutor::run(const RunJob &job, const Limits &limits) {
  world.called("run " + job.library);
  world.clock.advance(world.measureCost);
  RunResult result;
  result.outcome = accidentOf(world, limits);
  if (result.outcome != Outcome::Ok)
    return result;
  Tensor tensor = Tensor::zeros(tensorType.type, tensorType.shape);
  for (const std::string &path : job.outputs)
    if (Error error = writeNpy(path, tensor))
      return std::move(error);
  for (unsigned i = 0; i < job.repetitions; ++i)
    result.seconds.push_back(world.baselineSeconds() * world.jitter());
  for (const auto &[index, dispatch] : enumerate(world.dispatches)) {
    result.dispatchSeconds.push_back(
        world.insideSeconds(job.library, dispatch));
    result.dispatchCalls.push_back(1);
    if (captureFolder.empty())
      continue;
    std::string path = formatv("{0}/d{1}.a0.npy", captureFolder, index);
    if (Error error = writeNpy(path, tensor))
      return std::move(error);
  }
  return result;
}

} // namespace attune::fakes
