"""A kernel as compiled: instructions, memory and registers by the student's lines, and causes of slowness.

Triton says it in texts: its own language for GPUs (TTGIR) and assembler text. Only `assembler` and `ttgir` know what
these look like, in every version of Triton that is supported; what they do not know is told as unknown.
"""
