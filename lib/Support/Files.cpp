//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Files.h"

#include "attune/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static Error errnoError(StringRef path, const char *what, int code) {
  if (code == ENOSPC || code == EDQUOT)
    return makeError("{0}: {1}: the disk is full", path, what);
  return makeError("{0}: {1}: {2}", path, what, std::strerror(code));
}

Expected<std::string> attune::readFile(StringRef path) {
  fs::file_status status;
  if (!fs::status(path, status) && fs::is_directory(status))
    return makeError("{0}: is a folder, not a file", path);
  // Files under /proc and pipes have no size to go by.
  bool streamed = status.getSize() == 0 || !fs::is_regular_file(status);
  auto buffer =
      streamed ? llvm::MemoryBuffer::getFileAsStream(path)
               : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

static int writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    bytes = bytes.drop_front(written);
  }
  return 0;
}

/// Devices and pipes cannot be renamed over.
static Error writeInPlace(StringRef path, StringRef bytes) {
  int file = ::open(path.str().c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return errnoError(path, "cannot write", errno);
  int code = writeAll(file, bytes);
  if (::close(file) && !code)
    code = errno;
  return code ? errnoError(path, "cannot write", code) : Error::success();
}

/// A new file next to `target`, with the rights of any new file (mkstemp would
/// give 0600); -1 and errno on failure.
static int createBeside(StringRef target, std::string &name) {
  static std::atomic<unsigned> counter = 0;
  int file;
  do {
    name = llvm::formatv("{0}.tmp-{1}-{2}", target, ::getpid(), counter++);
    file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  return file;
}

Error attune::writeFile(StringRef path, StringRef bytes) {
  llvm::SmallString<256> target(path);
  fs::file_status status;
  if (!fs::status(path, status)) {
    if (fs::is_directory(status))
      return makeError("{0}: cannot write: it is a folder", path);
    if (!fs::is_regular_file(status))
      return writeInPlace(path, bytes);
    // A link stays a link: the file it points to is replaced.
    fs::real_path(path, target);
  }
  std::string temporary;
  int file = createBeside(target, temporary);
  if (file < 0)
    return errnoError(path, "cannot write", errno);
  int code = writeAll(file, bytes);
  if (!code && ::fsync(file))
    code = errno;
  if (::close(file) && !code)
    code = errno;
  if (!code && ::rename(temporary.c_str(), target.c_str()))
    code = errno;
  if (!code)
    return Error::success();
  ::unlink(temporary.c_str());
  return errnoError(path, "cannot write", code);
}

Error attune::createFolder(StringRef path) {
  if (std::error_code code = fs::create_directories(path))
    return makeError("{0}: cannot create the folder: {1}", path,
                     code.message());
  if (!fs::is_directory(path))
    return makeError("{0}: exists and is not a folder", path);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Content hashes
//===----------------------------------------------------------------------===//

std::string attune::hashHex(StringRef bytes) {
  return llvm::formatv("{0:x-16}", llvm::xxh3_64bits(bytes)).str();
}

Expected<std::string> attune::hashFileHex(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  return hashHex((*buffer)->getBuffer());
}

//===----------------------------------------------------------------------===//
// Temporary folders
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral folderPrefix = "attune-tmp-";

/// A lock on the folder, or -1 when somebody holds it or it is gone.
static int lockFolder(const std::string &folder) {
  int lock =
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0)
    return -1;
  struct stat opened, named;
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0 && ::fstat(lock, &opened) == 0 &&
      ::lstat(folder.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
      opened.st_uid == ::geteuid())
    return lock;
  ::close(lock);
  return -1;
}

static void removeFolder(const std::string &folder) {
  // A folder that cannot be removed is not worth failing a finished job for.
  (void)fs::remove_directories(folder, /*IgnoreErrors=*/true);
}

/// Folders whose owner was killed: nobody holds their lock.
static void sweepDeadFolders(StringRef parent) {
  std::error_code code;
  for (fs::directory_iterator entry(parent, code), end; !code && entry != end;
       entry.increment(code)) {
    if (!path::filename(entry->path()).starts_with(folderPrefix))
      continue;
    int lock = lockFolder(entry->path());
    if (lock < 0)
      continue;
    removeFolder(entry->path());
    ::close(lock);
  }
}

Expected<TemporaryFolder> TemporaryFolder::create(StringRef parent) {
  llvm::SmallString<256> base(parent);
  if (base.empty())
    path::system_temp_directory(/*ErasedOnReboot=*/true, base);
  sweepDeadFolders(base);
  // A sweep of another process may come between making and locking.
  for (int attempt = 0; attempt < 10; ++attempt) {
    llvm::SmallString<256> name(base);
    path::append(name, folderPrefix + "XXXXXX");
    std::string folder = name.str().str();
    if (!::mkdtemp(folder.data()))
      return errnoError(base, "cannot make a temporary folder", errno);
    int lock = lockFolder(folder);
    if (lock >= 0)
      return TemporaryFolder(std::move(folder), lock);
  }
  return makeError("{0}: cannot lock a temporary folder; set TMPDIR to a "
                   "folder on a local disk",
                   base.str());
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other)
    : path(std::move(other.path)), lock(other.lock) {
  other.lock = -1;
}

TemporaryFolder &TemporaryFolder::operator=(TemporaryFolder &&other) {
  std::swap(path, other.path);
  std::swap(lock, other.lock);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  if (lock < 0)
    return;
  removeFolder(path);
  ::close(lock);
}

std::string TemporaryFolder::file(StringRef name) const {
  llvm::SmallString<256> result(path);
  llvm::sys::path::append(result, name);
  return result.str().str();
}
