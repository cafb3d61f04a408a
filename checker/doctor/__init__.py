"""Readiness of this machine for the course: missing things, and how to get them."""
