# Counts what a test run's log in JSON, one line a test, says: prints "PASSED FAILED". A script counts
# as one test, a doctest program as its test cases, and what was skipped not at all. `status` is the
# exit status of the whole run.

BEGIN { summary = "\\[doctest\\] test cases: +[0-9]+ \\| +[0-9]+ passed \\| +[0-9]+ failed" }

/"result": "SKIP"/ { next }

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
  if (failed == 0 && status != 0) failed = 1
  print passed + 0, failed + 0
}
