"""Choice of cases in any family: sizes by construction, and sizes around the numbers of a submission."""
