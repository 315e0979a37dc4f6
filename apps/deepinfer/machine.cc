#include "machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/check.h"
#include "base/error.h"
#include "checkpoint/weight_table.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

constexpr std::array<std::string_view, 14> kUsefulFeatures = {
    "sse4_2",   "avx",         "f16c",        "fma",      "avx2",     "avx512f",  "avx512bw",
    "avx512vl", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "amx_bf16", "asimd"};

std::int64_t count_nodes() {
  std::int64_t nodes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 4 && name.starts_with("node") && name[4] >= '0' && name[4] <= '9') ++nodes;
  }
  return std::max<std::int64_t>(nodes, 1);
}

}  // namespace

CpuInfo cpu_info() {
  CpuInfo out;
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) out.logical = CPU_COUNT(&usable);
  out.numa_nodes = count_nodes();
  std::ifstream in("/proc/cpuinfo");
  std::set<std::pair<std::string, std::string>> cores;
  std::string package;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name") out.name = value;
    if (key == "physical id") package = value;
    if (key == "core id") cores.emplace(package, value);
    if ((key != "flags" && key != "Features") || !out.features.empty()) continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) {
      if (std::ranges::find(kUsefulFeatures, word) != kUsefulFeatures.end()) out.features.push_back(word);
    }
  }
  out.physical = static_cast<std::int64_t>(cores.size());
  return out;
}

Timing measure(double budget_s, const std::function<void()>& fn) {
  fn();
  std::vector<double> times;
  const double start = now_s();
  while (times.size() < 3 || (now_s() - start < budget_s && times.size() < 1000)) {
    const double before = now_s();
    fn();
    times.push_back(now_s() - before);
  }
  std::ranges::sort(times);
  const auto at = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  return {at(50), at(50) > 0 ? (at(90) - at(10)) / at(50) : 0};
}

double read_bandwidth(base::ThreadPool& pool, std::int64_t bytes) {
  // memchr of a byte that is not there reads at full vector width and nothing else.
  const std::vector<char> buffer(static_cast<std::size_t>(bytes), 1);
  std::atomic<std::int64_t> found{0};
  const Timing timing = measure(0.3, [&] {
    pool.parallel_for(bytes, 4096, [&](std::int64_t begin, std::int64_t end) {
      if (std::memchr(buffer.data() + begin, 2, static_cast<std::size_t>(end - begin)) != nullptr) ++found;
    });
  });
  DI_CHECK(found == 0, "{} pieces hold a byte that was never written", found.load());
  return static_cast<double>(bytes) / timing.median_s;
}

double copy_bandwidth(base::ThreadPool& pool, std::int64_t bytes) {
  std::vector<char> from(static_cast<std::size_t>(bytes / 2), 1);
  std::vector<char> to(from.size());
  const Timing timing = measure(0.3, [&] {
    pool.parallel_for(bytes / 2, 4096, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  return static_cast<double>(bytes) / timing.median_s;
}

Result<double> disk_rate(const std::string& path, std::int64_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errorf(ErrorCode::kNotFound, "{}: {}", path, std::strerror(errno));
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  std::vector<char> buffer(std::size_t{4} << 20);
  std::int64_t total = 0;
  const double start = now_s();
  while (total < bytes) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count <= 0) break;
    total += count;
  }
  const double elapsed = now_s() - start;
  ::close(file);
  return elapsed > 0 ? static_cast<double>(total) / elapsed : 0;
}

TokenCost token_cost(const checkpoint::ModelConfig& config) {
  using checkpoint::WeightGroup;
  TokenCost out;
  const double chosen = config.n_routed_experts > 0 ? static_cast<double>(config.num_experts_per_tok) /
                                                          static_cast<double>(config.n_routed_experts)
                                                    : 0;
  for (const checkpoint::WeightSpec& spec : checkpoint::weight_table(config, checkpoint::DraftLayers::kSkip)) {
    const bool expert = spec.group == WeightGroup::kExperts;
    const bool looked_up = spec.group == WeightGroup::kEmbed || spec.group == WeightGroup::kEngramTable;  // a few rows
    if (spec.use == checkpoint::WeightUse::kIgnored || looked_up) continue;
    const double share = expert ? chosen : 1;
    (expert ? out.expert_bytes : out.resident_bytes) += share * static_cast<double>(spec.bytes());
    if (spec.shape.size() < 2 || spec.kind == checkpoint::WeightKind::kE8M0) continue;
    const double weights =
        static_cast<double>(spec.num_elements()) * (spec.kind == checkpoint::WeightKind::kFp4 ? 2 : 1);
    out.flops += 2 * share * weights;
  }
  return out;
}

}  // namespace deepinfer::cli
