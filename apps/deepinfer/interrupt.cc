#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace deepinfer::cli {
namespace {

constexpr int kLostFile = 3;  // bad input

volatile std::sig_atomic_t g_raised = 0;       // set by the handler only
volatile std::sig_atomic_t g_cooperative = 0;  // depth of InterruptScope

extern "C" void on_interrupt(int) {
  if (g_cooperative == 0 || g_raised != 0) ::_exit(kInterrupted);
  g_raised = 1;
}

// Weights and other files are read through mappings; a page beyond the end of a file that became shorter raises
// SIGBUS. Nothing sensible can go on, but the cause is known: bad input instead of a crash.
extern "C" void on_lost_page(int) {
  constexpr char kText[] = "deepinfer: a file became shorter while it was in use (or its disk failed)\n";
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) ::_exit(kLostFile);
  ::_exit(kLostFile);
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // no SA_RESTART: a blocking read returns, so that line input can be dropped
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = on_lost_page;
  sigaction(SIGBUS, &action, nullptr);
}

InterruptScope::InterruptScope() {
  g_raised = 0;
  g_cooperative = g_cooperative + 1;
}
InterruptScope::~InterruptScope() { g_cooperative = g_cooperative - 1; }
bool interrupted() { return g_raised != 0; }
void clear_interrupt() { g_raised = 0; }

}  // namespace deepinfer::cli
