//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Buffer.h"

#include "attune/Support/Error.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace attune;
using llvm::Expected;

static constexpr char pattern = '\xA5';

//===----------------------------------------------------------------------===//
// What the fault handler knows: a signal handler can reach nothing but globals
//===----------------------------------------------------------------------===//

namespace {
struct GuardEntry {
  std::atomic<const char *> pages = nullptr; // null: the slot is free
  size_t pageBytes;
  const char *begin;
  size_t bytes;
  char name[32];
};
} // namespace

static GuardEntry guardTable[256];
static const char *stackTop;

static int enterGuard(const char *pages, size_t pageBytes, const char *begin,
                      size_t bytes, llvm::StringRef name) {
  for (size_t slot = 0; slot < std::size(guardTable); ++slot) {
    GuardEntry &entry = guardTable[slot];
    if (entry.pages)
      continue;
    entry.pageBytes = pageBytes;
    entry.begin = begin;
    entry.bytes = bytes;
    size_t length = std::min(name.size(), sizeof(entry.name) - 1);
    std::memcpy(entry.name, name.data(), length);
    entry.name[length] = 0;
    entry.pages = pages;
    return static_cast<int>(slot);
  }
  return -1; // so many buffers: faults in this one are not explained
}

static void explainFault(int, siginfo_t *info, void *) {
  const char *address = static_cast<const char *>(info->si_addr);
  char text[160] = "";
  for (const GuardEntry &entry : guardTable) {
    const char *pages = entry.pages;
    if (!pages || address < pages || address >= pages + entry.pageBytes)
      continue;
    bool after = address >= entry.begin + entry.bytes;
    long distance =
        after ? address - (entry.begin + entry.bytes) : entry.begin - address;
    std::snprintf(text, sizeof(text), "access %ld bytes %s %s\n", distance,
                  after ? "after the end of" : "before the begin of",
                  entry.name);
    break;
  }
  rlimit stack;
  if (!*text && info->si_code != SI_KERNEL && stackTop &&
      ::getrlimit(RLIMIT_STACK, &stack) == 0 && address < stackTop &&
      address > stackTop - stack.rlim_cur - (16 << 20))
    std::snprintf(text, sizeof(text), "the stack is full\n");
  // The kernel gives no address for what is not an address at all.
  if (!*text && info->si_code == SI_KERNEL)
    std::snprintf(text, sizeof(text), "a misaligned or impossible address\n");
  (void)!::write(2, text, std::strlen(text));
  // The handler is gone (SA_RESETHAND): the fault happens again and ends us.
}

void attune::explainFaults() {
  // A sanitizer's handlers would end us with an exit status instead of a name.
  for (int signal : {SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    ::signal(signal, SIG_DFL);
  // A full stack has no room for a handler.
  static char handlerStack[64 << 10];
  stack_t stack = {};
  stack.ss_sp = handlerStack;
  stack.ss_size = sizeof(handlerStack);
  ::sigaltstack(&stack, nullptr);
  stackTop = static_cast<const char *>(__builtin_frame_address(0));
  struct sigaction action = {};
  action.sa_sigaction = explainFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

//===----------------------------------------------------------------------===//
// GuardedBuffer
//===----------------------------------------------------------------------===//

Expected<GuardedBuffer> GuardedBuffer::create(size_t bytes, Guard guard,
                                              llvm::StringRef name) {
  size_t page = ::sysconf(_SC_PAGESIZE);
  // Equal offsets in their pages would make all buffers of a program fight for
  // the same lines of the cache.
  static size_t count = 0;
  size_t stagger = guard == Guard::Aligned ? (count++ % 16) * 192 : 0;
  size_t inner =
      std::max<size_t>(1, (bytes + stagger + page - 1) / page) * page;
  GuardedBuffer buffer;
  void *pages = ::mmap(nullptr, inner + 2 * page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED || ::mprotect(static_cast<char *>(pages) + page,
                                        inner, PROT_READ | PROT_WRITE))
    return makeError("cannot allocate {0} bytes for {1}: {2}", bytes, name,
                     std::strerror(errno));
  buffer.pages = static_cast<char *>(pages);
  buffer.pageBytes = inner + 2 * page;
  buffer.bytes = bytes;
  char *first = buffer.pages + page;
  buffer.begin =
      guard == Guard::Tight ? first + inner - bytes : first + stagger;
  std::memset(first, pattern, buffer.begin - first);
  std::memset(buffer.begin + bytes, pattern,
              first + inner - (buffer.begin + bytes));
  buffer.slot =
      enterGuard(buffer.pages, buffer.pageBytes, buffer.begin, bytes, name);
  return buffer;
}

bool GuardedBuffer::isDamaged() const {
  size_t page = ::sysconf(_SC_PAGESIZE);
  const char *first = pages + page, *last = pages + pageBytes - page;
  auto isPattern = [](char c) { return c == pattern; };
  return !std::all_of(first, static_cast<const char *>(begin), isPattern) ||
         !std::all_of(static_cast<const char *>(begin) + bytes, last,
                      isPattern);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer &&other) {
  *this = std::move(other);
}

GuardedBuffer &GuardedBuffer::operator=(GuardedBuffer &&other) {
  std::swap(pages, other.pages);
  std::swap(pageBytes, other.pageBytes);
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
  std::swap(slot, other.slot);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (slot >= 0)
    guardTable[slot].pages = nullptr;
  if (pages)
    ::munmap(pages, pageBytes);
}
