// Writes a checkpoint as a folder of the released form: both config files, shards, index. Source: checkpoint.md 1, 2.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

struct FolderFile {
  std::string name;  ///< relative, "inference/config.json"
  std::string bytes;
};

/// Content of the folder, in the order of the names. The Engram tables are alone in the last shard, as in the release;
/// inside a shard wider types come first, so that every tensor is aligned. For checkpoints that fit into memory twice.
std::vector<FolderFile> checkpoint_files(const Checkpoint& checkpoint);

/// Writes these files below `dir`, which is created. Errors: kUnavailable with the system's reason.
Status write_checkpoint(const Checkpoint& checkpoint, const std::string& dir);

}  // namespace deepinfer::checkpoint
