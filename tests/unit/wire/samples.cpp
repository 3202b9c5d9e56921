// SPDX-License-Identifier: Apache-2.0
#include "unit/wire/samples.hpp"

#include <catch2/catch.hpp>

namespace nb::wire {
namespace {

Id sample_id(unsigned first) {
  Id id;
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::byte>(first + i);
  return id;
}

std::vector<std::byte> sample_secret() { return std::vector<std::byte>(32, std::byte{0x5A}); }
RelPath path(std::string_view text) { return RelPath::parse(text).value(); }
ByteView content() { return as_bytes("content\n"); }

Entry plain(std::string name, fs::FileType type) {
  Entry entry;
  entry.name = std::move(name);
  entry.type = type;
  if (type != fs::FileType::directory) entry.meta = sample_metadata();
  return entry;
}

Entry linked() {
  Entry entry = plain("hard", fs::FileType::regular);
  entry.size = 70'000;
  entry.link_to = path("a/first");
  entry.content = sample_digest();
  return entry;
}

Entry device(std::string name, fs::FileType type) {
  Entry entry = plain(std::move(name), type);
  entry.node = {8, 1'048'575};
  return entry;
}

Entry symlink() {
  Entry entry = plain("link", fs::FileType::symlink);
  entry.target = "../else\xFF";
  return entry;
}

template <class Message>
NamedSample named(std::string name, const Message& message) {
  NamedSample sample;
  sample.name = std::move(name);
  sample.type = Message::k_type;
  sample.body = encode(message);
  sample.recode = [](ByteView body) -> Result<Bytes> {
    NB_TRY_ASSIGN(const Message decoded, decode_message<Message>(body));
    return encode(decoded);
  };
  sample.add = [message](FrameBuilder& frame) { frame.add(message); };
  return sample;
}

void add_session_samples(std::vector<NamedSample>& all) {
  all.push_back(named("hello", sample_hello()));
  all.push_back(named("open", sample_open()));
  all.push_back(named("open_at", sample_open_at()));
  all.push_back(named("opened", sample_opened()));
  all.push_back(named("error", ErrorMessage{Errc::no_space, 28, "write: data/x"}));
  all.push_back(named("problem", Problem{Errc::unreadable, 13, "open: data/\n"}));
  all.push_back(named("item", Item{">f.st......", path("data/x"), " -> y"}));
  all.push_back(named("notice", Notice{"data/x: stays"}));
  all.push_back(named("phase", Phase{PhaseKind::commit}));
  all.push_back(named("result", sample_result()));
  all.push_back(named("keep_alive", KeepAlive{}));
  all.push_back(named("query", Query{sample_id(16), "/pool"}));
  all.push_back(named("query_reply", QueryReply{true, 300}));
  all.push_back(named("goodbye", Goodbye{}));
  all.push_back(named("command", sample_command()));
  all.push_back(named("text", Text{content()}));
  all.push_back(named("command_end", CommandEnd{23}));
}

void add_listing_samples(std::vector<NamedSample>& all) {
  all.push_back(named("directory", DirectoryMessage{7, path("a/b"), k_directory_partial, 200, sample_digest()}));
  all.push_back(named("directory_reply", DirectoryReply{7, ReplyKind::all}));
  all.push_back(named("listing", sample_listing()));
  all.push_back(named("directory_done", DirectoryDone{7}));
  all.push_back(named("scan_end", ScanEnd{8, 1000, 1 << 20, sample_digest()}));
}

void add_content_samples(std::vector<NamedSample>& all) {
  const FileKey key{7, 300};
  all.push_back(named("want", Want{key, 65'536, Basis{80'000, sample_digest()}}));
  all.push_back(named("want_whole", Want{key, 0, {}}));
  all.push_back(named("want_digest", Want{key, 0, {}, true}));
  all.push_back(named("file_digest", FileDigest{key, sample_digest()}));
  all.push_back(named("file_digest_none", FileDigest{key, {}}));
  all.push_back(named("file_begin", FileBegin{key, 70'000, sample_metadata(), ContentKind::delta}));
  all.push_back(named("data", Data{65'536, content()}));
  all.push_back(named("hole", Hole{65'536, 4096}));
  all.push_back(named("copy", Copy{65'536, 131'072, 4096}));
  all.push_back(named("signature_request", SignatureRequest{key, 300}));
  all.push_back(named("signature", Signature{key, 300, content()}));
  all.push_back(named("basis_done", BasisDone{key}));
  all.push_back(named("file_end", FileEnd{key, FileOutcome::complete, 0, sample_digest()}));
  all.push_back(named("file_end_unreadable", FileEnd{key, FileOutcome::unreadable, 5, {}}));
  all.push_back(named("small_file", SmallFile{key, sample_metadata(), sample_digest(), content()}));
}

}  // namespace

hash::Digest sample_digest() {
  hash::Digest digest;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) digest.bytes[i] = static_cast<std::byte>(0xF0 + i);
  return digest;
}

fs::Metadata sample_metadata() {
  fs::Metadata meta;
  meta.mode = 04755;
  meta.owner = {1000, 4'294'967'294};
  meta.mtime = {-1, 999'999'999};
  meta.xattrs = {{"security.capability", std::string("\x01\0\0\x02", 4)}, {"user.x", ""}};
  return meta;
}

Hello sample_hello() {
  Hello hello;
  hello.features = 6;
  hello.software = "nbackup 0.1.0";
  hello.cpu_flags = 1;
  hello.listing_credit_bytes = 8 << 20;
  hello.want_credit = 1024;
  hello.inline_limit_bytes = 65'536;
  hello.inactivity_ms = 600'000;
  return hello;
}

Open sample_open() {
  Open open;
  open.transaction = sample_id(0);
  open.client = "root@nas";
  open.flags = k_flag_delete | k_flag_implied_root;
  open.destination = "/pool";
  open.sources = {"/data", "~/x y"};
  open.filter_rules = {"- *.o", "+ /keep"};
  open.max_delete = -1;
  open.wait_seconds = 30;
  open.wait_readers_seconds = 200;
  open.expected_set = sample_id(32);
  open.compression = 25;
  open.secret = sample_secret();
  return open;
}

Command sample_command() {
  Command command;
  command.words = {"ls", "--at=300", "--long", "--", "/pool", "home\xFF"};
  command.client = "root@nas";
  command.columns = 120;
  command.zone = "CET-1CEST,M3.5.0,M10.5.0/3";
  command.compression = 1;
  return command;
}

Open sample_open_at() {
  Open open;
  open.operation = Operation::pull;
  open.transaction = sample_id(0);
  open.sources = {"/pool:docs/*.txt"};
  open.secret = sample_secret();
  open.at = Moment{MomentKind::time, 1'796'000'000'000'000'000};
  return open;
}

Opened sample_opened() {
  Opened opened;
  opened.set = sample_id(32);
  opened.generation = 41;
  opened.secret = sample_secret();
  opened.flags = k_flag_single_file;
  opened.resumes = true;
  return opened;
}

RunResult sample_result() {
  RunResult result;
  result.committed = true;
  result.generation = 42;
  result.files_new = 1;
  result.files_changed = 2;
  result.metadata_changed = 3;
  result.deleted = 4;
  result.differences = 5;
  result.content_bytes = std::uint64_t{1} << 40;
  result.resumed_bytes = 7;
  result.kept_aside = 8;
  result.problems = 9;
  result.durability_unsure = true;
  result.moved_bytes = 10;
  result.files_moved = 11;
  result.history_bytes = 12;
  result.history_generations = 13;
  result.last_scrub_ns = 1'700'000'000'000'000'001;
  result.damaged_files = 14;
  return result;
}

Listing sample_listing() {
  Listing listing;
  listing.id = 7;
  listing.last = false;
  listing.own = sample_metadata();
  Entry file = plain("A file", fs::FileType::regular);
  file.size = std::uint64_t{1} << 33;
  listing.entries.push_back(file);
  listing.entries.push_back(device("block", fs::FileType::block_device));
  listing.entries.push_back(device("char", fs::FileType::char_device));
  listing.entries.push_back(plain("directory", fs::FileType::directory));
  listing.entries.push_back(plain("fifo", fs::FileType::fifo));
  listing.entries.push_back(linked());
  listing.entries.push_back(symlink());
  listing.entries.push_back(plain("socket", fs::FileType::socket));
  listing.entries.push_back(plain("\xFF\n", fs::FileType::directory));
  listing.shared = {0, 4};
  return listing;
}

std::vector<NamedSample> all_samples() {
  std::vector<NamedSample> all;
  add_session_samples(all);
  add_listing_samples(all);
  add_content_samples(all);
  return all;
}

Bytes made(const std::function<void(ByteWriter&)>& write) {
  Bytes body;
  ByteWriter out(body);
  write(out);
  return body;
}

template <class Message>
std::string refusal(ByteView body) {
  const Result<Message> result = decode_message<Message>(body);
  if (result) return "accepted";
  CHECK(result.error().code == Errc::protocol);
  return result.error().context;
}

template std::string refusal<Hello>(ByteView);
template std::string refusal<Open>(ByteView);
template std::string refusal<Opened>(ByteView);
template std::string refusal<Command>(ByteView);
template std::string refusal<Text>(ByteView);
template std::string refusal<CommandEnd>(ByteView);
template std::string refusal<RunResult>(ByteView);
template std::string refusal<ErrorMessage>(ByteView);
template std::string refusal<Problem>(ByteView);
template std::string refusal<Item>(ByteView);
template std::string refusal<Notice>(ByteView);
template std::string refusal<Phase>(ByteView);
template std::string refusal<KeepAlive>(ByteView);
template std::string refusal<Query>(ByteView);
template std::string refusal<QueryReply>(ByteView);
template std::string refusal<Goodbye>(ByteView);
template std::string refusal<DirectoryMessage>(ByteView);
template std::string refusal<DirectoryReply>(ByteView);
template std::string refusal<Listing>(ByteView);
template std::string refusal<DirectoryDone>(ByteView);
template std::string refusal<ScanEnd>(ByteView);
template std::string refusal<Want>(ByteView);
template std::string refusal<FileBegin>(ByteView);
template std::string refusal<Data>(ByteView);
template std::string refusal<Hole>(ByteView);
template std::string refusal<Copy>(ByteView);
template std::string refusal<SignatureRequest>(ByteView);
template std::string refusal<Signature>(ByteView);
template std::string refusal<BasisDone>(ByteView);
template std::string refusal<FileDigest>(ByteView);
template std::string refusal<FileEnd>(ByteView);
template std::string refusal<SmallFile>(ByteView);

}  // namespace nb::wire
