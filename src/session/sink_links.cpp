// SPDX-License-Identifier: Apache-2.0
// Sink, part eleven: hard links, made when everything else is staged.
#include "session/sink.hpp"

namespace nb::session {

Status Sink::make_link(const PendingLink& link) {
  const bool is_live = !m_shared.contains(link.leader);
  const std::optional<Spot> leader = m_shared.find(link.leader);
  NB_TRY_ASSIGN(const bool is_good, is_live ? is_here_already(link) : Result<bool>(leader.has_value()));
  if (!is_good) {
    const std::string why = is_live ? ", which was not sent)" : ")";
    m_reporter.problem({Errc::partial, 0, link.path.str() + " (a hard link to " + link.leader.str() + why});
    uncount(link.replaced);
    return {};
  }
  auto made =
      is_live ? m_stager->link_live(set_path(link.leader), link.spot) : m_stager->link_staged(*leader, link.spot);
  if (!made) {
    uncount(link.replaced);
    return per_file(tl::make_unexpected(made.error()), link.path);
  }
  m_beside->copy(link.leader, link.path);
  if (!link.in_live) return {};
  return add_place(link.path, link.spot, *made, link.replaced);
}

// Whether the live file of the leader's name is what the source has. It is, unless the source has listed the name and
// could not announce it.
Result<bool> Sink::is_here_already(const PendingLink& link) {
  const auto parent = live(link.leader.parent());
  if (!parent && concerns_one_path(parent.error())) return false;
  NB_TRY(parent);
  NB_TRY_ASSIGN(const auto found, m_lister.read_one(**parent, link.leader.parent(), link.leader.name(), beside()));
  if (!found || found->entries.empty()) return false;
  const wire::Entry& entry = found->entries.front();
  const bool same_time = entry.meta.mtime == link.mtime;
  const bool same_content = entry.content && link.content ? entry.content == link.content : same_time;
  return entry.type == link.type && entry.size == link.size && same_content;
}

Status Sink::make_links() {
  return m_links.for_each([this](const PendingLink& link) { return make_link(link); });
}

}  // namespace nb::session
