# Counts what a test run's log in JSON, one line a test, says: prints "PASSED FAILED SKIPPED", or with list=1
# what was skipped and why. A script counts as one test, a doctest program as its test cases. `status` is the
# exit status of the whole run.

BEGIN { summary = "\\[doctest\\] test cases: +[0-9]+ \\| +[0-9]+ passed \\| +[0-9]+ failed" }

/"result": "SKIP"/ {
  skipped += 1
  match($0, /"name": "[^"]*"/)
  name = substr($0, RSTART + 9, RLENGTH - 10)
  sub(/^shiftgrad[^\/]* \/ /, "", name)
  reason = match($0, /SKIPPED: [^"\\]*/) ? substr($0, RSTART + 9, RLENGTH - 9) : "says no reason"
  if (list) print "  " name ": " reason
  next
}

{
  fine = /"result": "OK"/
  is_doctest = /"command": \[[^]]*"--source-file=/
  ok = bad = 0
  if (match($0, summary)) {
    split(substr($0, RSTART, RLENGTH), numbers, /[^0-9]+/)
    ok = numbers[3]
    bad = numbers[4]
  } else if (!is_doctest && fine) {
    ok = 1
  }
  # A program that crashed, stopped early or ran no test case failed, whatever it printed.
  if (bad == 0 && (!fine || ok == 0)) bad = 1
  passed += ok
  failed += bad
}

END {
  if (list) exit
  if (failed == 0 && status != 0) failed = 1
  print passed + 0, failed + 0, skipped + 0
}
