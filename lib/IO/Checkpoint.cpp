//===- Checkpoint.cpp - Hugging Face weight files -------------------------===//

#include "sp/IO/Checkpoint.h"

#include "sp/IO/StrictJSON.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace sp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;
namespace sys_path = llvm::sys::path;

// Far more than the two levels in use; `metadata` may hold anything.
static constexpr unsigned indexDepth = 64;

static Error indexError(StringRef index, const Twine &message) {
  return llvm::createStringError(Twine(index) + ": " + message);
}

/// A downloaded index must not make us read files elsewhere. (A shard may still
/// be a symbolic link: Hugging Face's cache is made of those.)
static bool staysInFolder(StringRef shard) {
  return !shard.empty() && !shard.contains('\0') &&
         !sys_path::is_absolute(shard) &&
         !llvm::is_contained(
             llvm::make_range(sys_path::begin(shard), sys_path::end(shard)),
             "..");
}

void Checkpoint::sortNames() {
  sortedNames.assign(tensors.keys().begin(), tensors.keys().end());
  llvm::sort(sortedNames);
}

Expected<Checkpoint> Checkpoint::open(StringRef path) {
  llvm::SmallString<256> file(path);
  if (fs::is_directory(path)) {
    sys_path::append(file, "model.safetensors");
    if (!fs::exists(file)) {
      llvm::SmallString<256> index(path);
      sys_path::append(index, "model.safetensors.index.json");
      if (fs::exists(index))
        return openIndex(path, index);
      return llvm::createStringError(
          path + ": the folder has neither `model.safetensors` nor "
                 "`model.safetensors.index.json`");
    }
  }

  auto opened = SafetensorsFile::open(file);
  if (!opened)
    return opened.takeError();
  Checkpoint checkpoint;
  checkpoint.source = (*opened)->path().str();
  for (const TensorInfo &info : (*opened)->tensors())
    checkpoint.tensors[info.name] = *(*opened)->find(info.name);
  checkpoint.files.push_back(std::move(*opened));
  checkpoint.sortNames();
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::openIndex(StringRef folder, StringRef index) {
  auto buffer = llvm::MemoryBuffer::getFile(index);
  if (!buffer)
    return indexError(index, "cannot open: " + buffer.getError().message());
  Expected<json::Value> root =
      parseStrictJSON(index, (*buffer)->getBuffer(), indexDepth);
  if (!root)
    return root.takeError();
  const json::Object *object = root->getAsObject();
  const json::Object *weightMap =
      object ? object->getObject("weight_map") : nullptr;
  if (!weightMap)
    return indexError(index, "has no `weight_map` object");

  Checkpoint checkpoint;
  checkpoint.source = index.str();
  llvm::StringMap<const SafetensorsFile *> shards;
  for (auto &[key, value] : *weightMap) {
    StringRef name = key;
    std::optional<StringRef> shard = value.getAsString();
    if (!shard || !staysInFolder(*shard))
      return indexError(index, "tensor `" + name + "` is assigned to " +
                                   (shard ? "`" + shard->str() +
                                                "`, which is not a file name "
                                                "inside the folder"
                                          : "something that is no file name"));
    const SafetensorsFile *&file = shards[*shard];
    if (!file) {
      llvm::SmallString<256> path(folder);
      sys_path::append(path, *shard);
      auto opened = SafetensorsFile::open(path);
      if (!opened)
        return indexError(index,
                          "cannot use the shard of tensor `" + name +
                              "`: " + llvm::toString(opened.takeError()));
      file = opened->get();
      checkpoint.files.push_back(std::move(*opened));
    }
    std::optional<Tensor> tensor = file->find(name);
    if (!tensor)
      return indexError(index, "tensor `" + name + "` is not in its shard " +
                                   file->path());
    checkpoint.tensors[name] = *tensor;
  }
  checkpoint.sortNames();
  return checkpoint;
}

std::optional<Tensor> Checkpoint::find(StringRef name) const {
  auto it = tensors.find(name);
  if (it == tensors.end())
    return std::nullopt;
  return it->second;
}

Expected<Tensor> Checkpoint::get(StringRef name) const {
  if (std::optional<Tensor> tensor = find(name))
    return *tensor;
  return llvm::createStringError("missing weight `" + name + "` in " + source);
}
