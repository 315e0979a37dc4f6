#include "verify/verify_kernels.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "checkpoint/safetensors.h"
#include "verify/kernel_case.h"
#include "verify/kernel_compare.h"

namespace deepinfer::verify {
namespace {

using base::Json;
using checkpoint::SafetensorsFile;
using checkpoint::TensorEntry;

// ---- reading ----

Result<const Json*> member(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr) return errorf(ErrorCode::kDataCorruption, "member \"{}\" is missing", key);
  return value;
}

Result<std::string> text_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json* value, member(object, key));
  if (!value->is_string()) return errorf(ErrorCode::kDataCorruption, "\"{}\" is a {}", key, value->type_name());
  return value->string();
}

Result<std::vector<std::string>> names_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json* value, member(object, key));
  if (!value->is_array()) return errorf(ErrorCode::kDataCorruption, "\"{}\" is a {}", key, value->type_name());
  std::vector<std::string> out;
  for (const Json& item : value->items()) {
    if (!item.is_string()) return errorf(ErrorCode::kDataCorruption, "\"{}\" holds a {}", key, item.type_name());
    out.push_back(item.string());
  }
  return out;
}

std::string part_of(const std::string& name) { return name.substr(name.find('/') + 1); }

/// An aligned copy; extents of 0 are kept.
Result<Tensor> load(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry* entry = file.find(name);
  if (entry == nullptr) return errorf(ErrorCode::kDataCorruption, "{} has no tensor {}", file.path(), name);
  const auto dtype = dtype_from_safetensors(entry->dtype);
  if (!dtype || entry->shape.size() > Shape::kMaxRank) {
    return errorf(ErrorCode::kUnsupported, "tensor {} is {} of rank {}", name, checkpoint::printable(entry->dtype),
                  entry->shape.size());
  }
  Tensor out(*dtype, Shape(std::span<const std::int64_t>(entry->shape)));
  DI_CHECK(static_cast<std::size_t>(out.type().bytes()) == entry->bytes.size(), "{} bytes for {}", entry->bytes.size(),
           to_string(out.type()));
  std::memcpy(out.data(), entry->bytes.data(), entry->bytes.size());
  return out;
}

/// nullopt when the file has no such tensor.
Result<std::optional<Tensor>> load_optional(const SafetensorsFile& file, const std::string& name) {
  if (file.find(name) == nullptr) return std::nullopt;
  DI_ASSIGN(Tensor tensor, load(file, name));
  return tensor;
}

struct CaseEntry {
  const Json& json;
  std::string name;
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

Result<CaseEntry> read_entry(const Json& json) {
  DI_ASSIGN(std::string name, text_of(json, "case"));
  DI_ASSIGN(std::string op, text_of(json, "op"));
  DI_ASSIGN(std::vector<std::string> inputs, names_of(json, "inputs"));
  DI_ASSIGN(std::vector<std::string> outputs, names_of(json, "outputs"));
  if (outputs.empty()) return errorf(ErrorCode::kDataCorruption, "case {} has no outputs", name);
  return CaseEntry{json, std::move(name), std::move(op), std::move(inputs), std::move(outputs)};
}

// ---- one case ----

const KernelAdapter* find_adapter(std::string_view op) {
  for (const auto adapters : {table_adapters(), product_adapters(), attention_adapters(), stream_adapters(),
                              sampler_adapters()}) {
    const auto found = std::ranges::find(adapters, op, &KernelAdapter::op);
    if (found != adapters.end()) return &*found;
  }
  return nullptr;
}

Result<TensorsByPart> load_tensors(const CaseEntry& entry, const SafetensorsFile& file) {
  TensorsByPart out;
  for (const auto* names : {&entry.inputs, &entry.outputs}) {
    for (const std::string& name : *names) {
      DI_ASSIGN(out[part_of(name)], load(file, name));
    }
  }
  return out;
}

Status check_inputs(const KernelAdapter& adapter, const TensorsByPart& tensors) {
  for (const InputSpec& spec : adapter.inputs) {
    const auto found = tensors.find(spec.part);
    if (found == tensors.end()) return errorf(ErrorCode::kDataCorruption, "tensor {} is not listed", spec.part);
    const TensorType& type = found->second.type();
    if (type.dtype != spec.dtype || type.shape.rank() != spec.rank || type.num_elements() == 0) {
      return errorf(ErrorCode::kDataCorruption, "tensor {} is {}, expected {} of rank {}", spec.part, to_string(type),
                    dtype_name(spec.dtype), spec.rank);
    }
  }
  return {};
}

/// The rule of one output: `compare` itself, or its member of that name when the kind is "mixed".
Result<const Json*> rule_of(const CaseEntry& entry, const std::string& part) {
  DI_ASSIGN(const Json* compare, member(entry.json, "compare"));
  DI_ASSIGN(const std::string kind, text_of(*compare, "kind"));
  if (kind != "mixed") return compare;
  return member(*compare, part);
}

std::optional<double> reference_error(const CaseEntry& entry, const std::string& part) {
  const Json* errors = entry.json.find("reference_error");
  const Json* output = errors == nullptr ? nullptr : errors->find(part);
  const Json* largest = output == nullptr ? nullptr : output->find("max_abs");
  return largest == nullptr ? std::nullopt : largest->as_double();
}

/// The tensor that a rule's skip_if names by its first word, "gap" or "margin".
Result<std::optional<Tensor>> decision_of(const CaseEntry& entry, const Json& rule, const SafetensorsFile& file) {
  if (rule.find("skip_if") == nullptr) return std::nullopt;
  DI_ASSIGN(const std::string condition, text_of(rule, "skip_if"));
  return load_optional(file, entry.name + "/" + condition.substr(0, condition.find(' ')));
}

struct OutputResult {
  std::string part;
  Comparison comparison;
};

Result<Comparison> compare_one(const CaseEntry& entry, const SafetensorsFile& file, const std::string& name,
                               const CaseOutputs& found) {
  const std::string part = part_of(name);
  const auto ours = found.tensors.find(part);
  if (ours == found.tensors.end()) return errorf(ErrorCode::kUnsupported, "output {} is unknown", part);
  DI_ASSIGN(const Json* rule, rule_of(entry, part));
  DI_ASSIGN(const Tensor stored, load(file, name));
  DI_ASSIGN(const std::optional<Tensor> truth, load_optional(file, name + ".truth"));
  DI_ASSIGN(const std::optional<Tensor> decision, decision_of(entry, *rule, file));
  return compare_output(ours->second, {.stored = stored,
                                       .rule = *rule,
                                       .truth = truth ? &*truth : nullptr,
                                       .reference_error = reference_error(entry, part),
                                       .decision = decision ? &*decision : nullptr});
}

/// Share of the bound that is used up; anything above an exact bound is infinitely bad.
double severity(const Comparison& comparison) {
  if (!comparison.pass) return std::numeric_limits<double>::infinity();
  return comparison.bound > 0 ? comparison.worst / comparison.bound : 0;
}

/// The figures of the worst output, the details of all.
CaseRow row_of(const CaseEntry& entry, const std::vector<OutputResult>& results, const CaseOutputs& found) {
  CaseRow row{.op = entry.op, .name = entry.name};
  const auto worst =
      std::ranges::max_element(results, {}, [](const OutputResult& result) { return severity(result.comparison); });
  row.worst = worst->comparison.worst;
  row.bound = worst->comparison.bound;
  bool pass = found.failures.empty();
  std::vector<std::string> details = found.failures;
  for (const OutputResult& result : results) {
    pass = pass && result.comparison.pass;
    if (!result.comparison.detail.empty()) details.push_back(result.part + ": " + result.comparison.detail);
  }
  row.outcome = pass ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail;
  for (const std::string& detail : details) row.detail += (row.detail.empty() ? "" : "; ") + detail;
  return row;
}

/// bf16 elements of one op that were compared with a tolerance.
struct Equality {
  std::int64_t elements = 0;
  std::int64_t differing = 0;
};

class Run {
 public:
  Run(const std::string& dir, const KernelOptions& options, Machine machine)
      : dir_(dir), options_(options), machine_(machine) {}

  Result<Report> all() {
    const std::string path = dir_ + "/manifest.json";
    DI_ASSIGN(const std::string content, base::read_file(path));
    auto manifest = base::parse_json(content);
    if (!manifest) return with_context(std::move(manifest).error(), path);
    DI_ASSIGN(const Json* files, member(*manifest, "files"));
    if (!files->is_object()) return errorf(ErrorCode::kDataCorruption, "{}: \"files\" is no object", path);
    for (const auto& [file, cases] : files->members()) {
      auto status = run_file(file, cases);
      if (!status) return with_context(std::move(status).error(), file);
    }
    if (report_.rows().empty()) {
      return errorf(ErrorCode::kInvalidArgument, "no case of {} matches \"{}\"", dir_, options_.only);
    }
    add_equality_rows();
    return std::move(report_);
  }

 private:
  bool wanted(const std::string& file, const CaseEntry& entry) const {
    if (options_.only.empty()) return true;
    const std::string path = file.substr(0, file.find('.')) + "/" + entry.name;
    return std::ranges::any_of(std::array{&entry.op, &entry.name, &path}, [&](const std::string* text) {
      return fnmatch(options_.only.c_str(), text->c_str(), 0) == 0;
    });
  }

  Status run_file(const std::string& name, const Json& cases) {
    if (!cases.is_array()) return errorf(ErrorCode::kDataCorruption, "cases are a {}", cases.type_name());
    if (name.find('/') != std::string::npos) return errorf(ErrorCode::kDataCorruption, "file names hold no '/'");
    DI_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(dir_ + "/" + name));
    for (const Json& json : cases.items()) {
      DI_ASSIGN(const CaseEntry entry, read_entry(json));
      if (!wanted(name, entry)) continue;
      auto row = run_guarded(entry, file);
      if (!row) return with_context(std::move(row).error(), entry.name);
      report_.add(std::move(*row));
    }
    return {};
  }

  /// Tensors that contradict each other inside a case trip a check of an op: the file is at fault.
  Result<CaseRow> run_guarded(const CaseEntry& entry, const SafetensorsFile& file) {
    try {
      return run_case(entry, file);
    } catch (const CheckFailure& failure) {
      return errorf(ErrorCode::kDataCorruption, "the tensors do not fit together: {}", failure.what());
    }
  }

  Result<CaseRow> run_case(const CaseEntry& entry, const SafetensorsFile& file) {
    const KernelAdapter* adapter = find_adapter(entry.op);
    if (adapter == nullptr) {
      return CaseRow{.op = entry.op, .name = entry.name, .outcome = CaseRow::Outcome::kFail,
                     .detail = "no op of this build implements the operation"};
    }
    DI_ASSIGN(TensorsByPart tensors, load_tensors(entry, file));
    DI_TRY(check_inputs(*adapter, tensors));
    DI_ASSIGN(const CaseOutputs found, adapter->run(KernelCase(entry.name, entry.json, std::move(tensors), machine_)));
    std::vector<OutputResult> results;
    for (const std::string& name : entry.outputs) {
      DI_ASSIGN(Comparison comparison, compare_one(entry, file, name, found));
      equality_[entry.op].elements += comparison.elements;
      equality_[entry.op].differing += comparison.differing;
      results.push_back({part_of(name), std::move(comparison)});
    }
    return row_of(entry, results, found);
  }

  void add_equality_rows() {
    constexpr double kLargestShare = 0.001;
    constexpr double kAlwaysAllowed = 3;  // 0.1 % of less than 3,000 elements would be decided by chance
    for (const auto& [op, count] : equality_) {
      if (count.elements == 0) continue;
      const double allowed = std::max(kAlwaysAllowed, kLargestShare * static_cast<double>(count.elements));
      const auto differing = static_cast<double>(count.differing);
      report_.add({.op = op,
                   .name = "equal elements",
                   .worst = differing,
                   .bound = allowed,
                   .outcome = differing <= allowed ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail,
                   .detail = fmt::format("{} of {} bf16 elements differ", count.differing, count.elements)});
    }
  }

  const std::string& dir_;
  const KernelOptions& options_;
  Machine machine_;
  Report report_;
  std::map<std::string, Equality> equality_;
};

}  // namespace

Result<Report> verify_kernels(const std::string& dir, const KernelOptions& options) {
  DI_ASSIGN(const isa::Kernels* isa, isa::choose(options.isa));
  base::ThreadPool pool(0);
  return Run(dir, options, {&pool, isa}).all();
}

}  // namespace deepinfer::verify
