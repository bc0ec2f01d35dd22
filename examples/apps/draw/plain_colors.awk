# Styles on standard input, whose colours `--ink: light-dark(#1b1d20, #e2e4e8);` of :root become plain ones. Behind them
# stand those of a dark scheme, and those with light-dark, for browsers that know it: those of before May 2024 do not.

match($0, /--[a-z0-9-]+: light-dark\([^,]+, [^)]+\);/) {
  declaration = substr($0, RSTART, RLENGTH)
  split(declaration, parts, /: light-dark\(|, |\);/)
  both = both "  " declaration "\n"
  dark = dark "    " parts[1] ": " parts[3] ";\n"
  $0 = substr($0, 1, RSTART - 1) parts[1] ": " parts[2] ";" substr($0, RSTART + RLENGTH)
}
{ print }
END {
  printf "@media (prefers-color-scheme: dark) {\n  :root {\n%s  }\n}\n", dark
  printf "@supports (color: light-dark(#000, #fff)) {\n  :root {\n%s  }\n}\n", both
}
