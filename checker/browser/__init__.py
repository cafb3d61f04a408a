"""The course in a browser tab: what a page's worker asks, answered in Python and without a process of its own."""
