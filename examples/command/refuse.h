// For crashing.json: what a compiler says no to.
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
static_assert(CHECK != 24, "no tiles of 24 columns");
