# Prints each measured figure of some pages of Markdown with the command that makes it:
#
#     awk -f tests/shell/figures.awk PAGE...
#
# A figure is a paragraph with a number and a unit of measurement, a table with numbers after a point, or a picture
# of measurements. Its command stands in backquotes in the paragraph, else in backquotes or as a line of code before
# it in its section, else behind it. A link to a section that has commands counts too, as does a quote of such a
# page, or a line of the book that takes a claim from there. A dash stands where there is none. Numbers that are not measured, such as a paper's or a size that was worked
# out, have the comment <!-- not measured --> behind them.

BEGIN {
  unit = "(ms|µs|nats?|bits?|MB|GB|GF/s|tokens/s|minutes?|seconds?|Mbit/s|%)"
  measured = "[0-9] ?" unit "([^A-Za-z0-9/]|$)|[0-9]\\.[0-9][0-9][0-9]|[0-9] times|!\\[.*pictures/"
  program = "(char_lm|seq2seq|claims\\.sh|wrong_on_purpose|compare\\.py|speed\\.py|table\\.py|score\\.py|run\\.py|sets\\.py|cost_model\\.py|tasks/[a-z_]+(\\.py)?)"
  command = "[A-Za-z0-9_/. ]*" program "( [^`\n]*)?|(bench|convolution|restarted_positions) --[^`\n]*" \
    "|(python3?|pip|perf record) [^`\n]*|(first_model|micro) [^`\n]*|[a-z_/]*(quickstart|two_hosts|book|tests/run)\\.sh[^`\n]*|bench/plots\\.py"
  link = "\\(([a-z_/.]*README\\.md(#[a-z-]+)?|#[a-z-]+)\\)"
}

# command_in(TEXT): the first command in backquotes, or the first link to where one stands.
function command_in(text,    rest, span) {
  rest = text
  while (match(rest, /`[^`]+`/)) {
    span = substr(rest, RSTART + 1, RLENGTH - 2)
    rest = substr(rest, RSTART + RLENGTH)
    if (match(span, "^(" command ")$")) return span
  }
  return match(text, link) ? "see " substr(text, RSTART + 1, RLENGTH - 2) : ""
}

# is_figure(TEXT): whether numbers of this paragraph or table were measured.
function is_figure(text,    words, cells, n) {
  if (text ~ /<!-- not measured -->/) return 0
  if (text ~ /^\|/) {
    words = text
    sub(/\n.*/, "", words)
    if (words ~ "(^|[ ,])" unit "([ ,]|$)") return 1
    for (n = split(text, cells, "|"); n > 0; n--)
      if (cells[n] ~ /^ *[+-]?[0-9]+(\.[0-9]+( ±.*| \(.*)?| %[^|]*) *$/) return 1
    return 0
  }
  words = text
  gsub(/`[^`]*`|\$[^$]*\$|\]\(https?:[^)]*\)/, "", words)
  return words ~ measured
}

# makes(COMMAND): the command is the last one of the section so far.
function makes(command) {
  if (command == "") return
  if (first == "") first = command
  last = command
}

function end_block(    words) {
  if (block == "") return
  if (is_figure(block)) {
    words = block
    gsub(/\n/, " ", words)
    figures++
    place[figures] = page ":" at
    figure[figures] = substr(words, 1, 60)
    made_by[figures] = command_in(block)
    if (made_by[figures] == "") made_by[figures] = last
  }
  makes(command_in(block))
  block = ""
}

function end_section(    n) {
  end_block()
  for (n = 1; n <= figures; n++)
    print place[n] ": " figure[n] " | " (made_by[n] != "" ? made_by[n] : first != "" ? first : quoted != "" ? quoted : "-")
  figures = 0
  first = last = quoted = ""
}

FNR == 1 { end_section(); page = FILENAME; fenced = 0 }
/^#+ / { end_section(); next }
/^```/ {
  end_block()
  fenced = !fenced
  if (/^```quote-text/) quoted = "quoted from " $2
  next
}
/^::/ { end_block(); quoted = "quoted from the studies"; next }
fenced || /^    / {
  end_block()
  line = $0
  sub(/^ */, "", line)
  if (match(line, "^(" command ")")) makes(line)
  next
}
/<exercise-check/ { makes("examples/book/chapters/answers.json") }
/^ *$/ { end_block(); next }
{ if (block == "") at = FNR; block = block $0 "\n" }
END { end_section() }
