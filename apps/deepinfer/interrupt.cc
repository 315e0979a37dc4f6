#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace deepinfer::cli {
namespace {

volatile std::sig_atomic_t g_raised = 0;       // set by the handler only
volatile std::sig_atomic_t g_cooperative = 0;  // depth of InterruptScope

extern "C" void on_interrupt(int) {
  if (g_cooperative == 0 || g_raised != 0) ::_exit(kInterrupted);
  g_raised = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // no SA_RESTART: a blocking read returns, so that line input can be dropped
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::InterruptScope() {
  g_raised = 0;
  g_cooperative = g_cooperative + 1;
}
InterruptScope::~InterruptScope() { g_cooperative = g_cooperative - 1; }
bool interrupted() { return g_raised != 0; }
void clear_interrupt() { g_raised = 0; }

}  // namespace deepinfer::cli
