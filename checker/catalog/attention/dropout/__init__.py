"""Attention with dropout: cases and wrong ideas."""
