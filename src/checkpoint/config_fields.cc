#include "checkpoint/config_fields.h"

namespace deepinfer::checkpoint {
namespace {

using C = ModelConfig;
using V = VisionConfig;

// Compile-time maxima: every count is compared with these before it sizes anything.
constexpr double kMaxLayers = 1024;
constexpr double kMaxWidth = 1 << 20;
constexpr double kMaxHeads = 4096;
constexpr double kMaxVocab = 1 << 24;
constexpr double kMaxExperts = 65536;
constexpr double kMaxTokens = 1 << 30;
constexpr double kMaxRows = 1e12;
constexpr double kMaxReal = 1e12;

constexpr ConfigField kFields[] = {
    {&C::vocab_size, "text_config.vocab_size", "vocab_size", 1, kMaxVocab},
    {&C::hidden_size, "text_config.hidden_size", "dim", 1, kMaxWidth},
    {&C::moe_intermediate_size, "text_config.moe_intermediate_size", "moe_inter_dim", 1, kMaxWidth},
    {&C::num_hidden_layers, "text_config.num_hidden_layers", "n_layers", 1, kMaxLayers},
    {&C::num_attention_heads, "text_config.num_attention_heads", "n_heads", 1, kMaxHeads},
    {&C::head_dim, "text_config.head_dim", "head_dim", 1, kMaxWidth},
    {&C::qk_rope_head_dim, "text_config.qk_rope_head_dim", "rope_head_dim", 2, kMaxWidth},
    {&C::q_lora_rank, "text_config.q_lora_rank", "q_lora_rank", 1, kMaxWidth},
    {&C::o_lora_rank, "text_config.o_lora_rank", "o_lora_rank", 1, kMaxWidth},
    {&C::o_groups, "text_config.o_groups", "o_groups", 1, kMaxHeads},
    {&C::swiglu_limit, "text_config.swiglu_limit", "swiglu_limit", 0, kMaxReal},
    {&C::rms_norm_eps, "text_config.rms_norm_eps", "norm_eps", 0, 1},
    {&C::max_position_embeddings, "text_config.max_position_embeddings", "", 1, kMaxTokens},
    {&C::rope_theta, "text_config.rope_theta", "rope_theta", 1, kMaxReal},
    {&C::compress_rope_theta, "text_config.compress_rope_theta", "compress_rope_theta", 1, kMaxReal},
    {&C::rope_factor, "text_config.rope_scaling.factor", "rope_factor", 1, 1e6},
    {&C::rope_beta_fast, "text_config.rope_scaling.beta_fast", "beta_fast", 0, 1e6},
    {&C::rope_beta_slow, "text_config.rope_scaling.beta_slow", "beta_slow", 0, 1e6},
    {&C::original_max_position_embeddings, "text_config.rope_scaling.original_max_position_embeddings",
     "original_seq_len", 1, kMaxTokens},
    {&C::n_routed_experts, "text_config.n_routed_experts", "n_routed_experts", 1, kMaxExperts},
    {&C::n_shared_experts, "text_config.n_shared_experts", "n_shared_experts", 1, 1},
    {&C::num_experts_per_tok, "text_config.num_experts_per_tok", "n_activated_experts", 1, kMaxExperts},
    {&C::routed_scaling_factor, "text_config.routed_scaling_factor", "route_scale", 0, 1e6},
    {&C::gate_temp, "text_config.gate_temp", "gate_temp", 1e-6, 1e6, Presence::kOptional},
    {&C::sliding_window, "text_config.sliding_window", "window_size", 1, kMaxTokens},
    {&C::compress_ratios, "text_config.compress_ratios", "compress_ratios", 0, 65536},
    {&C::kv_source_layer_ids, "text_config.kv_source_layer_ids", "kv_source_layers", 0, kMaxLayers},
    {&C::index_source_layer_ids, "text_config.index_source_layer_ids", "index_source_layers", 0, kMaxLayers},
    {&C::index_n_heads, "text_config.index_n_heads", "index_n_heads", 1, kMaxHeads},
    {&C::index_head_dim, "text_config.index_head_dim", "index_head_dim", 1, kMaxWidth},
    {&C::index_topk, "text_config.index_topk", "index_topk", 1, kMaxTokens},
    {&C::candidate_source_layer_id, "text_config.candidate_source_layer_id", "candidate_source_layer", -kMaxLayers,
     kMaxLayers},
    {&C::candidate_topk_blocks, "text_config.candidate_topk_blocks", "candidate_topk_blocks", 0, kMaxTokens},
    {&C::candidate_block_size, "text_config.candidate_block_size", "candidate_block_size", 0, kMaxTokens},
    {&C::hc_mult, "text_config.hc_mult", "hc_mult", 1, 64},
    {&C::hc_sinkhorn_iters, "text_config.hc_sinkhorn_iters", "hc_sinkhorn_iters", 1, 10000},
    {&C::hc_eps, "text_config.hc_eps", "hc_eps", 0, 1},
    {&C::engram_layer_ids, "text_config.engram_layer_ids", "engram_layer_ids", 0, kMaxLayers},
    {&C::engram_num_embeddings, "text_config.engram_num_embeddings", "engram_num_embeddings", 1, kMaxRows},
    {&C::engram_max_ngram_size, "text_config.engram_max_ngram_size", "engram_max_ngram_size", 2, 16},
    {&C::engram_n_heads, "text_config.engram_n_heads", "engram_n_heads", 1, kMaxHeads},
    {&C::engram_head_dim, "text_config.engram_head_dim", "engram_head_dim", 1, kMaxWidth},
    {&C::engram_vocab_size, "text_config.engram_vocab_size", "engram_vocab_size", 1, 2147483647},
    {&C::engram_pad_token_id, "text_config.engram_pad_token_id", "engram_pad_id", 0, kMaxVocab, Presence::kRequired,
     "text_config.engram_pad_id"},
    {&C::engram_compressed_vocab_size, "text_config.engram_compressed_vocab_size", "engram_compressed_vocab_size", 1,
     kMaxVocab},
    {&C::num_nextn_predict_layers, "text_config.num_nextn_predict_layers", "n_mtp_layers", 0, 64},
    {&C::dspark_block_size, "text_config.dspark_block_size", "dspark_block_size", 0, 256},
    {&C::dspark_noise_token_id, "text_config.dspark_noise_token_id", "dspark_noise_token_id", 0, kMaxVocab},
    {&C::dspark_target_layer_ids, "text_config.dspark_target_layer_ids", "dspark_target_layer_ids", 0, kMaxLayers},
    {&C::dspark_markov_rank, "text_config.dspark_markov_rank", "dspark_markov_rank", 1, kMaxWidth},
    {&C::dspark_n_routed_experts, "text_config.dspark_n_routed_experts", "dspark_n_routed_experts", 1, kMaxExperts},
    {&C::dspark_num_experts_per_tok, "text_config.dspark_num_experts_per_tok", "dspark_n_activated_experts", 1,
     kMaxExperts},
    {&C::bos_token_id, "bos_token_id", "", 0, kMaxVocab},
    {&C::eos_token_id, "eos_token_id", "", 0, kMaxVocab},
    {&C::pad_token_id, "pad_token_id", "", 0, kMaxVocab},
    {&C::image_token_id, "image_token_id", "image_token_id", 0, kMaxVocab},
};

constexpr VisionField kVisionFields[] = {
    {&V::hidden_size, "vision_config.hidden_size", "vision_dim", 1, kMaxWidth},
    {&V::intermediate_size, "vision_config.intermediate_size", "vision_inter_dim", 1, kMaxWidth},
    {&V::num_hidden_layers, "vision_config.num_hidden_layers", "vision_n_layers", 1, kMaxLayers},
    {&V::num_attention_heads, "vision_config.num_attention_heads", "vision_n_heads", 1, kMaxHeads},
    {&V::patch_size, "vision_config.patch_size", "patch_size", 1, 4096},
    {&V::rope_theta, "vision_config.rope_theta", "rope_theta", 1, kMaxReal},
    {&V::downsample_ratio, "vision_config.downsample_ratio", "downsample_ratio", 1, 64},
    {&V::max_image_tokens, "vision_config.max_image_tokens", "vision_max_n_token", 1, kMaxTokens},
    {&V::min_pixels, "vision_config.min_pixels", "min_pixels", 1, kMaxTokens},
};

constexpr auto kFeature = ErrorCode::kUnsupported;
constexpr auto kOptional = Presence::kOptional;

constexpr FixedField kHuggingFaceFixed[] = {
    {"model_type", "\"deepseek_v41\"", kFeature},
    {"architectures", "[\"DeepseekV41ForCausalLM\"]", kFeature, kOptional},
    {"dtype", "\"bfloat16\"", kFeature, kOptional},
    {"tie_word_embeddings", "false", kFeature, kOptional},
    {"quantization_config.quant_method", "\"fp8\"", kFeature},
    {"quantization_config.activation_scheme", "\"dynamic\"", kFeature},
    {"quantization_config.weight_block_size", "[32,32]", kFeature},
    {"quantization_config.scale_fmt", "\"ue8m0\"", kFeature},
    {"quantization_config.expert_dtype", "\"fp4\"", kFeature},
    {"text_config.model_type", "\"deepseek_v41_text\"", kFeature, kOptional},
    {"vision_config.model_type", "\"deepseek_v41_vision\"", kFeature, kOptional},
    {"text_config.num_key_value_heads", "1", kFeature},
    {"text_config.hidden_act", "\"silu\"", kFeature},
    {"text_config.rope_scaling.rope_type", "\"yarn\"", kFeature},
    {"text_config.scoring_func", "\"sqrtsoftplus\"", kFeature},
    {"text_config.topk_method", "\"noaux_tc\"", kFeature},
    {"text_config.norm_topk_prob", "true", kFeature},
    {"text_config.attention_bias", "false", kFeature, kOptional},
    {"text_config.num_hash_layers", "0", kFeature, kOptional},
    {"text_config.hc_shifted", "true", kFeature, kOptional},
    {"text_config.use_fp4_sparse_kv", "true", kFeature, kOptional},
    {"text_config.dspark_target_attn_input", "true", kFeature, kOptional},
};

constexpr FixedField kFlatFixed[] = {
    {"dtype", "\"fp8\"", kFeature},
    {"expert_dtype", "\"fp4\"", kFeature},
    {"score_func", "\"sqrtsoftplus\"", kFeature},
    {"model_type", "\"deepseek_v41\"", kFeature, kOptional},
    {"architectures", "[\"DeepseekV41ForCausalLM\"]", kFeature, kOptional},
    {"scale_fmt", "\"ue8m0\"", kFeature, kOptional},
    {"norm_topk_prob", "true", kFeature, kOptional},
    {"n_hash_layers", "0", kFeature, kOptional},
    {"hc_shifted", "true", kFeature, kOptional},
    {"use_fp4_sparse_kv", "true", kFeature, kOptional},
    {"dspark_target_attn_input", "true", kFeature, kOptional},
};

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }
std::span<const VisionField> vision_fields() { return kVisionFields; }
std::span<const FixedField> fixed_fields(ConfigForm form) {
  if (form == ConfigForm::kFlat) return kFlatFixed;
  return kHuggingFaceFixed;
}

}  // namespace deepinfer::checkpoint
