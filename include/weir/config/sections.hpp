// The sections of weir.yaml, each of which takes its keys out of the tree into Reader::config.
#pragma once

#include "weir/config/reader.hpp"

#include <string>

namespace weir::config {

// read_ports.cpp
void read_eal(Reader &reader, const Node &node, const std::string &path);
void read_ports(Reader &reader, const Node &node, const std::string &path);

// read_policy.cpp
void read_policy(Reader &reader, const Node &node, const std::string &path);
void read_mode(Reader &reader, const Node &node, const std::string &path);
void read_samples(Reader &reader, const Node &node, const std::string &path);
void read_paths(Reader &reader, const Node &node, const std::string &path);
void read_metrics(Reader &reader, const Node &node, const std::string &path);
void read_health(Reader &reader, const Node &node, const std::string &path);

// read_lists.cpp
void read_lists(Reader &reader, const Node &node, const std::string &path);
void read_allow(Reader &reader, const Node &node, const std::string &path);
void read_guard(Reader &reader, const Node &node, const std::string &path);

// read_rules.cpp
void read_rules(Reader &reader, const Node &node, const std::string &path);

// read_offenders.cpp
void read_offenders(Reader &reader, const Node &node, const std::string &path);

} // namespace weir::config
