#include "control/store/records.hpp"

namespace weir::store {

std::string meta_key(std::string_view name) { return std::string(1, meta_tag) + std::string(name); }
std::string log_key(std::uint64_t sequence) {
  return Encoder(std::string_view(&log_tag, 1)).u64(sequence).text;
}
std::string generation_key(Generation id) {
  return Encoder(std::string_view(&generation_tag, 1)).u64(id.value()).text;
}
std::string dynamic_key(const DynamicKey &key) {
  return Encoder(std::string_view(&dynamic_tag, 1)).u16(key.list.value()).prefix(key.prefix).text;
}
std::string dynamic_range(ListId list) {
  return Encoder(std::string_view(&dynamic_tag, 1)).u16(list.value()).text;
}
std::string dynamic_range_end(ListId list) {
  if (list == 0xFFFF) return std::string(1, dynamic_tag + 1);
  return dynamic_range(list.next());
}
std::string content_key(std::uint64_t version, const Prefix &prefix) {
  return Encoder().u64(version).prefix(prefix).text;
}
std::string sum_key(std::uint64_t version) {
  return Encoder(std::string_view(&sum_tag, 1)).u64(version).text;
}
std::string audit_key(AuditKind kind, std::uint64_t number) {
  return Encoder(std::string_view(&audit_tag, 1)).u8(static_cast<std::uint8_t>(kind)).u64(number).text;
}
std::string number_text(std::uint64_t value) { return Encoder().u64(value).text; }

std::string encode(const DynamicEntry &e) {
  return Encoder().u64(e.added_at).u64(e.expires_at).string(e.comment).text;
}

std::optional<DynamicEntry> decode_dynamic(std::string_view key, std::string_view value) {
  Decoder k(key.substr(1)), v(value);
  DynamicEntry e;
  e.key.list = ListId(k.u16());
  e.key.prefix = k.prefix();
  e.added_at = v.u64();
  e.expires_at = v.u64();
  e.comment = v.string();
  if (!k.ok() || !v.ok()) return std::nullopt;
  return e;
}

std::string encode(const ContentSum &sum) { return Encoder().u64(sum.entries).u64(sum.checksum).text; }

std::optional<ContentSum> decode_sum(std::string_view text) {
  Decoder in(text);
  ContentSum sum;
  sum.entries = in.u64();
  sum.checksum = in.u64();
  if (!in.ok()) return std::nullopt;
  return sum;
}

std::string encode(const AuditRecord &a) {
  return Encoder()
      .u64(a.at_ms)
      .string(a.by)
      .string(a.what)
      .string(a.list)
      .string(a.detail)
      .u64(a.generation.value())
      .text;
}

std::optional<AuditRecord> decode_audit(std::string_view text) {
  Decoder in(text);
  AuditRecord a;
  a.at_ms = in.u64();
  a.by = in.string();
  a.what = in.string();
  a.list = in.string();
  a.detail = in.string();
  a.generation = Generation(in.u64());
  if (!in.ok()) return std::nullopt;
  return a;
}

std::string encode(const GenerationRecord &g) {
  Encoder out;
  out.u64(g.id.value())
      .u64(g.applied_at)
      .raw(g.digest.data(), g.digest.size())
      .string(g.config_text)
      .string(g.config_source)
      .string(g.cause);
  out.u64(g.lists.size());
  for (const ListMeta &l : g.lists)
    out.u16(l.number.value())
        .string(l.name)
        .u8(static_cast<std::uint8_t>(l.action))
        .u64(l.content_version)
        .u64(l.fingerprint)
        .u64(l.updated_at)
        .string(l.format);
  out.string(g.plan_json).string(g.counts_json).u64(g.image_bytes);
  out.u64(static_cast<std::uint64_t>(g.build_ms * 1000));
  if (g.flows.empty()) return out.text; // as records were before there were any
  out.u64(g.flows.size());
  for (const FlowsMeta &f : g.flows) out.string(f.rule).u64(f.content_version).u64(f.fingerprint);
  return out.text;
}

std::optional<GenerationRecord> decode_generation(std::string_view text) {
  Decoder in(text);
  GenerationRecord g;
  g.id = Generation(in.u64());
  g.applied_at = in.u64();
  in.raw(g.digest.data(), g.digest.size());
  g.config_text = in.string();
  g.config_source = in.string();
  g.cause = in.string();
  const std::uint64_t lists = in.u64();
  for (std::uint64_t i = 0; i < lists && in.ok(); ++i) {
    ListMeta l;
    l.number = ListId(in.u16());
    l.name = in.string();
    l.action = static_cast<Side>(in.u8());
    l.content_version = in.u64();
    l.fingerprint = in.u64();
    l.updated_at = in.u64();
    l.format = in.string();
    g.lists.push_back(std::move(l));
  }
  g.plan_json = in.string();
  g.counts_json = in.string();
  g.image_bytes = in.u64();
  g.build_ms = static_cast<double>(in.u64()) / 1000;
  const std::uint64_t flows = in.rest().empty() ? 0 : in.u64();
  for (std::uint64_t i = 0; i < flows && in.ok(); ++i) {
    FlowsMeta f;
    f.rule = in.string();
    f.content_version = in.u64();
    f.fingerprint = in.u64();
    g.flows.push_back(std::move(f));
  }
  if (!in.ok()) return std::nullopt;
  return g;
}

} // namespace weir::store
