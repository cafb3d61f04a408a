"""Tests of `checker/compiled`."""
