"""Where the mistakes of the backward pass still look for it."""

from checker.catalog.attention.backward import Gradients as Gradients
from checker.catalog.attention.backward import collected as collected
from checker.catalog.attention.backward import gradients as gradients
