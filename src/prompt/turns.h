// Preprocessing of a conversation: tool results and user messages become user turns.
//
// Source: tokenizer-and-prompts.md 3.2 steps 1 to 4.
#pragma once

#include <string>
#include <vector>

#include "prompt/messages.h"

namespace deepinfer::prompt {

/// One block of a user turn: the parts of a user message, or a tool result with its call id.
struct TurnBlock {
  const Message* message = nullptr;
  bool is_result() const { return message->role == Role::kTool; }
};

/// A message of another role, or a user turn made of consecutive user and tool messages. Points into the conversation.
struct Turn {
  Role role = Role::kUser;
  const Message* message = nullptr;  ///< null for user turns
  std::vector<TurnBlock> blocks;     ///< user turns only
  std::string task;                  ///< checkpoint rules; empty: none
  bool is_user() const { return role == Role::kUser; }
};

/// Joins user and tool messages into turns, orders the results of each turn by the latest calls, and (recipe rules)
/// keeps only the first of consecutive reminders.
std::vector<Turn> make_turns(const std::vector<Message>& messages, Rules rules);

}  // namespace deepinfer::prompt
