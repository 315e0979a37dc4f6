// Checkpoint::open: find, parse, name, compare, bind, scan.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_index.h"
#include "checkpoint/value_scan.h"

namespace deepinfer::checkpoint {
namespace {

/// A tensor of a file under its official name; packed experts are cut into one piece an expert.
struct Piece {
  std::string file;  ///< for messages
  std::string stored_name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

std::string shown(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// "layers.0.ffn.experts.w1.weight" -> position of the expert number to insert; npos for other names.
std::size_t packed_expert_position(std::string_view name, std::size_t rank) {
  constexpr std::string_view kMark = ".experts.w";
  const auto at = name.find(kMark);
  return at == std::string_view::npos || rank != 3 ? std::string_view::npos : at + std::string_view(".experts.").size();
}

}  // namespace

class Loader {
 public:
  Loader(const std::string& dir, const LoadOptions& options) : options_(options) { out_.dir_ = dir; }

  Result<Checkpoint> run() {
    DI_ASSIGN(out_.config_, load_config(out_.dir_));
    DI_ASSIGN(out_.engram_, engram_layouts(out_.config_.engram_shape()));
    out_.table_ = weight_table(out_.config_, options_.drafts);
    index_ = find_shards(out_.dir_, problems_);
    open_files();
    check_index();
    if (!collect_names()) return finish();
    match();
    if (problems_.empty()) scan();
    return finish();
  }

 private:
  Result<Checkpoint> finish() {
    DI_TRY(problems_.to_status(out_.dir_));
    if (options_.memory_budget > 0 && out_.report_.resident_bytes > options_.memory_budget) {
      return errorf(ErrorCode::kResourceExhausted, "{}: resident tensors need {} bytes, the budget is {}", out_.dir_,
                    out_.report_.resident_bytes, options_.memory_budget);
    }
    return std::move(out_);
  }

  void open_files() {
    const auto count = static_cast<std::int64_t>(index_.files.size());
    std::vector<Result<SafetensorsFile>> opened(index_.files.size());
    // A header parse is short; threads pay only for the dozens of shards of the release.
    base::ThreadPool pool(count >= 8 ? 0 : 1);
    pool.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        opened[i] = SafetensorsFile::open(out_.dir_ + "/" + index_.files[i]);
      }
    });
    for (std::size_t i = 0; i < opened.size(); ++i) {
      if (opened[i]) {
        out_.files_.push_back(std::move(*opened[i]));
        file_names_.push_back(index_.files[i]);
      } else {
        problems_.add({opened[i].error().code, index_.files[i], opened[i].error().message + tensors_of(i)});
      }
    }
  }

  // The first tensors that the index expects in a file that could not be opened.
  std::string tensors_of(std::size_t file) const {
    constexpr std::size_t kShown = 5;
    std::vector<std::string> names;
    for (const auto& [name, at] : index_.weight_map) {
      if (at == file) names.push_back(printable(name));
    }
    if (names.empty()) return {};
    std::sort(names.begin(), names.end());
    const std::size_t shown_count = std::min(kShown, names.size());
    const std::span<const std::string> first(names.data(), shown_count);
    return fmt::format("; the index expects {} tensors in it: {}{}", names.size(), fmt::join(first, ", "),
                       names.size() > shown_count ? ", ..." : "");
  }

  // Index and files must name the same tensors, each in one file.
  void check_index() {
    std::int64_t total = 0;
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < out_.files_.size(); ++i) {
      total += out_.files_[i].content().data_bytes;
      for (const TensorEntry& tensor : out_.files_[i].tensors()) {
        const auto [at, is_new] = seen.emplace(tensor.name, i);
        if (!is_new) corrupt(file_names_[i], tensor.name, "is also in {}", file_names_[at->second]);
        if (index_.weight_map.empty()) continue;
        const auto listed = index_.weight_map.find(tensor.name);
        if (listed == index_.weight_map.end()) {
          corrupt(file_names_[i], tensor.name, "is not listed in the index");
        } else if (is_new && index_.files[listed->second] != file_names_[i]) {
          corrupt(file_names_[i], tensor.name, "is listed in the index for {}", index_.files[listed->second]);
        }
      }
    }
    if (out_.files_.size() != index_.files.size()) return;
    for (const auto& [name, file] : index_.weight_map) {
      if (!seen.contains(name)) corrupt(index_.files[file], name, "is listed in the index but not in the file");
    }
    if (index_.total_size && *index_.total_size != total) {
      problems_.add(ErrorCode::kDataCorruption, "metadata.total_size", "is {}, the tensors have {} bytes",
                    *index_.total_size, total);
    } else if (!index_.total_size && !index_.weight_map.empty()) {
      out_.report_.warnings.push_back("the index has no metadata.total_size");
    }
  }

  template <typename... Args>
  void corrupt(const std::string& file, std::string_view tensor, fmt::format_string<Args...> format, Args&&... args) {
    problems_.add(ErrorCode::kDataCorruption, fmt::format("{}: {}", file, tensor), format, std::forward<Args>(args)...);
  }

  // Fills pieces_; false when the names are of no single style.
  bool collect_names() {
    std::vector<std::string> names;
    for (const SafetensorsFile& file : out_.files_) {
      for (const TensorEntry& tensor : file.tensors()) names.push_back(tensor.name);
    }
    const auto style = detect_name_style(names);
    if (!style) {
      problems_.add({style.error().code, "tensor names", style.error().message});
      return false;
    }
    out_.report_.style = *style;
    for (std::size_t i = 0; i < out_.files_.size(); ++i) {
      for (const TensorEntry& tensor : out_.files_[i].tensors()) add_piece(tensor, file_names_[i]);
    }
    return true;
  }

  void add_piece(const TensorEntry& tensor, const std::string& file) {
    auto name = official_name(tensor.name, out_.report_.style, out_.config_.num_hidden_layers);
    if (!name) {
      problems_.add({name.error().code, file, name.error().message});
      return;
    }
    Piece piece{file, tensor.name, tensor.dtype, tensor.shape, tensor.bytes};
    const auto cut = packed_expert_position(*name, tensor.shape.size());
    if (cut == std::string::npos) {
      insert(std::move(*name), std::move(piece));
      return;
    }
    const std::int64_t experts = tensor.shape[0];
    if (experts < 1 || experts > static_cast<std::int64_t>(tensor.bytes.size())) {
      insert(std::move(*name), std::move(piece));  // reported as unexpected
      return;
    }
    piece.shape.erase(piece.shape.begin());
    const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(experts);
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      piece.bytes = tensor.bytes.subspan(static_cast<std::size_t>(expert) * size, size);
      insert(name->substr(0, cut) + std::to_string(expert) + "." + name->substr(cut), piece);
    }
  }

  void insert(std::string name, Piece piece) {
    const auto [at, is_new] = pieces_.emplace(std::move(name), std::move(piece));
    if (is_new) return;
    problems_.add(ErrorCode::kInvalidArgument, at->second.file, "{} is given twice, as {} and in another place",
                  printable(at->first), printable(at->second.stored_name));
  }

  void match() {
    for (const WeightSpec& spec : out_.table_) {
      const auto at = pieces_.find(spec.name);
      if (at == pieces_.end()) {
        if (spec.use == WeightUse::kRequired) missing(spec);
        continue;
      }
      if (spec.use == WeightUse::kIgnored) {
        out_.report_.ignored.push_back(at->second.stored_name);
      } else if (fits(spec, at->second)) {
        out_.bind(spec, aligned(spec, at->second));
      }
      pieces_.erase(at);
    }
    for (const auto& [name, piece] : pieces_) {
      if (is_ignored_name(name)) {
        out_.report_.ignored.push_back(piece.stored_name);
      } else {
        problems_.add(ErrorCode::kInvalidArgument, fmt::format("{}: {}", piece.file, piece.stored_name),
                      "is no tensor of this configuration (dtype {}, shape {})", printable(piece.dtype),
                      shown(piece.shape));
      }
    }
  }

  void missing(const WeightSpec& spec) {
    // With an unreadable shard every tensor of it would be reported again.
    if (out_.files_.size() != index_.files.size()) return;
    problems_.add(ErrorCode::kInvalidArgument, spec.name, "is missing; expected {} {}",
                  fmt::join(accepted_dtypes(spec.kind), " or "), shown(spec.shape));
  }

  bool fits(const WeightSpec& spec, const Piece& piece) {
    const auto dtypes = accepted_dtypes(spec.kind);
    const std::string where = fmt::format("{}: {}", piece.file, piece.stored_name);
    std::vector<std::int64_t> expected = spec.shape;
    if (piece.dtype == "F4") expected.back() *= 2;  // F4 counts elements, the byte forms count pairs
    const bool dtype_ok = std::find(dtypes.begin(), dtypes.end(), piece.dtype) != dtypes.end();
    if (!dtype_ok) {
      problems_.add(ErrorCode::kInvalidArgument, where, "has dtype {}, accepted: {}", printable(piece.dtype),
                    fmt::join(dtypes, ", "));
    }
    if (piece.shape != expected) {
      const bool is_scale = spec.kind == WeightKind::kE8M0;
      problems_.add(ErrorCode::kInvalidArgument, where, "has the shape {}, accepted: {}{}", shown(piece.shape),
                    shown(expected), is_scale ? scale_rule(spec) : std::string());
    }
    return dtype_ok && piece.shape == expected && static_cast<std::int64_t>(piece.bytes.size()) == spec.bytes();
  }

  std::string scale_rule(const WeightSpec& spec) const {
    const bool by_row = spec.residency == Residency::kMapped || spec.name.find(".experts.") != std::string::npos;
    const auto block = out_.config_.weight_block_size;
    return fmt::format(" (one scale a {} x {} block of its weight)", by_row ? 1 : block, by_row ? 32 : block);
  }

  const std::byte* aligned(const WeightSpec& spec, const Piece& piece) {
    const auto step = static_cast<std::uintptr_t>(dtype_bytes(spec.dtype()));
    if (reinterpret_cast<std::uintptr_t>(piece.bytes.data()) % step == 0) return piece.bytes.data();
    Buffer copy(piece.bytes.size());
    std::memcpy(copy.data(), piece.bytes.data(), piece.bytes.size());
    out_.report_.realigned.push_back(spec.name);
    out_.owned_.push_back(std::move(copy));
    return out_.owned_.back().data();
  }

  void scan() {
    if (options_.scan == ScanLevel::kNone) return;
    constexpr std::int64_t kParallelBytes = std::int64_t{64} << 20;
    const std::int64_t mapped = out_.report_.bytes_bound - out_.report_.resident_bytes;
    const bool all = options_.scan == ScanLevel::kFull || mapped <= options_.scan_mapped_bytes;
    const auto count = static_cast<std::int64_t>(out_.table_.size());
    std::vector<std::string> found(out_.table_.size());
    base::ThreadPool pool(out_.report_.bytes_bound > kParallelBytes ? 0 : 1);
    pool.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const WeightSpec& spec = out_.table_[i];
        const WeightView* view = out_.find(spec.name);
        if (view != nullptr && (all || spec.residency == Residency::kResident)) found[i] = scan_values(spec.kind, view->bytes());
      }
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].empty()) problems_.add({ErrorCode::kInvalidArgument, out_.table_[i].name, found[i]});
    }
  }

  LoadOptions options_;
  Checkpoint out_;
  Problems problems_;
  ShardIndex index_;
  std::vector<std::string> file_names_;  // of the files that opened, parallel to out_.files_
  std::map<std::string, Piece> pieces_;  // by official name, not yet matched; ordered, so reports are reproducible
};

Result<Checkpoint> Checkpoint::open(const std::string& dir, const LoadOptions& options) {
  return Loader(dir, options).run();
}

}  // namespace deepinfer::checkpoint
