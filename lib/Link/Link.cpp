//===- Link.cpp - from an object to an executable -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Link/Link.h"
#include "meshc/EscapeControls.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

using namespace llvm;

// CMake defines MESHC_CXX_COMPILER, MESHC_RUNTIME_LIBRARIES (names, separated
// by commas) and MESHC_RUNTIME_LINK_OPTIONS (separated by blanks).

namespace meshc::link {

static constexpr auto dataPermissions =
    static_cast<unsigned>(sys::fs::all_read) | sys::fs::all_write;

/// An error of one line, whatever the names in it.
static Error makeError(const Twine &message) {
  return createStringError(escapeControls(message.str()));
}

/// The path of libmeshc_runtime.a in the tree that contains the tool.
static Expected<std::string> findRuntime(const LinkOptions &options) {
  if (!options.runtime.empty()) {
    if (sys::fs::exists(options.runtime))
      return options.runtime;
    return makeError("there is no runtime at '" + options.runtime + "'");
  }
  static int anchor;
  std::string tool = sys::fs::getMainExecutable(options.tool.c_str(), &anchor);
  SmallString<256> folder =
      sys::path::parent_path(sys::path::parent_path(tool));
  sys::path::append(folder, "lib");
  SmallString<256> installed = folder, built = folder;
  sys::path::append(installed, "meshc", "libmeshc_runtime.a");
  sys::path::append(built, "libmeshc_runtime.a");
  for (StringRef archive : {installed.str(), built.str()})
    if (sys::fs::exists(archive))
      return archive.str();
  return makeError("there is no runtime at '" + installed + "' or '" + built +
                   "'; build the target 'meshc_runtime', or install meshc "
                   "with its folder 'lib'");
}

static Expected<std::string> findDriver(const LinkOptions &options) {
  if (!options.driver.empty()) {
    if (auto path = sys::findProgramByName(options.driver))
      return *path;
    return makeError("there is no linker driver '" + options.driver + "'");
  }
  for (StringRef name : {MESHC_CXX_COMPILER, "clang++-22", "clang++", "c++"})
    // A name with a folder is found without a look whether it exists.
    if (auto path = sys::findProgramByName(name);
        path && sys::fs::can_execute(*path))
      return *path;
  return makeError("there is no C++ compiler to link with: '" MESHC_CXX_COMPILER
                   "', 'clang++' and 'c++' are missing; install clang or g++");
}

/// A path in the folder of `output` that no file has; the file exists, empty,
/// with those of the permissions that the umask leaves.
static Expected<SmallString<256>>
makeTemporary(StringRef output, StringRef suffix, unsigned permissions) {
  SmallString<256> path;
  if (std::error_code error = sys::fs::createUniqueFile(
          output + ".%%%%%%" + suffix, path, permissions))
    return makeError("cannot write '" + output + "': " + error.message());
  return path;
}

/// The end of the links that begin at `path`, where no file exists.
static std::string followLinks(StringRef path) {
  constexpr int mostLinks = 40; // as Linux follows
  std::filesystem::path file = path.str();
  for (int links = 0; links < mostLinks; ++links) {
    std::error_code error;
    const std::filesystem::path target =
        std::filesystem::read_symlink(file, error);
    if (error)
      break;
    file = file.parent_path() / target;
  }
  return file.string();
}

/// Where an output of that name is: the target of a link. Folders are errors.
static Expected<std::string> findTarget(StringRef path, bool &isFile) {
  sys::fs::file_status status;
  isFile = true;
  if (sys::fs::status(path, status))
    return followLinks(path);
  if (sys::fs::is_directory(status))
    return makeError("cannot write '" + path + "': it is a folder");
  isFile = sys::fs::is_regular_file(status);
  SmallString<256> real;
  if (!isFile || sys::fs::real_path(path, real))
    return path.str();
  return real.str().str();
}

/// `name` is what errors call the file.
static Error writeBytes(StringRef path, ArrayRef<char> bytes, StringRef name) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return makeError("cannot write '" + name + "': " + error.message());
  return Error::success();
}

/// Runs the driver; an error holds what it printed, or says that the linker
/// found no room for `output`.
static Error runDriver(StringRef driver, ArrayRef<std::string> arguments,
                       StringRef output) {
  SmallString<256> log;
  if (std::error_code error =
          sys::fs::createTemporaryFile("meshc-link", "log", log))
    return makeError("cannot write a temporary file: " + error.message());
  scope_exit removeLog([&] { sys::fs::remove(log); });
  SmallVector<StringRef> all{driver};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status =
      sys::ExecuteAndWait(driver, all, std::nullopt, redirects, 0, 0, &message);
  if (status == 0)
    return Error::success();
  if (auto text = MemoryBuffer::getFile(log))
    message += (*text)->getBuffer();
  // Linkers end by the signal of the file size limit.
  for (auto [printed, reason] :
       {std::pair("File size limit exceeded", std::errc::file_too_large),
        std::pair("No space left on device", std::errc::no_space_on_device)})
    if (StringRef(message).contains(printed))
      return makeError("cannot write '" + output +
                       "': " + std::make_error_code(reason).message());
  return createStringError("linking with '" + escapeControls(driver) +
                           "' failed:\n" + StringRef(message).rtrim().str());
}

static std::vector<std::string> getArguments(StringRef driver, StringRef object,
                                             StringRef runtime,
                                             StringRef output) {
  // A path that begins with '-' would be an option.
  auto path = [](StringRef file) {
    return (file.starts_with("-") ? "./" : "") + file.str();
  };
  std::vector<std::string> arguments{
      path(object),        runtime.str(),    "-o", path(output), "-pie",
      "-Wl,--gc-sections", "-Wl,--as-needed"};
  SmallString<256> plugins = sys::path::parent_path(runtime);
  if (!sys::fs::make_absolute(plugins))
    arguments.insert(arguments.end(),
                     {"-Xlinker", "-rpath", "-Xlinker", plugins.str().str()});
  // lld is several times as fast as other linkers; both kinds of compilers know
  // it by this name, clang finds its own version's.
  // A file that it maps cannot tell that a disk is full.
  if (driver.contains("clang") || sys::findProgramByName("ld.lld"))
    arguments.insert(arguments.end(),
                     {"-fuse-ld=lld", "-Wl,--no-mmap-output-file"});
  SmallVector<StringRef> options;
  StringRef(MESHC_RUNTIME_LINK_OPTIONS).split(options, ' ', -1, false);
  arguments.insert(arguments.end(), options.begin(), options.end());
  SmallVector<StringRef> libraries;
  StringRef(MESHC_RUNTIME_LIBRARIES).split(libraries, ',', -1, false);
  for (StringRef library : libraries)
    arguments.push_back((sys::path::is_absolute(library) ? "" : "-l") +
                        library.str());
  return arguments;
}

static bool isFifo(const std::string &path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) &&
         status.type() == sys::fs::file_type::fifo_file;
}

Error linkProgram(ArrayRef<char> object, StringRef output,
                  const LinkOptions &options) {
  auto runtime = findRuntime(options);
  if (!runtime)
    return runtime.takeError();
  auto driver = findDriver(options);
  if (!driver)
    return driver.takeError();
  bool isFile = true;
  auto target = findTarget(output, isFile);
  if (!target)
    return target.takeError();
  if (!isFile)
    return makeError("cannot write '" + output + "': it is a " +
                     (isFifo(*target) ? "FIFO (named pipe)" : "device") +
                     "; give the name of a file");
  auto objectPath = makeTemporary(*target, ".o", dataPermissions);
  if (!objectPath)
    return objectPath.takeError();
  scope_exit removeObject([&] { sys::fs::remove(*objectPath); });
  auto linked = makeTemporary(*target, "", dataPermissions | sys::fs::all_exe);
  if (!linked)
    return linked.takeError();
  scope_exit removeLinked([&] { sys::fs::remove(*linked); });
  if (Error error = writeBytes(*objectPath, object, output))
    return error;
  if (Error error = runDriver(
          *driver, getArguments(*driver, *objectPath, *runtime, *linked),
          output))
    return error;
  if (std::error_code error = sys::fs::rename(*linked, *target))
    return makeError("cannot write '" + output + "': " + error.message());
  removeLinked.release();
  return Error::success();
}

Error flushOutput() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error(); // else its destructor ends the program
  if (error)
    return makeError("cannot write standard output: " + error.message());
  return Error::success();
}

Error writeFile(StringRef path, ArrayRef<char> bytes) {
  if (path == "-") {
    outs().write(bytes.data(), bytes.size());
    return flushOutput();
  }
  bool isFile = true;
  auto target = findTarget(path, isFile);
  if (!target)
    return target.takeError();
  // A device or a pipe takes bytes; nothing may take its place.
  if (!isFile)
    return writeBytes(path, bytes, path);
  auto temporary = makeTemporary(*target, "", dataPermissions);
  if (!temporary)
    return temporary.takeError();
  scope_exit remove([&] { sys::fs::remove(*temporary); });
  if (Error error = writeBytes(*temporary, bytes, path))
    return error;
  if (std::error_code error = sys::fs::rename(*temporary, *target))
    return makeError("cannot write '" + path + "': " + error.message());
  remove.release();
  return Error::success();
}

} // namespace meshc::link
