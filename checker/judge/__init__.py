"""Judging of the sandbox's results, by trusted code only.

Which finding is shown is decided in this order:

1. one kind for each case: `_observe` and `_wrong_with` in `kernel`;
2. the cases that count, and which kind of finding outranks which: `_worth_a_diagnosis` and `ORDER` in `kernel`;
3. names, as few as explain what was seen: `cover` in `naming`;
4. the order of findings: `in_order_of_cases` in `judge`;
5. a proven cure drops other findings (`check.difference`), and the compiler's come before those that they explain
   (`check.steps`).

`report.words.MOST_FINDINGS` says how many are printed.
"""
