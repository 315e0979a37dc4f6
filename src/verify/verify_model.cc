#include "verify/verify_model.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/engram_hash/engram_hash.h"
#include "verify/golden_folder.h"
#include "verify/model_checks.h"
#include "verify/model_session.h"

namespace deepinfer::verify {
namespace {

/// End-to-end checks of a folder of form 1.
class EndToEnd {
 public:
  EndToEnd(GoldenFolder& golden, ModelSession& session, const ModelOptions& options, Report& report)
      : golden_(golden), session_(session), options_(options), report_(report) {}

  Status run() {
    const base::Json* prompts = golden_.manifest().find("prompts");
    const base::Json* files = golden_.manifest().find("files");
    if (prompts == nullptr || !prompts->is_object() || files == nullptr || !files->is_object()) {
      return errorf(ErrorCode::kInvalidArgument, "{}/manifest.json lacks \"prompts\" or \"files\"", golden_.dir());
    }
    for (const auto& [name, prompt] : prompts->members()) DI_TRY(prefill(name));
    if (files->find("engram.safetensors") != nullptr) DI_TRY(engram(*prompts));
    for (const auto& [name, prompt] : prompts->members()) DI_TRY(decode(name, "owner"));
    if (files->find("draft.safetensors") != nullptr) DI_TRY(drafts("owner"));
    if (files->find("image.safetensors") != nullptr) {
      DI_TRY(image("mask"));
      DI_TRY(image("rows"));
    }
    return {};
  }

  /// The steps whose index keys follow the reference's quirk.
  Status published(const base::Json& prompts) {
    for (const auto& [name, prompt] : prompts.members()) DI_TRY(decode(name, "published"));
    if (golden_.has("draft.safetensors")) DI_TRY(drafts("published"));
    return {};
  }

  /// Prefill under the canonical list, judged by `limit` only.
  Status canonical(const base::Json& prompts) {
    for (const auto& [name, prompt] : prompts.members()) {
      DI_ASSIGN(const ConstTensorRef tokens, golden_.tensor("prefill.safetensors", name + ".tokens"));
      DI_ASSIGN(const ConstTensorRef expected, golden_.tensor("prefill.safetensors", name + ".logits"));
      session_.start(to_ints(tokens));
      judge("prefill.canonical", name, session_.prefill(), to_floats(expected), tolerance("prefill", name), false);
    }
    return {};
  }

 private:
  const base::Json* tolerance(std::string_view area, const std::string& name) const {
    const base::Json* node = golden_.manifest().find("tolerance");
    node = node != nullptr ? node->find(area) : nullptr;
    return node != nullptr ? node->find(name) : nullptr;
  }

  // Judged by `typical` where it is demanded, else by `limit`; a result between both names its first deviating row.
  void judge(const std::string& op, const std::string& name, const std::vector<float>& found,
             const std::vector<float>& expected, const base::Json* tolerance, bool demand_typical) {
    if (tolerance == nullptr || tolerance->find("limit") == nullptr || tolerance->find("typical") == nullptr) {
      report_.add({op, name, 0, 0, CaseRow::Outcome::kFail, "the manifest states no tolerance"});
      return;
    }
    const Distance d = distance(found, expected, session_.vocab());
    const base::Json& limit = *tolerance->find(demand_typical ? "typical" : "limit");
    std::string detail = exceeded(d, limit);
    const auto outcome = detail.empty() ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail;
    if (detail.empty() && !exceeded(d, *tolerance->find("typical")).empty()) {
      detail = fmt::format("above typical, first at position {}", d.first_row);
    }
    if (detail.empty()) detail = fmt::format("max_abs {:.3g} cos_min {:.6f} top1 {:.4g}", d.max_abs, d.cos_min, d.top1);
    report_.add({op, name, d.rms_rel, number(limit, "rms_rel", 0), outcome, detail});
  }

  Status prefill(const std::string& name) {
    DI_ASSIGN(const ConstTensorRef tokens, golden_.tensor("prefill.safetensors", name + ".tokens"));
    DI_ASSIGN(const ConstTensorRef expected, golden_.tensor("prefill.safetensors", name + ".logits"));
    const std::vector<std::int32_t> ids = to_ints(tokens);
    session_.start(ids);
    const std::vector<float> whole = session_.prefill();
    judge("prefill", name, whole, to_floats(expected), tolerance("prefill", name), name == "p7" || name == "p33");
    return {};
  }

  Status decode(const std::string& name, const std::string& mode) {
    const std::string prefix = name + "." + mode;
    const base::Json* limits = tolerance("decode", prefix);
    if (limits == nullptr) return {};  // no continuation recorded for this prompt
    DI_ASSIGN(const ConstTensorRef prompt, golden_.tensor("prefill.safetensors", name + ".tokens"));
    DI_ASSIGN(const ConstTensorRef tokens, golden_.tensor("decode.safetensors", prefix + ".tokens"));
    DI_ASSIGN(const ConstTensorRef logits, golden_.tensor("decode.safetensors", prefix + ".logits"));
    DI_ASSIGN(const ConstTensorRef margins, golden_.tensor("decode.safetensors", prefix + ".margin"));
    const std::vector<std::int32_t> forced = to_ints(tokens);
    session_.start(to_ints(prompt));
    std::vector<float> found = session_.prefill();
    found.erase(found.begin(), found.end() - session_.vocab());
    for (std::size_t s = 0; s + 1 < forced.size(); ++s) {
      const std::vector<float> row = session_.decode(forced[s]);
      found.insert(found.end(), row.begin(), row.end());
    }
    judge("decode", prefix, found, to_floats(logits), limits, false);
    need_golden(margins.type.num_elements() == std::ssize(forced) && !forced.empty(), "{}: {} margins for {} tokens", prefix,
                margins.type.num_elements(), forced.size());
    greedy(prefix, found, forced, to_floats(margins), number(*limits, "argmax_must_match_above_margin", 0));
    return {};
  }

  void greedy(const std::string& name, std::span<const float> found, std::span<const std::int32_t> tokens,
              std::span<const float> margins, double floor) {
    std::int64_t judged = 0;
    std::int64_t wrong = 0;
    for (std::size_t s = 0; s < tokens.size(); ++s) {
      if (!(double{margins[s]} > floor)) continue;
      ++judged;
      const auto row =
          found.subspan(s * static_cast<std::size_t>(session_.vocab()), static_cast<std::size_t>(session_.vocab()));
      wrong += argmax(row) != tokens[s] ? 1 : 0;
    }
    report_.add({"greedy", name, static_cast<double>(wrong), 0,
                 wrong == 0 ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail,
                 fmt::format("{} of {} steps judged", judged, tokens.size())});
  }

  Status engram(const base::Json& prompts) {
    DI_ASSIGN(const ConstTensorRef map, golden_.tensor("engram.safetensors", "token_map"));
    const std::vector<std::int32_t> expected = to_ints(map);
    need_golden(std::ssize(expected) == session_.vocab(), "token_map has {} entries, the vocabulary {}", expected.size(),
                session_.vocab());
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      wrong += session_.runner().model().token_class(static_cast<std::int32_t>(i)) != expected[i] ? 1 : 0;
    }
    exact("engram", "token_map", wrong);
    for (const auto& [name, prompt] : prompts.members()) {
      DI_ASSIGN(const ConstTensorRef ids, golden_.tensor("engram.safetensors", name + ".ids"));
      DI_ASSIGN(const ConstTensorRef tokens, golden_.tensor("prefill.safetensors", name + ".tokens"));
      session_.start(to_ints(tokens));
      exact("engram", name + ".ids", wrong_row_ids(to_ints(ids)));
    }
    return {};
  }

  std::int64_t wrong_row_ids(std::span<const std::int32_t> expected) {
    const auto count = static_cast<std::int64_t>(session_.sequence().tokens.size());
    const std::int64_t columns = session_.config().engram_columns();
    std::vector<std::int64_t> found(static_cast<std::size_t>(count * columns));
    const std::size_t wanted = found.size() * session_.config().engram_layer_ids.size();
    need_golden(expected.size() == wanted, "{} Engram row ids, expected {}", expected.size(), wanted);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < session_.config().engram_layer_ids.size(); ++i) {
      ops::engram_row_ids(session_.runner().model().engram_hash(static_cast<std::int64_t>(i)),
                          session_.sequence().classes, 0, count, found.data());
      for (std::size_t j = 0; j < found.size(); ++j) wrong += found[j] != expected[i * found.size() + j] ? 1 : 0;
    }
    return wrong;
  }

  void exact(const std::string& op, const std::string& name, std::int64_t wrong) {
    report_.add(
        {op, name, static_cast<double>(wrong), 0, wrong == 0 ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, ""});
  }

  Status drafts(const std::string& mode) {
    DI_ASSIGN(const ConstTensorRef anchors_ref, golden_.tensor("draft.safetensors", mode + ".anchors"));
    DI_ASSIGN(const ConstTensorRef prompt, golden_.tensor("prefill.safetensors", "p33.tokens"));
    const std::vector<std::int32_t> anchors = to_ints(anchors_ref);
    session_.start(to_ints(prompt));
    session_.prefill();
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      if (i > 0) session_.decode(anchors[i - 1]);
      DI_TRY(one_draft(mode, fmt::format("{}.{}", mode, i), anchors[i]));
    }
    return {};
  }

  Status one_draft(const std::string& mode, const std::string& name, std::int32_t anchor) {
    const auto get = [&](const std::string& part) { return golden_.tensor("draft.safetensors", name + "." + part); };
    DI_ASSIGN(const ConstTensorRef ids, get("ids"));
    DI_ASSIGN(const ConstTensorRef raw, get("raw_logits"));
    DI_ASSIGN(const ConstTensorRef logits, get("logits"));
    DI_ASSIGN(const ConstTensorRef confidence, get("confidence"));
    const ModelSession::Draft draft = session_.draft(anchor);
    const base::Json* limits = tolerance("draft", mode);
    judge("draft.raw_logits", name, draft.raw_logits, to_floats(raw), limits, false);
    // The corrected rows follow the drafted tokens; they are comparable while those are equal.
    if (draft.ids == to_ints(ids)) {
      judge("draft.logits", name, draft.logits, to_floats(logits), limits, false);
    } else {
      report_.add({"draft.logits", name, 1, 0, CaseRow::Outcome::kFail, "drafted tokens differ"});
    }
    double worst = 0;
    const std::vector<float> expected = to_floats(confidence);
    need_golden(expected.size() == draft.confidence.size(), "{}: {} confidences, expected {}", name, expected.size(),
                draft.confidence.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      worst = std::max(worst, std::abs(double{draft.confidence[k]} - double{expected[k]}));
    }
    const base::Json* limit = limits != nullptr ? limits->find("limit") : nullptr;
    const double bound = limit != nullptr ? number(*limit, "confidence_max_abs", 0) : 0;
    report_.add({"draft.confidence", name, worst, bound,
                 worst <= bound ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, ""});
    return {};
  }

  Status image(const std::string& name) {
    const auto get = [&](const std::string& part) { return golden_.tensor("image.safetensors", part); };
    DI_ASSIGN(const ConstTensorRef tokens_ref, get("tokens"));
    DI_ASSIGN(const ConstTensorRef types_ref, get("types"));
    DI_ASSIGN(const ConstTensorRef logits, get(name + ".logits"));
    DI_ASSIGN(const ConstTensorRef decode_logits, get(name + ".decode_logits"));
    DI_ASSIGN(const ConstTensorRef decode_tokens, get(name + ".decode_tokens"));
    const std::vector<std::int32_t> tokens = to_ints(tokens_ref);
    const std::vector<std::int32_t> types = to_ints(types_ref);
    Tensor embeds;
    if (name == "rows") {
      DI_ASSIGN(const ConstTensorRef rows, get("rows"));
      embeds = image_embeddings(tokens, types, rows);
    }
    session_.start(tokens, types);
    std::vector<float> found = session_.prefill(0, name == "rows" ? &embeds : nullptr);
    judge("image", name, found, to_floats(logits), tolerance("image", name), false);
    found.erase(found.begin(), found.end() - session_.vocab());
    const std::vector<std::int32_t> forced = to_ints(decode_tokens);
    for (std::size_t s = 0; s + 1 < forced.size(); ++s) {
      const std::vector<float> row = session_.decode(forced[s]);
      found.insert(found.end(), row.begin(), row.end());
    }
    judge("image.decode", name, found, to_floats(decode_logits), tolerance("image", name), false);
    return image_ids(name, tokens, types);
  }

  // Text rows are looked up, span rows are given.
  Tensor image_embeddings(std::span<const std::int32_t> tokens, std::span<const std::int32_t> types,
                          const ConstTensorRef& rows) const {
    const std::int64_t hidden = session_.config().hidden_size;
    Tensor out(DType::kBF16, {static_cast<std::int64_t>(tokens.size()), hidden});
    const BF16* table = session_.runner().model().weights().embed.tensor.as<BF16>();
    const std::vector<float> given = to_floats(rows);
    need_golden(std::ssize(given) == std::ssize(tokens) * hidden && types.size() == tokens.size(),
                "image rows have {} values and {} types for {} tokens", given.size(), types.size(), tokens.size());
    for (const std::int32_t token : tokens) {
      need_golden(token >= 0 && token < session_.vocab(), "token id {} is outside 0 .. {}", token, session_.vocab() - 1);
    }
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      for (std::int64_t d = 0; d < hidden; ++d) {
        const auto at = static_cast<std::int64_t>(t) * hidden + d;
        out.as<BF16>()[at] =
            types[t] >= 0 ? to_bf16(given[static_cast<std::size_t>(at)]) : table[tokens[t] * hidden + d];
      }
    }
    return out;
  }

  Status image_ids(const std::string& name, std::span<const std::int32_t> tokens, std::span<const std::int32_t> types) {
    session_.start(tokens, types);
    const auto count = static_cast<std::int64_t>(tokens.size());
    const std::int64_t columns = session_.config().engram_columns();
    std::vector<std::int64_t> found(static_cast<std::size_t>(count * columns));
    for (std::size_t i = 0; i < session_.config().engram_layer_ids.size(); ++i) {
      const std::int64_t layer = session_.config().engram_layer_ids[i];
      DI_ASSIGN(const ConstTensorRef ids,
                golden_.tensor("image.safetensors", fmt::format("{}.layers.{}.engram.ids", name, layer)));
      const std::vector<std::int32_t> expected = to_ints(ids);
      need_golden(expected.size() == found.size(), "{}: {} Engram row ids, expected {}", name, expected.size(),
                  found.size());
      ops::engram_row_ids(session_.runner().model().engram_hash(static_cast<std::int64_t>(i)),
                          session_.sequence().classes, 0, count, found.data());
      std::int64_t wrong = 0;
      for (std::size_t j = 0; j < found.size(); ++j) wrong += found[j] != expected[j] ? 1 : 0;
      exact("image.engram_ids", fmt::format("{}.layers.{}", name, layer), wrong);
    }
    return {};
  }

  GoldenFolder& golden_;
  ModelSession& session_;
  const ModelOptions& options_;
  Report& report_;
};

// One-shot prefill against chunks, decode steps and another thread count: the same bits, in the default modes.
Status check_same_bits(GoldenFolder& golden, const std::shared_ptr<const model::deepseek_v41::Model>& model,
                       const ModelOptions& options, Report& report) {
  DI_ASSIGN(ModelSession session, ModelSession::open(model, {}, options, 1024));
  DI_ASSIGN(const ConstTensorRef tokens, golden.tensor("prefill.safetensors", "p33.tokens"));
  const std::vector<std::int32_t> ids = to_ints(tokens);
  session.start(ids);
  const std::vector<float> whole = session.prefill();
  const auto add = [&](const std::string& name, const std::vector<float>& found) {
    std::int64_t wrong = found.size() == whole.size() ? 0 : -1;
    for (std::size_t i = 0; wrong >= 0 && i < whole.size(); ++i) wrong += found[i] != whole[i] ? 1 : 0;
    report.add({"same_bits", name, static_cast<double>(wrong), 0,
                wrong == 0 ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, ""});
  };
  for (const std::int64_t chunk : options.chunks) {
    if (chunk == 0) continue;
    session.start(ids);
    add(fmt::format("chunk {}", chunk), session.prefill(chunk));
  }
  for (const int threads : {1, 2}) {
    ModelOptions other = options;
    other.num_threads = threads;
    DI_ASSIGN(ModelSession single, ModelSession::open(model, {}, other, 1024));
    single.start(std::span(ids).first(1));
    std::vector<float> rows = single.prefill();
    for (std::size_t t = 1; t < ids.size(); ++t) {
      const std::vector<float> row = single.decode(ids[t]);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    add(fmt::format("decode, {} thread{}", threads, threads > 1 ? "s" : ""), rows);
  }
  return {};
}

Result<Report> verify_form1(GoldenFolder golden, const ModelOptions& options) {
  const std::string checkpoint = golden.dir() + "/" + golden.manifest().find("checkpoint")->string();
  DI_ASSIGN(const auto model, load_model(checkpoint));
  DI_ASSIGN(model::NumericModes modes, golden_modes(options));
  Report report;
  const base::Json* prompts = golden.manifest().find("prompts");
  {
    DI_ASSIGN(ModelSession session, ModelSession::open(model, modes, options, 1024));
    DI_ASSIGN(const AblationScope ablation, AblationScope::start(options.ablate, session.runner()));
    DI_TRY(replay_blocks(golden, session, report));
    DI_TRY(EndToEnd(golden, session, options, report).run());
  }
  {
    model::NumericModes quirk = modes;
    quirk.index_key_source = model::IndexKeySource::kReferenceDecode;
    DI_ASSIGN(ModelSession session, ModelSession::open(model, quirk, options, 1024));
    DI_ASSIGN(const AblationScope ablation, AblationScope::start(options.ablate, session.runner()));
    DI_TRY(EndToEnd(golden, session, options, report).published(*prompts));
  }
  {
    model::NumericModes canonical = modes;
    canonical.attention_list = model::AttentionList::kCanonical;
    DI_ASSIGN(ModelSession session, ModelSession::open(model, canonical, options, 1024));
    DI_ASSIGN(const AblationScope ablation, AblationScope::start(options.ablate, session.runner()));
    DI_TRY(EndToEnd(golden, session, options, report).canonical(*prompts));
  }
  if (options.ablate.empty()) DI_TRY(check_same_bits(golden, model, options, report));
  return report;
}

}  // namespace

Result<Report> verify_model(const std::string& dir, const ModelOptions& options) {
  DI_ASSIGN(GoldenFolder golden, GoldenFolder::open(dir));
  const base::Json* checkpoint = golden.manifest().find("checkpoint");
  const bool first_form = checkpoint != nullptr && checkpoint->is_string();
  if (!first_form && golden.manifest().find("model_files") == nullptr) {
    return errorf(ErrorCode::kInvalidArgument, "{}/manifest.json names neither \"checkpoint\" nor \"model_files\"",
                  dir);
  }
  const Result<Report> report = refuse_bad_golden(dir, [&]() -> Result<Report> {
    return first_form ? verify_form1(std::move(golden), options) : verify_form2(std::move(golden), options);
  });
  if (!report || options.only.empty()) return report;
  Report chosen;
  for (const CaseRow& row : report->rows()) {
    if (::fnmatch(options.only.c_str(), (row.op + "/" + row.name).c_str(), 0) == 0) chosen.add(row);
  }
  return chosen;
}

}  // namespace deepinfer::verify
