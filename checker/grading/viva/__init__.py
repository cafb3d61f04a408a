"""Questions to each student on the student's own kernel: what would a changed line break?"""
