// SPDX-License-Identifier: Apache-2.0
#include "txn/past_overlay.hpp"

#include "base/assert.hpp"

namespace nb::txn {
namespace {

using Node = PastOverlay::Node;
using State = PastOverlay::State;

// The first component of `rest`, which is not empty, and takes it off.
std::string_view take_component(std::string_view& rest) {
  const std::size_t slash = rest.find('/');
  const std::string_view name = rest.substr(0, slash);
  rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
  return name;
}

std::uint64_t order_of(const Node* node) { return node != nullptr && node->old ? node->old->order : 0; }

bool same_children(const Node* a, const Node* b);

bool same_name(const Node* a, const Node* b) {
  const State state = a != nullptr ? a->state : State::inherited;
  if (state != (b != nullptr ? b->state : State::inherited)) return false;
  if (state == State::kept && a->generation != b->generation) return false;
  return PastOverlay::say_the_same(a, b);
}

bool none_says_anything(const Node& node) {
  for (const auto& [name, child] : node.children) {
    if (!same_name(child.get(), nullptr)) return false;
  }
  return true;
}

bool same_children(const Node* a, const Node* b) {
  if (a == b) return true;
  if (a == nullptr) return none_says_anything(*b);
  if (b == nullptr) return none_says_anything(*a);
  auto left = a->children.begin();
  auto right = b->children.begin();
  while (left != a->children.end() || right != b->children.end()) {
    const bool take_left = right == b->children.end() || (left != a->children.end() && left->first <= right->first);
    const bool take_right = left == a->children.end() || (right != b->children.end() && right->first <= left->first);
    if (!same_name(take_left ? left->second.get() : nullptr, take_right ? right->second.get() : nullptr)) return false;
    if (take_left) ++left;
    if (take_right) ++right;
  }
  return true;
}

}  // namespace

Node& PastOverlay::at(const RelPath& path) {
  Node* node = &m_root;
  for (std::string_view rest = path.str(); !rest.empty();) {
    const std::string_view name = take_component(rest);
    auto it = node->children.lower_bound(name);
    if (it == node->children.end() || it->first != name) {
      it = node->children.emplace_hint(it, std::string(name), std::make_unique<Node>());
    }
    node = it->second.get();
  }
  return *node;
}

Node& PastOverlay::replace(const RelPath& path) {
  NB_ASSERT(!path.is_root());
  ++m_order;
  Node& node = at(path);
  node.children.clear();
  node.old.reset();
  return node;
}

void PastOverlay::set_absent(const Absent& change) {
  replace(change.path).state = change.lost ? State::lost : State::absent;
}

void PastOverlay::set_kept(const KeptEntry& change, std::uint64_t generation) {
  Node& node = replace(change.path);
  node.state = State::kept;
  node.type = change.type;
  node.generation = generation;
}

void PastOverlay::set_metadata(const RelPath& path, const fs::Metadata& metadata) {
  at(path).old = std::make_unique<OldState>(OldState{metadata, ++m_order});
}

void PastOverlay::set_metadata(const InodeId& inode, const fs::Metadata& metadata) {
  m_last_inode_order = ++m_order;
  m_inodes.insert_or_assign(inode, OldState{metadata, m_order});
}

const Node* PastOverlay::child(const Node* from, std::string_view name) {
  if (from == nullptr) return nullptr;
  const auto it = from->children.find(name);
  return it == from->children.end() ? nullptr : it->second.get();
}

PastOverlay::Found PastOverlay::find(const Node* from, const RelPath& path) {
  Found found{from, {}, false};
  for (std::string_view rest = path.str(); !rest.empty() && found.node != nullptr;) {
    found.node = child(found.node, take_component(rest));
    if (found.node == nullptr) break;
    if (found.node->state == State::kept) found.kept = found.node->generation;
    if (found.node->state == State::absent || found.node->state == State::lost) found.is_absent = true;
  }
  return found;
}

const fs::Metadata* PastOverlay::old_metadata(const Node* node, const InodeId& inode) const {
  const OldState* of_path = node != nullptr ? node->old.get() : nullptr;
  if (m_inodes.empty()) return of_path != nullptr ? &of_path->metadata : nullptr;
  const auto it = m_inodes.find(inode);
  if (it == m_inodes.end()) return of_path != nullptr ? &of_path->metadata : nullptr;
  return of_path != nullptr && of_path->order > it->second.order ? &of_path->metadata : &it->second.metadata;
}

bool PastOverlay::say_the_same(const Node* a, const Node* b) {
  return order_of(a) == order_of(b) && same_children(a, b);
}

}  // namespace nb::txn
