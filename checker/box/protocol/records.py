"""The codes of the access log, and what masked lanes are filled with."""

LOAD, STORE, BARRIER, DOT, BLOCK, PRODUCT, LOSS = 0, 1, 2, 3, 4, 5, 6
IN_DOT, IN_SUM, IN_LOOP, IN_STORE, ON_THE_WAY = 0, 1, 2, 3, 4  # where something is added up or kept in half
MULTIPLIED, AS_FLOAT, NARROWED = 5, 6, 7  # what is done with positions and sizes
WAYS = range(8)  # to lose digits or bits
FILLS = (0.0, 6e4)  # what undefined masked lanes hold in the repetitions; the second fits into fp16
MOST_LANES = 2**31 - 1  # of one record: what an int32 can hold
RECORD_FIELDS = 7  # kind, tensor, program, line, distinct elements, lanes, stray lanes (see AccessLog)
