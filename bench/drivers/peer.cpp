//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "peer.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>

using namespace bench;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static std::string setUp(Peer &peer, Matmul &problem, std::istream &words) {
  std::string library;
  words >> problem.m >> problem.n >> problem.k >> std::ws;
  std::getline(words, library);
  if (problem.m <= 0 || problem.n <= 0 || problem.k <= 0)
    throw std::runtime_error("setup needs three sizes");
  std::mt19937 random(7);
  auto fill = [&](std::vector<float> &v, int64_t size) {
    v.resize(size);
    // mt19937's numbers are the same everywhere; distributions are not.
    for (float &x : v)
      x = float(random() >> 8) / float(1 << 23) - 1;
  };
  fill(problem.a, problem.m * problem.k);
  fill(problem.b, problem.k * problem.n);
  problem.c.assign(problem.m * problem.n, -1.0f);
  std::string what = peer.setUp(problem, library);
  peer.call();
  return what;
}

/// One unmeasured call first: the process may have slept, its caches are cold.
static std::string run(Peer &peer, double seconds) {
  peer.call();
  std::vector<double> times;
  double start = now(), last = start;
  do {
    peer.call();
    double end = now();
    times.push_back(end - last);
    last = end;
  } while (last - start < seconds || times.size() < 3);
  std::sort(times.begin(), times.end());
  std::ostringstream out;
  out.precision(9);
  out << times.front() << ' ' << times[times.size() / 2] << ' ' << times.size();
  return out.str();
}

static std::string writeOutput(const Matmul &problem, const std::string &path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(problem.c.data()),
             problem.c.size() * sizeof(float));
  file.close();
  if (!file)
    throw std::runtime_error("cannot write " + path);
  return path;
}

int bench::serve(Peer &peer) {
  // A peer that bench.py has put to sleep could not see its input end.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Matmul problem{};
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::istringstream words(line);
      std::string command, path, answer;
      double seconds = 0;
      words >> command;
      if (command == "setup")
        answer = setUp(peer, problem, words);
      else if (command == "run" && words >> seconds)
        answer = run(peer, seconds);
      else if (command == "output" && words >> path)
        answer = writeOutput(problem, path);
      else
        throw std::runtime_error("unknown command: " + line);
      std::cout << "ok " << answer << std::endl;
    } catch (const std::exception &error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
  return 0;
}
