// Folders of form 2: prompts and outputs of a checkpoint that lies elsewhere (goldens/tiny-chat/README.md).
//
// The prompt is computed in one call, then the recorded continuation is forced token by token. A step is judged unless
// it is marked below_noise_floor: its argmax must be the recorded token. Logits are reported, and judged by the
// folder's own floor: the oracle sums whole blocks exactly, so bits differ and caches amplify them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/io.h"
#include "verify/model_checks.h"

namespace deepinfer::verify {
namespace {

Status check_hashes(const GoldenFolder& golden, const std::string& model_dir) {
  const base::Json& files = member(golden.manifest(), "model_files");
  need_golden(files.is_object(), "model_files is a {}, expected an object", files.type_name());
  for (const auto& [name, value] : files.members()) {
    const std::string& hash = text_member(files, name);
    DI_ASSIGN(const std::string found, base::sha256_file(model_dir + "/" + name));
    if (found != hash) {
      return errorf(ErrorCode::kDataCorruption, "{}/{} has SHA-256 {}, the golden belongs to {}", model_dir, name,
                    found, hash);
    }
  }
  return {};
}

std::vector<std::int32_t> ints(const base::Json* list) {
  std::vector<std::int32_t> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const base::Json& item : list->items()) out.push_back(static_cast<std::int32_t>(item.as_int().value_or(-1)));
  return out;
}

class TinyChat {
 public:
  TinyChat(GoldenFolder& golden, ModelSession& session, Report& report)
      : golden_(golden), session_(session), report_(report), floor_(number(golden.manifest(), "noise_floor", 0)) {}

  Status prompt(const std::string& name, const std::string& file) {
    DI_ASSIGN(const base::Json data, golden_.json(file));
    const std::vector<std::int32_t> ids = ints(data.find("prompt_ids"));
    const std::vector<std::int32_t> continuation = ints(data.find("continuation"));
    const base::Json* steps = data.find("steps");
    if (ids.empty() || steps == nullptr || !steps->is_array() || steps->items().size() != continuation.size()) {
      return errorf(ErrorCode::kInvalidArgument, "{}/{} lacks prompt_ids, or steps and continuation differ in length",
                    golden_.dir(), file);
    }
    std::vector<const base::Json*> drafts(continuation.size(), nullptr);
    if (const base::Json* list = data.find("drafts"); list != nullptr && list->is_array()) {
      for (const base::Json& draft : list->items()) {
        const base::Json* at = draft.find("step");
        const auto step = static_cast<std::size_t>(at != nullptr ? at->as_int().value_or(-1) : -1);
        if (step < drafts.size()) drafts[step] = &draft;
      }
    }
    session_.start(ids);
    const std::vector<float> prompt_logits = session_.prefill();
    std::vector<float> row(prompt_logits.end() - session_.vocab(), prompt_logits.end());
    Steps total;
    for (std::size_t s = 0; s < continuation.size(); ++s) {
      judge_step(steps->items()[s], row, continuation[s], total);
      if (drafts[s] != nullptr) judge_draft(*drafts[s], total);
      if (s + 1 < continuation.size()) row = session_.decode(continuation[s]);
    }
    add("greedy", name, static_cast<double>(total.wrong), 0,
        fmt::format("{} of {} steps judged; top logits differ by {:.3g} at most", total.judged, continuation.size(),
                    total.spread));
    add("drafts", name, static_cast<double>(total.draft_wrong), 0,
        fmt::format("{} draft tokens judged", total.draft_judged));
    return logits(name, data, prompt_logits);
  }

 private:
  struct Steps {
    std::int64_t judged = 0, wrong = 0, draft_judged = 0, draft_wrong = 0;
    double spread = 0;
  };

  void add(const std::string& op, const std::string& name, double worst, double bound, const std::string& detail) {
    report_.add({op, name, worst, bound, worst <= bound ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, detail});
  }

  void judge_step(const base::Json& step, std::span<const float> row, std::int32_t token, Steps& total) const {
    const std::vector<std::int32_t> best = ints(step.find("top5_ids"));
    const base::Json* values = step.find("top5_logits");
    const std::size_t known = values != nullptr ? list_of(*values, "top5_logits").size() : 0;
    for (std::size_t i = 0; i < std::min(known, best.size()); ++i) {
      const double expected = values->items()[i].as_double().value_or(0);
      need_golden(best[i] >= 0 && best[i] < session_.vocab(), "top5_ids holds {}", best[i]);
      total.spread = std::max(total.spread, std::abs(double{row[static_cast<std::size_t>(best[i])]} - expected));
    }
    const base::Json* below = step.find("below_noise_floor");
    if (below != nullptr && below->is_bool() && below->boolean()) return;
    ++total.judged;
    total.wrong += argmax(row) != token ? 1 : 0;
  }

  // Draft tokens up to the first whose margin is within twice the floor: after it the Markov chain may differ.
  void judge_draft(const base::Json& golden, Steps& total) {
    const auto anchor = static_cast<std::int32_t>(member(golden, "anchor").as_int().value_or(-1));
    const std::vector<std::int32_t> expected = ints(golden.find("tokens"));
    const base::Json* margins = golden.find("margins");
    const ModelSession::Draft draft = session_.draft(anchor);
    for (std::size_t k = 0; k < expected.size() && k + 1 < draft.ids.size(); ++k) {
      if (margins == nullptr || k >= list_of(*margins, "margins").size()) return;
      if (margins->items()[k].as_double().value_or(0) <= 2 * floor_) return;
      ++total.draft_judged;
      total.draft_wrong += draft.ids[k + 1] != expected[k] ? 1 : 0;
    }
  }

  Status logits(const std::string& name, const base::Json& data, std::span<const float> found) {
    const base::Json* file = data.find("logits_file");
    if (file == nullptr || !file->is_string()) return {};
    DI_ASSIGN(const ConstTensorRef expected, golden_.tensor(file->string(), "prompt_logits"));
    const Distance d = distance(found, to_floats(expected), session_.vocab());
    add("prompt_logits", name, d.max_abs, 2 * floor_,
        fmt::format("rms_rel {:.3g} cos_min {:.6f} top1 {:.4g}", d.rms_rel, d.cos_min, d.top1));
    return {};
  }

  GoldenFolder& golden_;
  ModelSession& session_;
  Report& report_;
  double floor_;
};

}  // namespace

Result<Report> verify_form2(GoldenFolder golden, const ModelOptions& options) {
  DI_TRY(check_hashes(golden, options.model_dir));
  if (options.prompts == ModelOptions::Prompts::kValidation) return verify_validation(golden, options);
  DI_ASSIGN(const auto model, load_model(options.model_dir));
  DI_ASSIGN(const model::NumericModes modes, golden_modes(options));
  DI_ASSIGN(ModelSession session, ModelSession::open(model, modes, options, 2048));
  DI_ASSIGN(const AblationScope ablation, AblationScope::start(options.ablate, session.runner()));
  Report report;
  const base::Json* prompts = golden.manifest().find("prompts");
  if (prompts == nullptr || !prompts->is_array()) {
    return errorf(ErrorCode::kInvalidArgument, "{}/manifest.json lacks the list \"prompts\"", golden.dir());
  }
  TinyChat chat(golden, session, report);
  for (const base::Json& prompt : prompts->items()) {
    const base::Json* name = prompt.find("name");
    const base::Json* file = prompt.find("file");
    if (name == nullptr || file == nullptr || !name->is_string() || !file->is_string()) {
      return errorf(ErrorCode::kInvalidArgument, "{}/manifest.json: a prompt lacks \"name\" or \"file\"", golden.dir());
    }
    DI_TRY(chat.prompt(name->string(), file->string()));
  }
  return report;
}

}  // namespace deepinfer::verify
