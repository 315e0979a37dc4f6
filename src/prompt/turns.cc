#include "prompt/turns.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace deepinfer::prompt {
namespace {

// Only the places of result blocks are permuted; text blocks stay where they are. Unknown ids sort last.
void order_results(std::vector<TurnBlock>& blocks, const std::vector<ToolCall>& calls) {
  std::vector<TurnBlock> results;
  std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(results),
               [](const TurnBlock& block) { return block.is_result(); });
  if (results.size() < 2) return;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < calls.size(); ++i) places.emplace(calls[i].id, i);
  const auto place = [&](const TurnBlock& block) {
    const auto it = places.find(block.message->tool_call_id);
    return it == places.end() ? calls.size() : it->second;
  };
  std::stable_sort(results.begin(), results.end(),
                   [&](const TurnBlock& a, const TurnBlock& b) { return place(a) < place(b); });
  auto next = results.begin();
  for (TurnBlock& block : blocks) {
    if (block.is_result()) block = *next++;
  }
}

bool joins(const std::vector<Turn>& turns, const Message& message) {
  return !turns.empty() && turns.back().is_user() && turns.back().task.empty() && !message.task;
}

}  // namespace

std::vector<Turn> make_turns(const std::vector<Message>& messages, Rules rules) {
  std::vector<Turn> turns;
  const std::vector<ToolCall> no_calls;
  const std::vector<ToolCall>* latest_calls = &no_calls;
  std::vector<const std::vector<ToolCall>*> calls_of_turn;  // the calls that were latest when the turn began
  for (const Message& message : messages) {
    if (message.role == Role::kUser || message.role == Role::kTool) {
      if (!joins(turns, message)) {
        turns.push_back({Role::kUser, nullptr, {}, message.task.value_or("")});
        calls_of_turn.push_back(latest_calls);
      }
      turns.back().blocks.push_back({&message});
      continue;
    }
    const bool repeated_reminder = message.role == Role::kLatestReminder && !turns.empty() &&
                                   turns.back().role == Role::kLatestReminder && rules == Rules::kRecipe;
    if (repeated_reminder) continue;
    if (message.role == Role::kAssistant && !message.tool_calls.empty()) latest_calls = &message.tool_calls;
    turns.push_back({message.role, &message, {}, message.task.value_or("")});
    calls_of_turn.push_back(latest_calls);
  }
  for (std::size_t i = 0; i < turns.size(); ++i) order_results(turns[i].blocks, *calls_of_turn[i]);
  return turns;
}

}  // namespace deepinfer::prompt
