// SPDX-License-Identifier: Apache-2.0
#include "cli/look_places.hpp"

#include "cli/option_table.hpp"
#include "cli/when.hpp"

namespace nb::cli {

Result<session::SetView> open_view(session::SetReader& reader, const std::optional<std::string>& when,
                                   const Clock& clock) {
  NB_TRY_ASSIGN(const wire::Moment moment, parse_when(when.value_or("latest"), clock.wall()));
  NB_TRY_ASSIGN(const std::uint64_t generation, reader.generation(moment));
  return session::SetView::open(reader, generation);
}

Status check_whole(const HostJob& job, const std::string& root_path, const RelPath& below) {
  if (below.is_root() && job.path.is_root()) return {};
  const std::string name(command_row(job.settings.command).name);
  const std::string hint = job.settings.command == CommandId::rollback ? "; for a part of it use restore" : "";
  return fail(Errc::usage, name + " takes a whole set: name " + root_path + hint);
}

Result<session::SetWriter> open_to_write(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  const auto waits = [&output](const std::string& text) { static_cast<void>(output.notice(text)); };
  NB_TRY_ASSIGN(session::SetWriter writer,
                session::open_set_to_write(job.place, job.stay_within, job.client, job.settings.wait, clock, waits));
  NB_TRY(check_whole(job, writer.root_path, writer.below));
  return writer;
}

Status Problems::tell(const Error& error) {
  ++m_count;
  return m_output.problem(error);
}

Status Problems::tell(const scan::Listed& listed) {
  for (const Error& error : listed.problems) NB_TRY(tell(error));
  return {};
}

int Problems::exit_code() const { return m_count == 0 ? 0 : info(Errc::unreadable).exit_code; }

}  // namespace nb::cli
