"""Puzzles 5 to 7: attention in tiles, forward and backward."""

from checker.catalog.attention.bounds import looked_at as looked_at
from checker.catalog.attention.bounds import transposed as transposed
from checker.catalog.attention.launch import shape_of as shape_of
from checker.catalog.attention.launch import wide as wide
from checker.catalog.attention.reference import forward as forward
from checker.catalog.attention.reference import has_keys as has_keys
from checker.catalog.attention.reference import is_causal as is_causal
from checker.catalog.attention.reference import offset as offset
from checker.catalog.attention.reference import scores as scores
from checker.catalog.attention.reference import sees as sees
from checker.catalog.attention.reference import visible as visible
