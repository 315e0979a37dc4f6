// What this machine is and how fast it is: the measurements behind `doctor` and the limits that `bench` compares with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {

struct CpuInfo {
  std::string name;
  std::int64_t logical = 0;   ///< usable by this process
  std::int64_t physical = 0;  ///< cores of the machine, 0 = unknown
  std::int64_t numa_nodes = 1;
  std::vector<std::string> features;  ///< those that kernels may use
};
CpuInfo cpu_info();

/// Median and relative spread (90th minus 10th percentile, over the median) of repeated runs.
struct Timing {
  double median_s = 0;
  double spread = 0;
};
/// Runs `fn` once to warm up, then until `budget_s` is over, 3 … 1000 times.
Timing measure(double budget_s, const std::function<void()>& fn);

/// Bytes a second of summing (copying) a buffer of `bytes`, over all threads of the pool.
double read_bandwidth(base::ThreadPool& pool, std::int64_t bytes);
double copy_bandwidth(base::ThreadPool& pool, std::int64_t bytes);
/// Bytes a second of reading up to `bytes` of a file after its pages were dropped. Errors: kNotFound.
Result<double> disk_rate(const std::string& path, std::int64_t bytes);

/// What one decoded token reads and computes, without caches.
struct TokenCost {
  double resident_bytes = 0;  ///< dense tensors of the trunk
  double expert_bytes = 0;    ///< chosen routed experts
  double flops = 0;
  double bytes() const { return resident_bytes + expert_bytes; }
};
TokenCost token_cost(const checkpoint::ModelConfig& config);

}  // namespace deepinfer::cli
