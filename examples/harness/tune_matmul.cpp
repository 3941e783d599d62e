// Tunes a matmul with a searcher of one's own: hill climbing. `tune_matmul 512
// 50` is 512 x 512 x 512 with 50 evaluations.
#include "attune/Harness/Harness.h"
#include "llvm/Support/raw_ostream.h"
using namespace attune;

/// A random configuration first, then neighbours of the best one so far.
struct HillClimbing final : Searcher {
  explicit HillClimbing(const Space &space) : space(space) {}
  std::vector<Configuration> ask(size_t n) override {
    if (best.values.empty())
      return {space.sample(random)};
    auto near = space.neighbours(best);
    return {near.empty() ? space.sample(random) : near[random() % near.size()]};
  }
  void tell(const Trial &trial) override {
    if (trial.outcome != Outcome::Ok || trial.medianSeconds() >= seconds)
      return;
    best = trial.configuration;
    seconds = trial.medianSeconds();
  }
  std::string stopReason() const override { return ""; }
  const Space &space;
  std::mt19937_64 random{7};
  Configuration best;
  double seconds = 1e9;
};

int main(int argc, char **argv) {
  int64_t size = argc > 1 ? std::atoll(argv[1]) : 512;
  size_t evaluations = argc > 2 ? std::atoll(argv[2]) : 50;
  llvm::ExitOnError check("error: ");
  auto harness = check(Harness::create({.attune = ATTUNE_EXECUTABLE}));
  ProblemCase matmul{check(findProblem("matmul")),
                     {{"m", size}, {"n", size}, {"k", size}}};
  Expert expert = check(findExpert("double_tiling"));
  ExpertSpace space = check(harness->space(matmul, expert));
  HillClimbing search(space.space);
  auto tuned = check(harness->tune(matmul, expert, search, evaluations));
  llvm::outs() << toTable(tuned.results);
  if (tuned.best)
    llvm::outs() << toString(tuned.results[*tuned.best].configuration) << "\n";
}
