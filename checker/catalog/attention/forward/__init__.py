"""Attention forward: cases, and wrong ideas by algorithm."""
