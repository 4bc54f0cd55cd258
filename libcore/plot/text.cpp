// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/plot/text.h"

#include <cairo-ft.h>
#include <fmt/format.h>
#include <fontconfig/fontconfig.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <future>
#include <system_error>
#include <thread>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/plot/cairo_handles.h"

namespace apsyn {
namespace {

namespace fs = std::filesystem;

constexpr double kEm = 0.96;  // of a style's size: from ascender to descender DejaVu Sans takes 0.996 em
constexpr double kScriptScale = 0.68, kRaise = 0.33, kLower = -0.16;  // of an em

struct GDeleter {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(PangoFontDescription* description) const { pango_font_description_free(description); }
  void operator()(PangoAttrList* list) const { pango_attr_list_unref(list); }
  void operator()(cairo_font_options_t* options) const { cairo_font_options_destroy(options); }
  void operator()(gchar* text) const { g_free(text); }
};
template <class T>
using Handle = std::unique_ptr<T, GDeleter>;

/// Where Debian and its relatives keep fonts, and what XDG_DATA_DIRS adds.
std::vector<fs::path> font_folders() {
  std::vector<fs::path> folders{"/usr/share/fonts", "/usr/local/share/fonts"};
  const char* more = std::getenv("XDG_DATA_DIRS");
  for (const std::string_view folder : split(more != nullptr ? more : "", ':'))
    if (folder.starts_with('/')) folders.push_back(fs::path(folder) / "fonts");
  return folders;
}

/// Outlines as they are: hinting would let widths and shapes depend on the size and on the machine's
/// settings.
Handle<PangoContext> make_context() {
  font_family();
  thread_local const Handle<PangoFontMap> fonts(pango_cairo_font_map_new_for_font_type(CAIRO_FONT_TYPE_FT));
  Handle<PangoContext> context(pango_font_map_create_context(fonts.get()));
  const Handle<cairo_font_options_t> options(cairo_font_options_create());
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context.get(), options.get());
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  pango_context_set_language(context.get(), pango_language_from_string("en"));
  pango_context_set_base_dir(context.get(), PANGO_DIRECTION_LTR);
  return context;
}

PangoContext* measuring_context() {
  thread_local const Handle<PangoContext> context = make_context();
  return context.get();
}

/// A part of a text: on the line (0), raised (1) or lowered (-1).
struct Run {
  std::string text;
  int script = 0;
};

std::vector<Run> runs_of(std::string_view text) {
  const std::string clean = clean_text(text);
  std::vector<Run> runs(1);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    const bool open = runs.back().script == 0 && (c == '^' || c == '_') && clean[i + 1] == '{';
    if (open)
      runs.push_back({"", c == '^' ? 1 : -1}), ++i;
    else if (runs.back().script != 0 && c == '}')
      runs.push_back({});
    else
      runs.back().text += c;
  }
  std::erase_if(runs, [](const Run& run) { return run.text.empty(); });
  return runs;
}

int pango_units(double pixels) {
  return static_cast<int>(std::lround(pixels * PANGO_SCALE));
}

Handle<PangoLayout> make_layout(PangoContext* context, std::string_view text, const TextStyle& style) {
  Handle<PangoLayout> layout(pango_layout_new(context));
  const double em = kEm * style.size;
  const Handle<PangoFontDescription> font(pango_font_description_new());
  pango_font_description_set_family(font.get(), font_family().c_str());
  pango_font_description_set_absolute_size(font.get(), em * PANGO_SCALE);
  pango_font_description_set_weight(font.get(), style.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  pango_layout_set_auto_dir(layout.get(), FALSE);
  std::string all;
  const Handle<PangoAttrList> attributes(pango_attr_list_new());
  for (const Run& run : runs_of(text)) {
    const std::size_t begin = all.size();
    all += run.text;
    if (run.script == 0) continue;
    for (PangoAttribute* attribute :
         {pango_attr_size_new_absolute(pango_units(kScriptScale * em)),
          pango_attr_rise_new(pango_units((run.script > 0 ? kRaise : kLower) * em))}) {
      attribute->start_index = static_cast<guint>(begin);
      attribute->end_index = static_cast<guint>(all.size());
      pango_attr_list_insert(attributes.get(), attribute);
    }
  }
  pango_layout_set_text(layout.get(), all.data(), static_cast<int>(all.size()));
  pango_layout_set_attributes(layout.get(), attributes.get());
  return layout;
}

double width_of(PangoLayout* layout) {
  PangoRectangle logical;
  pango_layout_line_get_extents(pango_layout_get_line_readonly(layout, 0), nullptr, &logical);
  return static_cast<double>(logical.width) / PANGO_SCALE;
}

/// Height of capitals, of a style's size.
double capital_height() {
  static const double height = [] {
    constexpr double kSize = 1000;
    const Handle<PangoLayout> layout = make_layout(measuring_context(), "H", {.size = kSize});
    PangoRectangle ink;
    pango_layout_line_get_extents(pango_layout_get_line_readonly(layout.get(), 0), &ink, nullptr);
    return -static_cast<double>(ink.y) / PANGO_SCALE / kSize;
  }();
  return height;
}

/// How much of its width a text stands left of its place.
double left_part(AlignX align) {
  return align == AlignX::left ? 0 : align == AlignX::centre ? 0.5 : 1;
}

/// How far the baseline stands below the text's place.
double baseline_drop(const TextStyle& style) {
  const double part = style.align_y == AlignY::top ? 1 : style.align_y == AlignY::middle ? 0.5 : 0;
  return part == 0 ? 0 : part * capital_height() * style.size;
}

std::string pango_markup(const std::string& text) {
  return Handle<gchar>(g_markup_escape_text(text.data(), static_cast<gssize>(text.size()))).get();
}

std::string svg_colour(Colour c) {
  const auto byte = [](float value) { return std::lround(std::clamp(value, 0.0f, 1.0f) * 255.0f); };
  return fmt::format("#{:02x}{:02x}{:02x}", byte(c.red), byte(c.green), byte(c.blue));
}

constexpr double kHaloAlpha = 0.75;

}  // namespace

FontFiles find_font(const std::vector<fs::path>& folders) {
  static const std::vector<FontFiles> families{
      {"DejaVu Sans", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"},
      {"Liberation Sans", "LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"},
      {"Noto Sans", "NotoSans-Regular.ttf", "NotoSans-Bold.ttf"}};
  std::vector<FontFiles> found(families.size());
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string(), path = entry->path().string();
      // Of copies in several folders the first by name is taken, in whatever order a folder lists them.
      const auto keep = [&](const std::string& wanted, std::string& file) {
        if (name == wanted && (file.empty() || path < file)) file = path;
      };
      for (std::size_t i = 0; i < families.size(); ++i)
        keep(families[i].regular, found[i].regular), keep(families[i].bold, found[i].bold);
    }
  }
  for (std::size_t i = 0; i < families.size(); ++i)
    if (!found[i].regular.empty() && !found[i].bold.empty())
      return {families[i].family, found[i].regular, found[i].bold};
  throw FailureError(
      "no font for the letters of figures beneath {}: install DejaVu Sans (Debian's package "
      "fonts-dejavu-core)",
      fmt::join(
          [&] {
            std::vector<std::string> names;
            for (const fs::path& folder : folders) names.push_back(folder.string());
            return names;
          }(),
          ", "));
}

void require_threads() {
  constexpr int kThreads = 4;
  std::promise<void> enough;
  const std::shared_future<void> end = enough.get_future();
  std::vector<std::jthread> threads;
  std::string error;
  try {
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([end] {
        void* volatile heap = std::malloc(1000);  // a thread's first piece of memory reserves much of it
        std::free(heap);
        end.wait();
      });
  } catch (const std::system_error& failed) {
    error = failed.code().message();
  }
  enough.set_value();
  if (!error.empty())
    throw FailureError(
        "no threads can be started to look for letters: {}: raise the limit of processes (ulimit -u) or of "
        "address space (ulimit -v)",
        error);
}

/// The family, made known to fontconfig as all that there is. Pango would otherwise read the system's and the
/// user's settings, scan folders and keep caches in the user's home.
const std::string& font_family() {
  static const std::string family = [] {
    require_threads();
    const FontFiles font = find_font(font_folders());
    FcConfig* config = FcConfigCreate();
    if (config == nullptr) throw std::bad_alloc();
    for (const std::string& file : {font.regular, font.bold})
      if (!FcConfigAppFontAddFile(config, reinterpret_cast<const FcChar8*>(file.c_str())))
        throw FailureError("{}: cannot read the font: install the package fonts-dejavu-core again", file);
    if (!FcConfigSetCurrent(config)) throw FailureError("cannot set fonts up: fontconfig fails");
    FcConfigDestroy(config);  // which fontconfig holds by now
    return font.family;
  }();
  return family;
}

std::string clean_text(std::string_view text) {
  const Handle<gchar> valid(g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())));
  std::string clean;
  for (const gchar* at = valid.get(); *at != '\0'; at = g_utf8_next_char(at)) {
    const gunichar code = g_utf8_get_char(at);
    const bool shown =
        !g_unichar_iscntrl(code) && code != 0xFFFE && code != 0xFFFF && code != 0x2028 && code != 0x2029;
    if (shown)
      clean.append(at, static_cast<std::size_t>(g_utf8_next_char(at) - at));
    else
      clean += "\ufffd";
  }
  return clean;
}

double text_width(std::string_view text, const TextStyle& style) {
  return width_of(make_layout(measuring_context(), text, style).get());
}

Rect text_box(std::string_view text, Point at, const TextStyle& style) {
  const double width = text_width(text, style), x = at.x - left_part(style.align_x) * width;
  const double baseline = at.y + baseline_drop(style);
  return {x, baseline - 0.75 * style.size, x + width, baseline + 0.25 * style.size};
}

void draw_label(cairo_t* cairo, const Label& label) {
  const TextStyle& style = label.style;
  cairo_save(cairo);
  cairo_translate(cairo, label.at.x, label.at.y);
  cairo_rotate(cairo, -style.angle_rad);
  const Handle<PangoContext> context = make_context();
  pango_cairo_update_context(cairo, context.get());
  const Handle<PangoLayout> layout = make_layout(context.get(), label.text, style);
  PangoLayoutLine* line = pango_layout_get_line_readonly(layout.get(), 0);
  const double x = -left_part(style.align_x) * width_of(layout.get()), y = baseline_drop(style);
  if (style.halo_width > 0) {
    cairo_move_to(cairo, x, y);
    pango_cairo_layout_line_path(cairo, line);
    cairo_set_source_rgba(cairo, style.halo.red, style.halo.green, style.halo.blue, kHaloAlpha);
    cairo_set_line_width(cairo, 2 * style.halo_width);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(cairo);
  }
  cairo_move_to(cairo, x, y);
  cairo_set_source_rgb(cairo, style.colour.red, style.colour.green, style.colour.blue);
  pango_cairo_show_layout_line(cairo, line);
  cairo_restore(cairo);
}

std::string svg_label(const Label& label) {
  const TextStyle& style = label.style;
  const double em = kEm * style.size;
  const char* const anchor = style.align_x == AlignX::left     ? "start"
                             : style.align_x == AlignX::centre ? "middle"
                                                               : "end";
  const double drop = baseline_drop(style);
  const std::string place =
      style.angle_rad == 0 ? fmt::format("x=\"{:.2f}\" y=\"{:.2f}\"", label.at.x, label.at.y + drop)
                           : fmt::format("transform=\"translate({:.2f} {:.2f}) rotate({:.2f})\" y=\"{:.2f}\"",
                                         label.at.x, label.at.y, -style.angle_rad / kRadPerDeg, drop);
  std::string out = fmt::format(
      "<text {} font-size=\"{:.2f}\" text-anchor=\"{}\" fill=\"{}\" textLength=\"{:.2f}\" "
      "lengthAdjust=\"spacingAndGlyphs\"",
      place, em, anchor, svg_colour(style.colour), text_width(label.text, style));
  if (style.bold) out += " font-weight=\"bold\"";
  if (style.halo_width > 0)
    out += fmt::format(
        " stroke=\"{}\" stroke-opacity=\"{}\" stroke-width=\"{:.2f}\" stroke-linejoin=\"round\" "
        "paint-order=\"stroke\"",
        svg_colour(style.halo), kHaloAlpha, 2 * style.halo_width);
  out += ">";
  double lift = 0;  // shifts of later characters start where the last one left off
  for (const Run& run : runs_of(label.text)) {
    const double wanted = run.script == 0 ? 0 : (run.script > 0 ? kRaise : kLower) * em;
    if (wanted == lift && run.script == 0)
      out += pango_markup(run.text);
    else
      out += fmt::format("<tspan dy=\"{:.2f}\" font-size=\"{:.2f}\">{}</tspan>", lift - wanted,
                         run.script == 0 ? em : kScriptScale * em, pango_markup(run.text));
    lift = wanted;
  }
  return out + "</text>\n";
}

}  // namespace apsyn
