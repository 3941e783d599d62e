//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What attune-keeper (tools/attune-keeper, in C) and Spawn.cpp say to each
// other. The keeper stands between us and a contained program: everything that
// the program starts ends with it.
//
//   attune-keeper MODE UID GID PROGRAM ARGUMENTS...
//
// MODE is `namespace` (it is the first process of a pid namespace, so that the
// kernel ends the rest with it), `user` (the same in a user namespace, whose
// numbers it sets to UID and GID) or `subreaper` (it finds and kills what is
// left). It writes one KeeperStart, and one KeeperEnd when the program ended,
// on descriptor 5.

#ifndef ATTUNE_SUPPORT_KEEPER_H
#define ATTUNE_SUPPORT_KEEPER_H

#include <stdint.h>

#define ATTUNE_KEEPER_DESCRIPTOR 5

struct AttuneKeeperStart {
  int32_t pid;   /* of the program, in our namespace; 0: unknown */
  int32_t error; /* errno of exec; 0: it runs */
};

struct AttuneKeeperEnd {
  int32_t status; /* as of wait */
  double cpuSeconds;
};

#endif // ATTUNE_SUPPORT_KEEPER_H
