// Ctrl-C. A command either dies at once with exit code 130 (the default) or asks for the flag and stops by itself.
#pragma once

namespace deepinfer::cli {

inline constexpr int kInterrupted = 130;

/// Installs the handlers: exit code 130 at once for Ctrl-C, 3 with a message for a file that shrinks while in use.
void install_interrupt_handler();

/// While one lives, the first Ctrl-C only raises the flag; the second exits with 130.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};
bool interrupted();
void clear_interrupt();

}  // namespace deepinfer::cli
