"""A course on Gradescope: the archive that an instructor uploads, and what it does there with a submission."""
