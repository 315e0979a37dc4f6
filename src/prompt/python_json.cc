#include "prompt/python_json.h"

#include <fmt/format.h>

#include <optional>

namespace deepinfer::prompt {
namespace {

using base::Json;

enum class Form { kPython, kCompact };

// "1.25e-05" -> "0.0000125", "1e-07" -> "1e-7". Python switches to exponents below 1e-4 and pads them to two digits;
// the compact form switches below 1e-5.
std::string compact_float(std::string text) {
  const auto e = text.find('e');
  if (e == std::string::npos) return text;
  const std::string exponent = text.substr(e + 1);
  std::string mantissa = text.substr(0, e);
  if (exponent != "-05") {
    const char sign = exponent[0];
    const auto digits = exponent.find_first_not_of('0', 1);
    return mantissa + "e" + sign + exponent.substr(digits);
  }
  const bool negative = mantissa[0] == '-';
  if (negative) mantissa.erase(0, 1);
  std::erase(mantissa, '.');
  return (negative ? "-0.0000" : "0.0000") + mantissa;
}

// fmt's shortest form has the same limits as Python's (exponents below 1e-4 and from 1e16) but prints 1.0 as "1".
std::string float_text(double value, Form form) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return form == Form::kCompact ? compact_float(std::move(text)) : text;
}

std::string number_text(const Json& number, Form form, BigIntegers big_integers) {
  if (number.is_integer()) {
    const bool fits = number.as_int() || number.as_uint();
    if (fits || big_integers == BigIntegers::kKeep) return number.number_text();
  }
  const std::optional<double> value = number.as_double();
  return value ? float_text(*value, form) : number.number_text();
}

class Writer {
 public:
  Writer(Form form, BigIntegers big_integers)
      : form_(form),
        big_integers_(big_integers),
        comma_(form == Form::kPython ? ", " : ","),
        colon_(form == Form::kPython ? ": " : ":") {}

  void write(const Json& value) {
    if (value.is_object()) {
      write_object(value.members());
    } else if (value.is_array()) {
      write_array(value.items());
    } else if (value.is_string()) {
      write_string(value.string());
    } else if (value.is_number()) {
      out_ += number_text(value, form_, big_integers_);
    } else if (value.is_bool()) {
      out_ += value.boolean() ? "true" : "false";
    } else {
      out_ += "null";
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_object(const Json::Object& members) {
    out_ += '{';
    const char* separator = "";
    for (const auto& [key, value] : members) {
      out_ += separator;
      write_string(key);
      out_ += colon_;
      write(value);
      separator = comma_;
    }
    out_ += '}';
  }
  void write_array(const Json::Array& items) {
    out_ += '[';
    const char* separator = "";
    for (const Json& item : items) {
      out_ += separator;
      write(item);
      separator = comma_;
    }
    out_ += ']';
  }
  void write_string(std::string_view text) {
    out_ += '"';
    append_json_escaped(out_, text);
    out_ += '"';
  }

  Form form_;
  BigIntegers big_integers_;
  const char* comma_;
  const char* colon_;
  std::string out_;
};

}  // namespace

std::string python_json(const Json& value, BigIntegers big_integers) {
  Writer writer(Form::kPython, big_integers);
  writer.write(value);
  return writer.take();
}

std::string compact_json(const Json& value) {
  Writer writer(Form::kCompact, BigIntegers::kToFloat);
  writer.write(value);
  return writer.take();
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
}

}  // namespace deepinfer::prompt
