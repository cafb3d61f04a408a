"""The course as a package."""
