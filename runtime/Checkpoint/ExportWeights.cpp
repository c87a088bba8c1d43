//===- ExportWeights.cpp - parameters as files of other tools -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/ExportWeights.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Checkpoint/AtomicFile.h"
#include "runtime/Checkpoint/Misfits.h"
#include "runtime/Checkpoint/ParameterSource.h"
#include "runtime/Checkpoint/StridedCopy.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

using namespace meshc::runtime;

namespace {

/// Elements of a parameter that belong to a tensor.
struct ExportedPart {
  const ParameterSource *source;
  const WeightTensor *from;
  std::vector<int64_t> indices; ///< of the dims in the tensor's name
};

/// A tensor to be written.
struct ExportedTensor {
  FileTensor tensor;
  std::vector<ExportedPart> parts;
};

} // namespace

static Failure failAt(const ParameterSource &source, const std::string &what) {
  const std::string &place = source.place();
  return Failure(ExitCode::Checkpoint,
                 (place.empty() ? "" : place + ": ") + what);
}

/// The file's tensor of a parameter, which has its shape and a floating-point
/// type.
static const WeightTensor &findParameter(const WeightFiles &files,
                                         const StoredParameters &stored,
                                         const MeshcTensor &parameter) {
  const WeightTensor *found = files.find(stored.find(parameter.name));
  const ParameterSource expected(parameter);
  const std::string name = parameter.name;
  std::string problem;
  if (!found)
    problem = "is missing";
  else if (found->tensor->shape != expected.shape() ||
           !bytesOfDtype(found->tensor->dtype))
    problem = "is " + found->tensor->describe() + "; expected " +
              expected.describeShape();
  if (!problem.empty())
    throw Failure(ExitCode::Checkpoint, "checkpoint '" + files.path() +
                                            "': parameter '" + name + "' " +
                                            problem);
  return *found;
}

/// Refuses to drop tensors that are neither parameters of the program nor state
/// of their training: they belong to another program.
static void checkComplete(const WeightFiles &files,
                          const StoredParameters &stored,
                          const std::vector<ParameterSource> &sources,
                          const MeshcProgram &program) {
  std::set<std::string> used;
  for (const ParameterSource &source : sources)
    used.insert(stored.find(source.parameter().name));
  std::vector<std::string> problems;
  listExtra(files, program, used, /*map=*/nullptr, problems);
  if (!problems.empty())
    problems.back() += " and would not be written";
  refuseMisfits(files, program, problems);
}

/// Refuses to drop values that the map would not restore.
static void checkConstant(const WeightTensor &found,
                          const ParameterSource &source) {
  const FileTensor &tensor = *found.tensor;
  const int64_t each = bytesOfDtype(tensor.dtype);
  for (int64_t at = 0; at < tensor.bytes(); at += each) {
    float value = floatOfDtype(tensor.dtype, found.data + at);
    if (value != static_cast<float>(*source.constant()))
      throw failAt(source, "parameter '" + tensor.name + "' holds " +
                               std::to_string(value) +
                               ", which would not be written; expected " +
                               std::to_string(*source.constant()) +
                               " in all elements");
  }
}

/// The tensors to write, in the order in which parameters first need them.
static std::vector<ExportedTensor>
listTensors(const WeightFiles &files, const StoredParameters &stored,
            const std::vector<ParameterSource> &sources) {
  std::vector<ExportedTensor> tensors;
  std::map<std::string, size_t> numbers;
  for (const ParameterSource &source : sources) {
    const WeightTensor &from = findParameter(files, stored, source.parameter());
    files.verify(from);
    if (source.constant()) {
      checkConstant(from, source);
      continue;
    }
    source.forEachTensor([&](const std::string &name,
                             const std::vector<int64_t> &indices) {
      auto [found, isNew] = numbers.emplace(name, tensors.size());
      if (isNew) {
        ExportedTensor added;
        added.tensor.name = name;
        added.tensor.dtype = from.tensor->dtype;
        added.tensor.shape = source.shape();
        added.tensor.endByte = bytesOfDtype(from.tensor->dtype);
        for (int64_t size : source.shape())
          added.tensor.endByte *= size;
        tensors.push_back(std::move(added));
      }
      ExportedTensor &tensor = tensors[found->second];
      if (tensor.tensor.shape != source.shape() ||
          tensor.tensor.dtype != from.tensor->dtype)
        throw failAt(source,
                     "tensor '" + name + "' would be " + from.tensor->dtype +
                         " " + source.describeShape() + " for '" +
                         source.parameter().name + "' and " +
                         tensor.tensor.describe() + " for another parameter");
      tensor.parts.push_back({&source, &from, indices});
    });
  }
  return tensors;
}

/// The dims of a part, from the parameter to the tensor, and where it begins in
/// each.
static std::vector<CopyDim> findDims(const ExportedPart &part, int64_t &from,
                                     int64_t &to) {
  const MeshcTensor &parameter = part.source->parameter();
  std::vector<CopyDim> dims;
  int64_t stride = 1;
  from = 0;
  to = part.source->offset();
  for (uint32_t i = parameter.rank; i-- > 0;) {
    if (part.source->isInName(i))
      from += part.indices[i] * stride;
    else
      dims.insert(dims.begin(),
                  {parameter.dims[i].size, stride, part.source->strides()[i]});
    stride *= parameter.dims[i].size;
  }
  return dims;
}

/// Puts the parts together.
static std::vector<char> assemble(const ExportedTensor &exported) {
  const int64_t bytes = bytesOfDtype(exported.tensor.dtype);
  std::vector<char> content(static_cast<size_t>(exported.tensor.bytes()));
  for (const ExportedPart &part : exported.parts) {
    int64_t from = 0, to = 0;
    const std::vector<CopyDim> dims = findDims(part, from, to);
    copyStrided(dims, bytes, part.from->data + from * bytes,
                content.data() + to * bytes);
  }
  return content;
}

/// Each element must come from exactly one parameter.
static void checkFilled(const ExportedTensor &exported) {
  int64_t given = 0;
  std::vector<char> taken(static_cast<size_t>(
      exported.tensor.bytes() / bytesOfDtype(exported.tensor.dtype)));
  const char mark = 1;
  for (const ExportedPart &part : exported.parts) {
    int64_t from = 0, to = 0, count = 1;
    std::vector<CopyDim> dims = findDims(part, from, to);
    for (CopyDim &dim : dims) {
      count *= dim.size;
      dim.sourceStride = 0;
    }
    given += count;
    copyStrided(dims, 1, &mark, taken.data() + to);
  }
  const auto elements = static_cast<int64_t>(taken.size());
  const int64_t filled = std::count(taken.begin(), taken.end(), 1);
  const std::string tensor = "tensor '" + exported.tensor.name + "', " +
                             exported.tensor.describe() + ", ";
  if (filled < elements)
    throw failAt(*exported.parts.back().source,
                 tensor + "cannot be written: no parameter gives " +
                     std::to_string(elements - filled) + " of its " +
                     std::to_string(elements) + " elements");
  if (given > elements)
    throw failAt(*exported.parts.back().source,
                 tensor + "cannot be written: several parameters give the "
                          "same elements");
}

static void writeFile(const std::string &path, const ExportedTensor *begin,
                      const ExportedTensor *end) {
  std::vector<FileTensor> tensors;
  for (const ExportedTensor *exported = begin; exported != end; ++exported)
    tensors.push_back(exported->tensor);
  AtomicFile file(path, exportForm);
  // What Hugging Face's tools expect of a file that they load.
  const std::string header = writeHeader(tensors, {{"format", "pt"}});
  file.write(header.data(), header.size());
  for (const ExportedTensor *exported = begin; exported != end; ++exported) {
    const std::vector<char> content = assemble(*exported);
    file.write(content.data(), content.size());
  }
  file.commit();
}

bool meshc::runtime::beginsAsExport(int descriptor) {
  return hasTextAt(descriptor, 8, R"({"__metadata__":{"format":"pt"})");
}

static bool beginsAsIndex(int descriptor) {
  return hasTextAt(descriptor, 0, "{");
}
static const FileForm indexForm = {"index", ExitCode::Checkpoint,
                                   beginsAsIndex};

static const std::string shardEnd = ".safetensors";

/// `path` without ".safetensors".
static std::string stemOf(const std::string &path) {
  const size_t end = shardEnd.size();
  const bool hasEnd =
      path.size() > end && path.compare(path.size() - end, end, shardEnd) == 0;
  return hasEnd ? path.substr(0, path.size() - end) : path;
}

/// "m-00001-of-00002.safetensors"
static std::string shardPath(const std::string &path, size_t number,
                             size_t count) {
  char text[64];
  std::snprintf(text, sizeof(text), "-%05zu-of-%05zu", number, count);
  return stemOf(path) + text + shardEnd;
}

static std::string indexPath(const std::string &path) {
  return path + ".index.json";
}

/// The indices that exports to files of the same names write: "m" and
/// "m.safetensors" have one set of shards.
static std::vector<std::string> indexPaths(const std::string &path) {
  return {indexPath(stemOf(path)), indexPath(shardedName(path))};
}

std::string meshc::runtime::shardedName(const std::string &path) {
  return stemOf(path) + shardEnd;
}

/// What an export to `path` may have written beside the files of `written`.
static std::vector<std::string>
findEarlier(const std::string &path, const std::set<std::string> &written) {
  namespace fs = std::filesystem;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::set<std::string> found;
  std::error_code error;
  std::vector<std::string> files = indexPaths(path);
  files.push_back(path);
  for (const std::string &file : files)
    for (const std::string &name : {file, temporaryPath(file)})
      if (fs::is_regular_file(name, error))
        found.insert(name);
  const std::string stem = stemOf(path).substr(folder.size());
  std::string problem;
  static const NamePattern numbers(
      R"(-[0-9]{5,}-of-[0-9]{5,}\.safetensors(\.meshc-tmp)?)", problem);
  fs::directory_iterator entries(folder.empty() ? "." : folder, error), none;
  for (; !error && entries != none; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.compare(0, stem.size(), stem) == 0 &&
        numbers.matches(name.substr(stem.size())))
      found.insert(folder + name);
  }
  std::vector<std::string> earlier;
  std::set_difference(found.begin(), found.end(), written.begin(),
                      written.end(), std::back_inserter(earlier));
  return earlier;
}

/// The tensors at which files begin, and the number of tensors.
static std::vector<size_t>
divideTensors(const std::vector<ExportedTensor> &tensors, int64_t shardBytes) {
  std::vector<size_t> begins{0};
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t more = tensors[i].tensor.bytes();
    if (bytes > 0 && bytes + more > shardBytes) {
      begins.push_back(i);
      bytes = 0;
    }
    bytes += more;
  }
  begins.push_back(tensors.size());
  return begins;
}

/// Writes the files that begin at these tensors, and their index. Indices of
/// before go first, in both spellings: none may list files of two exports,
/// should this one end early, or files of another one.
static void writeShards(const std::string &path,
                        const std::vector<ExportedTensor> &tensors,
                        const std::vector<size_t> &begins) {
  for (const std::string &index : indexPaths(path))
    if (index == indexPath(path) || !holdsOther(index, beginsAsIndex))
      removeFile(index, indexForm);
  nlohmann::json index;
  int64_t total = 0;
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    const std::string shard = shardPath(path, i + 1, begins.size() - 1);
    writeFile(shard, tensors.data() + begins[i],
              tensors.data() + begins[i + 1]);
    for (size_t j = begins[i]; j < begins[i + 1]; ++j) {
      total += tensors[j].tensor.bytes();
      index["weight_map"][tensors[j].tensor.name] =
          shard.substr(shard.rfind('/') + 1);
    }
  }
  index["metadata"]["total_size"] = total;
  const std::string text = index.dump(2) + "\n";
  AtomicFile file(indexPath(path), indexForm);
  file.write(text.data(), text.size());
  file.commit();
}

/// Refuses to replace a file that holds something else than an export.
static void checkReplaced(const std::string &path, bool (*begins)(int)) {
  if (holdsOther(path, begins))
    throw Failure(ExitCode::Usage,
                  "'" + path +
                      "' exists and is no file that 'export' wrote; give "
                      "another name as '--to', or '--overwrite'");
}

/// Refuses to replace one of several files that an index lists.
static void checkNoShard(const std::string &path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string problem;
  static const NamePattern shard(R"(.+-[0-9]{5,}-of-[0-9]{5,}\.safetensors)",
                                 problem);
  if (!shard.matches(name))
    return;
  const std::string stem = path.substr(0, path.rfind("-of-"));
  for (const std::string &index : indexPaths(stem.substr(0, stem.rfind('-'))))
    if (std::error_code error; std::filesystem::exists(index, error))
      throw Failure(ExitCode::Usage,
                    "'" + path + "' has the name of a file that '" + index +
                        "' lists; give another name as '--to', or remove '" +
                        index + "'");
}

std::vector<std::string> meshc::runtime::exportWeights(
    const WeightFiles &files, const MeshcProgram &program, const NameMap *map,
    const ExportTarget &target, ParameterValues values) {
  files.verifyMetadata();
  const StoredParameters stored(files, program, values);
  const std::vector<ParameterSource> sources = findSources(program, map);
  const std::vector<ExportedTensor> tensors =
      listTensors(files, stored, sources);
  checkComplete(files, stored, sources, program);
  for (const ExportedTensor &tensor : tensors)
    checkFilled(tensor);
  files.checkIntact();
  const std::string &path = target.path;
  const bool isSharded = target.shardBytes > 0;
  std::vector<size_t> begins;
  std::set<std::string> written{path};
  if (isSharded) {
    begins = divideTensors(tensors, target.shardBytes);
    written.clear();
    for (size_t i = 1; i < begins.size(); ++i)
      written.insert(shardPath(path, i, begins.size() - 1));
  }
  if (!target.overwrite) {
    for (const std::string &file : written)
      checkReplaced(file, beginsAsExport);
    if (isSharded)
      checkReplaced(indexPath(path), beginsAsIndex);
  }
  if (!isSharded)
    checkNoShard(path);
  if (isSharded)
    writeShards(path, tensors, begins);
  else
    writeFile(path, tensors.data(), tensors.data() + tensors.size());
  files.checkIntact();
  if (isSharded)
    written.insert(indexPath(path));
  return findEarlier(path, written);
}
