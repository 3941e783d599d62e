//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Files that are there whole or not at all, temporary folders that go away, and
// content hashes.

#ifndef ATTUNE_SUPPORT_FILES_H
#define ATTUNE_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attune {

/// The bytes of a file. `model.mlir: No such file or directory`.
llvm::Expected<std::string> readFile(llvm::StringRef path);

/// Writes a file atomically: to a temporary name in the same folder, fsync,
/// rename. After an error (full disk, no permission) the old file is untouched
/// and no temporary file is left. A path that exists and is not a regular file
/// (/dev/stdout, a pipe) is written directly. A symbolic link is followed.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// `mkdir -p`.
llvm::Error createFolder(llvm::StringRef path);

/// Sixteen hex digits of XXH3-64: the same for the same bytes, on all machines.
std::string hashHex(llvm::StringRef bytes);
llvm::Expected<std::string> hashFileHex(llvm::StringRef path);

/// A folder of our own under $TMPDIR (or `parent`), removed with everything in
/// it by the destructor. Folders of processes that were killed are removed by
/// the next one that creates a folder in the same parent: an owner holds a
/// lock (flock) on its folder, and the kernel drops it with the process.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> create(llvm::StringRef parent = "");
  TemporaryFolder(TemporaryFolder &&other);
  TemporaryFolder &operator=(TemporaryFolder &&other);
  ~TemporaryFolder();

  const std::string &getPath() const { return path; }
  /// `getPath()/name`.
  std::string file(llvm::StringRef name) const;

private:
  TemporaryFolder(std::string path, int lock)
      : path(std::move(path)), lock(lock) {}
  std::string path;
  int lock = -1;
};

} // namespace attune

#endif // ATTUNE_SUPPORT_FILES_H
