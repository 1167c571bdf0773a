// What weirctl asks weir-control: one JSON object a line over a SOCK_STREAM unix socket
// (<paths.run>/control.sock), one JSON line back for each.
//
//   -> {"verb": "list_add", "list": "bans", "entries": [{"prefix": "203.0.113.9", "ttl": 600, "comment":
//   "ssh"}]}
//   <- {"ok": true, ...}   or   {"ok": false, "code": "refused", "message": "..."}      (code: name_of(Errc))
//
// verb          request fields                      answer fields besides ok
// status        -                                   generation, previous, applied_at, digest, policy{}, mode,
// counts{ipv4_hosts,
//                                                   ipv4_prefixes, ipv6, allow}, memory{image_bytes, kind,
//                                                   resident_bytes}, plan{}, last_swap{ns, lost},
//                                                   dataplane{connected, pid, sequence, generation},
//                                                   store{bytes, sequence, id}, uptime_s, pending_confirm_s
// list_show     list?                               lists[{name, action, format, v4_hosts, v4_prefixes, v6,
// hits, updated_at, ttl}]
//                                                   with `list`: entries[{prefix, comment, added_at,
//                                                   expires_at}] (first 1000)
// list_add      list, entries[{prefix,ttl?,comment?}]   added, refreshed, sequence, in_force_ms, expires_at?
// list_del      list, entries[prefix]               deleted, sequence, in_force_ms      (an absent one:
// not_found, nothing deleted) list_replace  list, file, force?                  added, removed, generation,
// live_ms, swap_ns, lost list_export   list, file                          entries          (control writes
// the file: millions of lines) check         config?                             ok or every fault;
// warnings[], conflicts[], lists[] plan          config?                             candidates[], chosen{},
// why, memory{before_bytes, after_bytes, needed_bytes} diff          config? lists[{name, added, removed,
// examples[]}] apply         config?, confirm_s?, force?         generation, live_ms, swap_ns, lost,
// lists[{name, added, removed}], reverts_at? confirm       -                                   generation
// rollback      generation?                         generation, from, live_ms, swap_ns
// generations   -                                   generations[{generation, applied_at, digest, live,
// counts{}, plan{}, image_bytes, build_ms}] explain       address                             verdict,
// reason, list?, entry?, comment?, added_at?, path[{step, text}] stats         - ports[], verdicts[{verdict,
// reason, family, packets}], lists[{name, hits}],
//                                                   workers[], generations[{generation, packets}],
//                                                   samples_dropped, lost
// drops         -                                   reasons[{reason, packets}], lists[{name, hits}],
// recent[{address, list, count}] top           n?                                  addresses[{address,
// packets, verdict, list?}] ping          -                                   pid, generation
//
// Times are seconds since the epoch. `lost` is rx - tx - counted drops, and is 0 or a bug.
#pragma once

namespace weir::control {

inline constexpr const char *control_socket_name = "control.sock";
inline constexpr const char *dataplane_socket_name = "dataplane.sock";

} // namespace weir::control
