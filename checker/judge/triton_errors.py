"""Misconceptions that any kernel can have, recognised by what Triton says of them."""

from __future__ import annotations

from checker.course.misconception import Ideas, Raises
from checker.course.text import Assignment, Text, calls, names_in

idea = Ideas(__file__)


def _changed_first(code: Text) -> list[Assignment]:
    """l += …, or l = l * … + …, with no line above that assigns l."""
    assigned = {one.target: one.line for one in reversed(code.assignments)}
    parameters = {a.arg for a in code.kernel.args.args}
    return [
        one
        for one in code.assignments
        if (one.adds or one.target in names_in(one.value)) and assigned[one.target] == one.line
        if one.target not in parameters
    ]


def _pair(code: Text) -> list[Assignment]:
    """values, indices = tl.max(…), as in PyTorch."""
    reductions = [one for one in code.assignments if calls(one.value, "max", "min")]
    return [one for one in reductions if sum(one.value is other.value for other in reductions) > 1]


UNDEFINED = "is not defined|is not associated with a value|referenced before assignment"

COMMON = (
    idea(
        "address-not-loaded",
        Raises(
            r"but got pointer<|invalid operands of type .*pointer<|cannot cast \[?\d{14}|unary .*\(pointer<|"
            r"cannot add pointers together|'pointer_type' object has no attribute|cannot cast .*pointer<"
        ),
    ),
    idea("address-as-number", Raises(r"^an address was converted to ")),
    idea("reduction-of-a-number", Raises(r"axis -?\d+ .*out of bounds for (shape \[\]|array of dimension 0)")),
    idea("maximum-without-its-place", Raises(r"is not iterable|iteration over a 0-d|values to unpack", _pair)),
    idea("shape-is-a-tuple", Raises(r"'(int|constexpr|tensor)' object is not iterable")),
    idea("block-as-a-number", Raises(r"only (0-dimensional|length-1|size-1) arrays can be converted")),
    idea("store-shapes-differ", Raises(r"Expected pointer argument to have shape")),
    idea("half-not-upcast", Raises(r"Expected dtype .*fp32.* but got (fp16|bf16)")),
    idea("row-offset-32-bit", Raises(r"int32 overflow detected")),
    idea("block-in-condition", Raises(r"need a scalar, but this is a block")),
    idea("number-as-condition", Raises(r"Cannot bitcast data-type of size \d+ to data-type of size 1\b")),
    idea("shapes-do-not-fit", Raises(r"incompatible dimensions|could not be broadcast|Cannot broadcast")),
    idea("dot-in-half", Raises(r"out_dtype=bfloat16 is unsupported")),
    idea("dot-types-differ", Raises(r"must have the same dtype|operands must be same dtype")),
    idea("dot-shapes-do-not-fit", Raises(r"not compatible for matmul|equal reduction dimen|in its core dimension")),
    idea("other-without-mask", Raises(r"other. cannot be provided without .mask")),
    idea("pointer-is-not-a-block", Raises(r"Mask argument cannot be block type if pointer argument is not a block")),
    idea("not-a-pointer", Raises(r"Unsupported ptr type")),
    idea("mask-is-not-true-or-false", Raises(r"[Mm]ask must have boolean scalar type")),
    idea("too-many-arguments", Raises(r"multiple values for argument 'mask'")),
    idea("axis-out-of-range", Raises(r"axis -?\d+ (is )?out of bounds|axis .* out of range")),
    idea("shared-memory", Raises(r"out of resource: shared memory")),
    idea("illegal-address", Raises(r"illegal memory access|misaligned address")),
    idea("order-matters", Raises(r"tl\.reduce combines elements in any order")),
    idea("dot-side-too-small", Raises(r"Input shapes should have M")),
    idea("loop-changes-type", Raises(r"Loop-carried variable")),
    idea("branches-differ", Raises(r"Mismatched type for .* between then block|the (then|else) block redefines it")),
    idea("no-first-value", Raises(UNDEFINED, _changed_first)),
    idea("not-always-defined", Raises(UNDEFINED)),
    idea("loop-bound-not-integer", Raises(r"loop bounds and step must all be ints|be interpreted as an integer")),
    idea("reduction-of-two", Raises(r"^axis .*(\[|\d\.\d|inf|tensor)|axis must be|only integer (scalar )?arrays")),
    idea("arange-not-power-of-two", Raises(r"power of (2|two)|arange's range")),
    idea("arange-not-constant", Raises(r"arange's arguments")),
)
