"""The site, for tests of what runs in it."""

from tests.site import built_site

__all__ = ["built_site"]
