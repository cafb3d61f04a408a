"""A class at a glance, from the records of what was judged: nothing is judged again, and nothing is executed."""
