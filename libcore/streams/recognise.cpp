// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/recognise.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "libcore/formats/capture/vlbi/vdif_frame.h"

namespace apsyn {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::size_t at;
  std::string_view bytes;
  Recognised what;
};

constexpr Magic kMagic[] = {
    {0, "\x28\xb5\x2f\xfd"sv, {"zstd", "this is compressed: pipe it through zstd -dc", true}},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     {"xz", "this is compressed: pipe it through xz -dc", true}},
    {257, "ustar"sv, {"tar", "this is a tar archive: unpack it with tar -xf", true}},
    {0,
     "\x89HDF\r\n\x1a\n"sv,
     {"hdf5", "this is HDF5: as solutions of a calibration give it to quicklook or to A-terms", true}},
    {0,
     "\x0c\0\0\0HEADER_START"sv,
     {"filterbank", "this is a SIGPROC filterbank: give it to search-transients, fold-pulsar or quicklook",
      true}},
    {0, "\xed\xde\xad\xab"sv, {"mark5b", "this is Mark 5B: pipe it through ingest --from mark5b", true}},
};

constexpr Recognised kTbf{"tbf", "these are TBF or TBX frames: pipe them through ingest --from tbf", true};
constexpr Recognised kTbn{"tbn", "these are TBN frames: pipe them through ingest --from tbn", true};
constexpr Recognised kDrx{"drx", "these are DRX frames: pipe them through ingest --from drx", true};
constexpr Recognised kLwa{
    "lwa", "these are frames of an LWA station: pipe them through ingest --from tbf, tbn or drx", true};

/// Compressed files, whose magic is so short that it could be an accident. More is asked of them: the upper
/// flags of gzip are clear (RFC 1952, section 2.3.1), and behind the level of bzip2 the first block begins,
/// or the end of an empty stream.
Recognised compressed_kind(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b\x08"sv) && bytes.size() > 3 && static_cast<unsigned char>(bytes[3]) < 0x20)
    return {"gzip", "this is compressed: pipe it through gzip -dc", true};
  if (bytes.starts_with("BZh") && bytes.size() >= 10 &&
      (bytes.substr(4, 6) == "1AY&SY" || bytes.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv))
    return {"bzip2", "this is compressed: pipe it through bzip2 -dc", true};
  return {};
}

/// Frames of a length that the next sync word tells.
Recognised lwa_kind(std::string_view bytes) {
  constexpr std::string_view kSync = "\xde\xc0\xde\x5c"sv;
  if (!bytes.starts_with(kSync)) return {};
  const auto follows = [&](std::size_t at) {
    return at + kSync.size() <= bytes.size() && bytes.substr(at, kSync.size()) == kSync;
  };
  if (follows(1048)) return kTbn;
  if (follows(4128)) return kDrx;
  if (bytes.size() > 4 && (bytes[4] == 1 || bytes[4] == 8)) return kTbf;
  return kLwa;
}

/// The first word after the key in a line "KEY value" of a PSRDADA header.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  for (std::size_t at = header.find(key); at != header.npos; at = header.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if ((at > 0 && header[at - 1] != '\n') || end >= header.size() ||
        (header[end] != ' ' && header[end] != '\t'))
      continue;
    const std::size_t begin = std::min(header.find_first_not_of(" \t", end), header.size());
    return header.substr(begin, std::min(header.find_first_of(" \t\r\n", begin), header.size()) - begin);
  }
  return std::nullopt;
}

bool has_key(std::string_view header, std::string_view key) {
  return value_of(header, key).has_value();
}

Recognised dada_kind(std::string_view bytes) {
  const std::string_view header = bytes.substr(0, std::min<std::size_t>(bytes.find('\0'), 4096));
  if (!has_key(header, "HDR_SIZE")) return {};
  if (has_key(header, "SUBOBS_ID") && has_key(header, "NTIMESAMPLES"))
    return {"mwax", "this is an MWAX sub-file: pipe it through ingest --from mwax", true};
  if (value_of(header, "INSTRUMENT") == "apsyn-vis")
    return {"visibility", "this is a visibility stream: give it to idg-grid, clean or quicklook", true};
  return {"dada", "this is a PSRDADA voltage stream, which the tools read as it is, without ingest", true};
}

/// Cards of 80 characters: FITS, or GUPPI RAW, which has no SIMPLE.
Recognised card_kind(std::string_view bytes) {
  if (is_psrfits(bytes))
    return {"psrfits",
            "this is PSRFITS: give it as a file, not through a pipe, to search-transients, fold-pulsar or "
            "quicklook",
            true};
  if (bytes.starts_with(kFitsMagic)) {
    bool groups = false;
    // An empty first axis says as much as GROUPS, which may stand behind what is known of the file.
    for (std::size_t at = 0; at + 80 <= bytes.size() && bytes.substr(at, 8) != "END     "; at += 80) {
      const std::string_view key = bytes.substr(at, 9), value = bytes.substr(at + 10, 20);
      groups |= key == "GROUPS  =" && value.find('T') != value.npos;
      groups |= key == "NAXIS1  =" && value.find_first_not_of(" 0") == value.npos;
    }
    if (groups)
      return {"uvfits", "this is UVFITS: make a Measurement Set of it with ingest --from uvfits", true};
    return {"fits", "this is a FITS file: give it to quicklook, clean or idg-degrid", true};
  }
  for (std::size_t at = 0; at + 80 <= bytes.size(); at += 80) {
    const std::string_view card = bytes.substr(at, 80);
    if (std::any_of(card.begin(), card.end(), [](char c) { return c < ' ' || c > '~'; })) break;
    if (card.substr(8, 1) != "=") break;
    if (card.starts_with("BLOCSIZE") || card.starts_with("OBSNCHAN") || card.starts_with("PKTIDX  "))
      return {"guppi", "this is GUPPI RAW: pipe it through ingest --from guppi", true};
  }
  return {};
}

/// VDIF has no magic: two headers of the same kind, a frame apart and close in time, are no accident.
Recognised vdif_kind(std::string_view bytes) {
  constexpr std::size_t kHeader = 32;
  if (bytes.size() < kHeader) return {};
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const VdifHeader first = parse_vdif_header(data);
  if (first.frame_bytes <= first.header_bytes() || first.frame_bytes + kHeader > bytes.size()) return {};
  const VdifHeader next = parse_vdif_header(data + first.frame_bytes);
  const std::uint32_t apart = std::max(first.seconds, next.seconds) - std::min(first.seconds, next.seconds);
  if (!next.same_kind(first) || apart > 1 || first.seconds == 0) return {};
  return {"vdif", "this is VDIF: pipe it through ingest --from vdif", false};
}

}  // namespace

bool is_psrfits(std::string_view bytes) {
  if (!bytes.starts_with(kFitsMagic)) return false;
  for (std::size_t at = 0; at + 80 <= bytes.size() && bytes.substr(at, 8) != "END     "; at += 80)
    if (bytes.substr(at, 10) == "FITSTYPE= ")
      return bytes.substr(at + 10, 70).find("'PSRFITS") != std::string_view::npos;
  return false;
}

Recognised recognise(std::string_view bytes) {
  for (const Magic& magic : kMagic)
    if (bytes.size() >= magic.at + magic.bytes.size() &&
        bytes.substr(magic.at, magic.bytes.size()) == magic.bytes)
      return magic.what;
  for (const auto kind : {compressed_kind, lwa_kind, card_kind, dada_kind, vdif_kind})
    if (const Recognised what = kind(bytes); !what.format.empty()) return what;
  return {};
}

std::string foreign_hint(std::string_view bytes, std::string_view own) {
  const Recognised what = recognise(bytes);
  if (what.format.empty() || what.format == own) return "";
  return ": " + std::string(what.hint);
}

}  // namespace apsyn
