// make_fixtures OUT [NAME...]: writes the generated tiny checkpoints (all, or the named ones) below OUT.
//
// They have no tokenizer of their own; copy tokenizer.json of a golden model folder beside them where text is needed.
// Exit codes as the command line: 0, 2 wrong usage, 3 unknown name, 4 not writable.
#include <cstdio>
#include <string>
#include <vector>

#include "checkpoint/fixtures.h"
#include "checkpoint/writer.h"

int main(int argc, char** argv) {
  namespace cp = deepinfer::checkpoint;
  if (argc < 2) {
    std::fputs("usage: make_fixtures OUT [NAME...]\n", stderr);
    for (const auto& fixture : cp::fixtures()) {
      std::fprintf(stderr, "  %-8s %s\n", std::string(fixture.name).c_str(), std::string(fixture.purpose).c_str());
    }
    return 2;
  }
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty()) {
    for (const auto& fixture : cp::fixtures()) names.emplace_back(fixture.name);
  }
  for (const std::string& name : names) {
    const auto checkpoint = cp::fixture_checkpoint(name);
    const auto written = checkpoint ? cp::write_checkpoint(*checkpoint, std::string(argv[1]) + "/" + name)
                                    : deepinfer::Status(tl::unexpected(checkpoint.error()));
    if (!written) {
      std::fprintf(stderr, "make_fixtures: %s\n", written.error().to_string().c_str());
      return deepinfer::exit_code_of(written.error().code);
    }
  }
  return 0;
}
