#include "verify/kernel_case.h"

#include <algorithm>

#include "base/error.h"
#include "graph/attrs.h"

namespace deepinfer::verify {

Result<std::vector<Tensor>> call_op(const Machine& machine, const graph::OpDef& op,
                                    std::initializer_list<const Tensor*> operands, const graph::Attrs& given) {
  DI_ASSIGN(const graph::Attrs attrs, graph::complete_attrs(op.attrs, given));
  std::vector<TensorType> types;
  std::vector<ConstTensorRef> in;
  for (const Tensor* operand : operands) {
    types.push_back(operand->type());
    in.push_back(operand->ref());
  }
  auto results = op.infer(types, attrs);
  if (!results) return with_context(std::move(results).error(), std::string(op.name));
  std::vector<Tensor> out;
  for (const TensorType& type : *results) out.emplace_back(type);
  for (const graph::InPlace& pair : op.in_place) {  // the kernel reads the operand through the result's storage
    Tensor& state = out[static_cast<std::size_t>(pair.result)];
    ConstTensorRef& operand = in[static_cast<std::size_t>(pair.operand)];
    std::memcpy(state.data(), operand.data, static_cast<std::size_t>(state.type().bytes()));
    operand = state.ref();
  }
  std::vector<TensorRef> out_refs;
  for (const Tensor& tensor : out) out_refs.push_back(tensor.ref());
  graph::Scratch scratch;
  graph::KernelContext ctx{machine.pool, machine.isa, &scratch};
  op.kernel(graph::OpCall{in, out_refs, attrs, ctx});
  return out;
}

Result<Tensor> call_one(const Machine& machine, const graph::OpDef& op, std::initializer_list<const Tensor*> operands,
                        const graph::Attrs& attrs) {
  DI_ASSIGN(std::vector<Tensor> out, call_op(machine, op, operands, attrs));
  DI_CHECK(out.size() == 1, "{} has {} results", op.name, out.size());
  return std::move(out[0]);
}

const Tensor& KernelCase::tensor(std::string_view part) const {
  const auto found = tensors_.find(part);
  DI_CHECK(found != tensors_.end(), "case {} has no tensor {}", name_, part);
  return found->second;
}

namespace {
const base::Json* param_of(const base::Json& entry, std::string_view param) {
  const base::Json* params = entry.find("params");
  return params == nullptr ? nullptr : params->find(param);
}
}  // namespace

double KernelCase::number(std::string_view param, double fallback) const {
  const base::Json* value = param_of(*entry_, param);
  return value == nullptr ? fallback : value->as_double().value_or(fallback);
}

std::int64_t KernelCase::integer(std::string_view param, std::int64_t fallback) const {
  const base::Json* value = param_of(*entry_, param);
  return value == nullptr ? fallback : value->as_int().value_or(fallback);
}

Result<std::int64_t> KernelCase::size(std::string_view param, std::int64_t fallback) const {
  const std::int64_t value = integer(param, fallback);
  if (value >= 1 && value <= kLargestSize) return value;
  return errorf(ErrorCode::kDataCorruption, "{} = {}, expected 1 to {}", param, value, kLargestSize);
}

bool KernelCase::flag(std::string_view param) const {
  const base::Json* value = param_of(*entry_, param);
  return value != nullptr && value->is_bool() && value->boolean();
}

std::vector<std::int64_t> KernelCase::integers(std::string_view param) const {
  std::vector<std::int64_t> out;
  const base::Json* value = param_of(*entry_, param);
  if (value == nullptr || !value->is_array()) return out;
  for (const base::Json& item : value->items()) out.push_back(item.as_int().value_or(0));
  return out;
}

Tensor reshaped(const Tensor& tensor, const Shape& shape) {
  Tensor out(tensor.type().dtype, shape);
  DI_CHECK(out.type().bytes() == tensor.type().bytes(), "{} as {}", to_string(tensor.type()), to_string(out.type()));
  std::memcpy(out.data(), tensor.data(), static_cast<std::size_t>(out.type().bytes()));
  return out;
}

Tensor slice_at(const Tensor& tensor, std::int64_t index) {
  const Shape& shape = tensor.shape();
  DI_CHECK(shape.rank() >= 1 && index >= 0 && index < shape[0], "element {} of {}", index, to_string(tensor.type()));
  Tensor out(tensor.type().dtype, Shape(shape.extents().subspan(1)));
  std::memcpy(out.data(), static_cast<const std::byte*>(tensor.data()) + index * out.type().bytes(),
              static_cast<std::size_t>(out.type().bytes()));
  return out;
}

}  // namespace deepinfer::verify
