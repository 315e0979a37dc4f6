// `deepinfer verify ...`: golden folders against this build; exit code 1 when a case fails.
#include "action.h"
#include "base/error.h"
#include "inputs.h"
#include "settings.h"
#include "terminal.h"
#include "verify/verify_encoding.h"
#include "verify/verify_kernels.h"
#include "verify/verify_model.h"
#include "verify/verify_tokenizer.h"

namespace deepinfer::cli {
namespace {

/// What all verifications share: the folder and the form of the report.
class Verify : public Action {
 public:
  void define(Arguments& a) override {
    a.flag("--json", "one object {cases, passed, failed, skipped}", json_);
    define_more(a);
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const verify::Report report, make(context));
    json_ ? print_json(report.to_json()) : print(report.to_text());
    return report.ok() ? 0 : 1;
  }

 protected:
  virtual void define_more(Arguments& a) = 0;
  virtual Result<verify::Report> make(const Context& context) = 0;

  void define_folder(Arguments& a, std::string bundled) {
    bundled_ = std::move(bundled);
    a.positional({"DIR", "", fmt::format("golden folder; default: the bundled {}", bundled_)},
                 Arguments::Presence::kOptional, [this](const std::string& value) { dir_ = value; });
  }
  Result<std::string> folder(const Context& context) const {
    if (!dir_.empty()) return dir_;
    return bundled_folder(context.env, bundled_);
  }

 private:
  std::string dir_, bundled_;
  bool json_ = false;
};

class VerifyKernels : public Verify {
  void define_more(Arguments& a) override {
    define_folder(a, "tests/golden/kernels");
    model_.define(a);
    a.text("--only", "GLOB", "cases whose op, case or op/case matches", options_.only);
    a.examples(
        "  deepinfer verify kernels tests/golden/kernels\n  deepinfer verify kernels --only 'gemm*' --isa scalar\n");
  }
  Result<verify::Report> make(const Context& context) override {
    DI_ASSIGN(const std::string dir, folder(context));
    options_.isa = model_.isa;
    return verify::verify_kernels(dir, options_);
  }
  ModelFlags model_;
  verify::KernelOptions options_;
};

class VerifyModel : public Verify {
  void define_more(Arguments& a) override {
    define_folder(a, "tests/golden/tiny-chat");
    model_.define(a);
    a.add({"--chunks", "1,3,7", "prefill chunk sizes that must give the same bits, 0 = whole"},
          [this](const std::string& value) {
            options_.chunks.clear();
            for (const std::int32_t chunk : parse_ids(value)) {
              if (chunk < 0) usage_error("chunk {} is below 0", chunk);
              if (chunk > 0) options_.chunks.push_back(chunk);  // every case runs whole as well
            }
          });
    a.text("--only", "GLOB", "cases whose op/case matches", options_.only);
    a.flag("--validation", "the tasks of validation.jsonl instead of the golden prompts", validation_);
#ifdef DEEPINFER_TESTING
    a.text("--ablate", "NAME", "leave one ingredient out, as noise.json names it: the verification must fail",
           options_.ablate);
#endif
    a.later({"--tolerance-profile", "--write-golden"});
    a.examples(
        "  deepinfer verify model tests/golden/model/micro\n  deepinfer verify model tests/golden/tiny-chat "
        "--graph-mode eager\n");
  }
  Result<verify::Report> make(const Context& context) override {
    DI_ASSIGN(const std::string dir, folder(context));
    DI_ASSIGN(options_.model_dir, model_.folder(context));
    const engine::RunnerOptions runner = model_.runner_options(context);
    options_.graph_mode = runner.graph_mode;
    options_.num_threads = runner.num_threads;
    options_.cpu_isa = runner.cpu_isa;
    options_.modes = model_.settings(context);
    if (validation_) options_.prompts = verify::ModelOptions::Prompts::kValidation;
    return verify::verify_model(dir, options_);
  }
  ModelFlags model_;
  verify::ModelOptions options_;
  bool validation_ = false;
};

class VerifyTokenizer : public Verify {
  void define_more(Arguments& a) override {
    define_folder(a, "tests/golden/tokenizer");
    a.text("--tokenizer", "FILE", "tokenizer.json with the released vocabulary; without it such vectors are skipped",
           file_);
    a.examples("  deepinfer verify tokenizer tests/golden/tokenizer --tokenizer tokenizer.json\n");
  }
  Result<verify::Report> make(const Context& context) override {
    DI_ASSIGN(const std::string dir, folder(context));
    return verify::verify_tokenizer(dir, file_);
  }
  std::optional<std::string> file_;
};

class VerifyEncoding : public Verify {
  void define_more(Arguments& a) override {
    define_folder(a, "tests/golden/encoding");
    a.text("--tokenizer", "FILE", "tokenizer.json with the released vocabulary; without it such vectors are skipped",
           file_);
    a.examples("  deepinfer verify encoding tests/golden/encoding\n");
  }
  Result<verify::Report> make(const Context& context) override {
    DI_ASSIGN(const std::string dir, folder(context));
    return verify::verify_encoding(dir, file_);
  }
  std::optional<std::string> file_;
};

class VerifyAll : public Verify {
  void define_more(Arguments& a) override {
    model_.define(a);
    a.text("--tokenizer", "FILE", "tokenizer.json with the released vocabulary", file_);
    a.examples("  deepinfer verify all\n");
  }
  Result<verify::Report> make(const Context& context) override {
    verify::Report all;
    DI_ASSIGN(const std::string golden, bundled_folder(context.env, "tests/golden"));
    DI_ASSIGN(const auto kernels, verify::verify_kernels(golden + "/kernels", {.only = {}, .isa = model_.isa}));
    all.append(kernels);
    verify::ModelOptions options;
    options.num_threads = static_cast<int>(model_.threads);
    options.cpu_isa = model_.isa;
    DI_ASSIGN(options.model_dir, bundled_folder(context.env, "models/tiny-chat"));
    for (const char* name : {"model/micro", "model/nosel", "model/ties", "model/geom", "model/wide", "tiny-chat"}) {
      DI_ASSIGN(const auto report, verify::verify_model(golden + "/" + name, options));
      all.append(report);
    }
    DI_ASSIGN(const auto tokenizer, verify::verify_tokenizer(golden + "/tokenizer", file_));
    all.append(tokenizer);
    DI_ASSIGN(const auto encoding, verify::verify_encoding(golden + "/encoding", file_));
    all.append(encoding);
    return all;
  }
  ModelFlags model_;
  std::optional<std::string> file_;
};

}  // namespace

std::unique_ptr<Action> make_verify_kernels() { return std::make_unique<VerifyKernels>(); }
std::unique_ptr<Action> make_verify_model() { return std::make_unique<VerifyModel>(); }
std::unique_ptr<Action> make_verify_tokenizer() { return std::make_unique<VerifyTokenizer>(); }
std::unique_ptr<Action> make_verify_encoding() { return std::make_unique<VerifyEncoding>(); }
std::unique_ptr<Action> make_verify_all() { return std::make_unique<VerifyAll>(); }

}  // namespace deepinfer::cli
