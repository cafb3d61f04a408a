"""Misconceptions that any kernel can have, recognised by what Triton says of them."""

from __future__ import annotations

import re

from checker.course.misconception import Misconception, Part, Raises

UNDEFINED = re.compile(r"is not defined|is not associated with a value|referenced before assignment")

COMMON = (
    Misconception(
        "address-not-loaded",
        "These are addresses, not values",
        "A pointer plus offsets says where something lies in memory. To compute with it, load it first.",
        "Put tl.load around the addresses: tl.load(pointer + offsets, mask=..., other=...).",
        signs=(
            Raises(
                re.compile(
                    r"but got pointer<|invalid operands of type .*pointer<|cannot cast \[?\d{14}|unary .*\(pointer<|"
                    r"cannot add pointers together|'pointer_type' object has no attribute|cannot cast .*pointer<"
                )
            ),
        ),
    ),
    Misconception(
        "reduction-of-a-number",
        "There is nothing to reduce: this is a single number",
        "tl.sum and tl.max reduce a block. This value is a number: it was reduced before, or it was loaded from a "
        "single address.",
        "Look at where it comes from. A load gives a block if its offsets are a block: those come from tl.arange.",
        signs=(Raises(re.compile(r"axis -?\d+ .*out of bounds for (shape \[\]|array of dimension 0)")),),
    ),
    Misconception(
        "maximum-without-its-place",
        "tl.max gives the maximum alone",
        "torch.max gives a pair along an axis: the maximum, and where it stands. tl.max and tl.min give one value, "
        "which cannot be spread over two names.",
        "Give it one name: m_block = tl.max(x, axis=0).",
        signs=(Raises(re.compile(r"is not iterable|iteration over a 0-d|values to unpack"), Part.PAIR),),
    ),
    Misconception(
        "shape-is-a-tuple",
        "A shape is a tuple",
        "A block's shape is a tuple of its sides, also if there is only one: (BLOCK_SIZE,), with a comma.",
        "Write tl.zeros((BLOCK_SIZE,), tl.float32), or tl.full((BLOCK_SIZE,), 0.0, tl.float32).",
        signs=(Raises(re.compile(r"'(int|constexpr|tensor)' object is not iterable")),),
    ),
    Misconception(
        "block-as-a-number",
        "A block was taken for a single number",
        "float(x) and int(x) make a Python number of a value, but a block holds many values.",
        "To convert a block, use x.to(tl.float32).",
        signs=(Raises(re.compile(r"only (0-dimensional|length-1|size-1) arrays can be converted")),),
    ),
    Misconception(
        "store-shapes-differ",
        "What is stored has another shape than the addresses",
        "A store puts one value at each address. Here the block of values and the block of addresses have different "
        "shapes.",
        "Write down both shapes. A sum along axis=1 leaves one entry per row, and tl.dot always makes a tile of rows "
        "and columns.",
        signs=(Raises(re.compile(r"Expected pointer argument to have shape")),),
    ),
    Misconception(
        "half-not-upcast",
        "fp16 values were not converted to fp32",
        "An fp16 value went into an exponential, which Triton computes in fp32 only. fp16 would also overflow: it "
        "ends at 65504, which exp passes at x = 11.1.",
        "Convert right after the load, x.to(tl.float32). tl.store converts back to the output's type.",
        question="Which type do the inputs have in this case, and which type has what goes into the exponential?",
        signs=(Raises(re.compile(r"Expected dtype .*fp32.* but got fp16")),),
    ),
    Misconception(
        "row-offset-32-bit",
        "A 32-bit row offset overflows",
        "A product or sum of 32-bit integers passes 2**31, as row * stride does in a large tensor: the address is "
        "then far away from the row.",
        "Keep the stub's .to(tl.int64), and multiply what comes of it, not the program id itself.",
        question="Which of the numbers in the marked line are 64 bits wide? Which line of the stub makes one so?",
        signs=(Raises(re.compile(r"int32 overflow detected")),),
    ),
    Misconception(
        "block-in-condition",
        "A block was used as a condition",
        "A block holds many values, so it is neither true nor false.",
        "What keeps lanes from a load or a store is its mask. To choose between values lane by lane, use "
        "tl.where(condition, a, b).",
        signs=(Raises(re.compile(r"need a scalar, but this is a block")),),
    ),
    Misconception(
        "number-as-condition",
        "A number was used as a condition",
        "`and`, `or` and `not` take conditions. A number that is known only when the kernel runs is not a condition to "
        "a GPU's compiler.",
        "Compare the number with something. If you mean that it is not 0, write that: n != 0.",
        signs=(Raises(re.compile(r"Cannot bitcast data-type of size \d+ to data-type of size 1\b")),),
    ),
    Misconception(
        "shapes-do-not-fit",
        "Two blocks have shapes that do not fit together",
        "Two blocks combine element by element if each side has the same length in both, or the length 1 in one of "
        "them.",
        "Write down the shape of each block in this line: [:, None] makes a column of a vector, [None, :] a row. A "
        "reduction along axis=1 leaves one entry per row, along axis=0 one per column.",
        signs=(Raises(re.compile(r"incompatible dimensions|could not be broadcast|Cannot broadcast")),),
    ),
    Misconception(
        "dot-types-differ",
        "The two sides of tl.dot have different types",
        "A matrix product takes two blocks of one type. What you compute is fp32, while what you load has the type of "
        "its tensor, which is fp16 in some cases.",
        "Convert the computed one to the type of the loaded one: tl.dot(a.to(b.dtype), b).",
        signs=(Raises(re.compile(r"must have the same dtype|operands must be same dtype")),),
    ),
    Misconception(
        "dot-shapes-do-not-fit",
        "The two sides of tl.dot do not fit together",
        "In a product of an (a, b) tile with a (b, c) tile, the two inner sides must be equal, and here they are not.",
        "Write down both shapes: tl.trans exchanges the two sides of a tile.",
        signs=(
            Raises(re.compile(r"not compatible for matmul|equal reduction dimensions|mismatch in its core dimension")),
        ),
    ),
    Misconception(
        "other-without-mask",
        "The load has `other`, but no mask",
        "`other` is what masked lanes hold. Without a mask no lane is masked, so there is nothing for it to fill.",
        "Give the load its mask: tl.load(..., mask=..., other=...).",
        signs=(Raises(re.compile(r"other. cannot be provided without .mask")),),
    ),
    Misconception(
        "pointer-is-not-a-block",
        "The mask is a block, but the address is a single one",
        "Adding a number to a pointer gives one address. A block of addresses needs a block of offsets.",
        "A single number needs no mask. For a block, add its offsets to the pointer: they come from tl.arange.",
        signs=(Raises(re.compile(r"Mask argument cannot be block type if pointer argument is not a block")),),
    ),
    Misconception(
        "not-a-pointer",
        "This is not an address",
        "A load or store needs addresses: a pointer, plus offsets. Offsets alone are only numbers.",
        "Addresses come first, and begin with a pointer: tl.load(pointer + offsets), tl.store(pointer + offsets, "
        "values).",
        signs=(Raises(re.compile(r"Unsupported ptr type")),),
    ),
    Misconception(
        "mask-is-not-true-or-false",
        "The mask does not hold true and false",
        "A mask says for each lane whether it takes part, as a comparison does.",
        "The order is tl.store(addresses, values, mask=...), and a mask is a comparison, such as cols < n_cols.",
        signs=(Raises(re.compile(r"[Mm]ask must have boolean scalar type")),),
    ),
    Misconception(
        "too-many-arguments",
        "The call gives the mask twice",
        "The second argument of tl.load is the mask. Offsets are added to the pointer.",
        "Write tl.load(pointer + offsets, mask=..., other=...).",
        signs=(Raises(re.compile(r"multiple values for argument 'mask'")),),
    ),
    Misconception(
        "axis-out-of-range",
        "The axis does not exist",
        "A block of one dimension has only axis 0; of two dimensions, axes 0 and 1.",
        "Reduce a one-dimensional block with axis=0.",
        signs=(Raises(re.compile(r"axis -?\d+ (is )?out of bounds|axis .* out of range")),),
    ),
    Misconception(
        "shared-memory",
        "The kernel needs more shared memory than a core of this GPU has",
        "What is loaded and multiplied lies in shared memory, and the tiles held at the same time do not fit.",
        "Use up each tile before you load the next one: what no later line uses takes no memory.",
        signs=(Raises(re.compile(r"out of resource: shared memory")),),
    ),
    Misconception(
        "illegal-address",
        "The GPU refused an address",
        "The kernel loaded from or stored to memory that belongs to none of its tensors, and the GPU ended it.",
        "Check with the interpreter, DEVICE=interpreter: it knows the program, the line and the element.",
        signs=(Raises(re.compile(r"illegal memory access|misaligned address")),),
    ),
    Misconception(
        "order-matters",
        "The combine function of tl.reduce gives something else in another order",
        "A GPU may combine neighbours, halves, or one element after the other, so f(f(a, b), c) must be f(a, f(b, c)). "
        "A sum, a product and a maximum are like that, and an average of two is not.",
        "Combine with a function of that kind. Do what is done once after tl.reduce: divide the sum there, for example."
        "",
        signs=(Raises(re.compile(r"tl\.reduce combines elements in any order")),),
    ),
    Misconception(
        "dot-side-too-small",
        "A matrix product runs over fewer than 16 elements",
        "tl.dot runs on units that multiply whole tiles, so the side that is summed over must be at least 16.",
        "Use blocks of at least 16 on each side of tl.dot.",
        signs=(Raises(re.compile(r"Input shapes should have M")),),
    ),
    Misconception(
        "loop-changes-type",
        "A variable changes its type or shape in the loop",
        "The compiler gives each variable that a loop carries from one iteration to the next one type and one shape. "
        "The interpreter accepts any.",
        "Start with the type and shape that it has later: 0.0 for a number that is not whole, and for a vector "
        "tl.zeros((LENGTH,), tl.float32) or tl.full((LENGTH,), -float('inf'), tl.float32).",
        signs=(Raises(re.compile(r"Loop-carried variable")),),
    ),
    Misconception(
        "branches-differ",
        "A variable has another type after `if` than after `else`",
        "The compiler gives each variable one type and one shape, whichever way an `if` goes. The interpreter accepts "
        "any.",
        "Give it the same type and shape in both: 0.0 instead of 0, for instance.",
        signs=(Raises(re.compile(r"Mismatched type for .* between then block|the (then|else) block redefines it")),),
    ),
    Misconception(
        "no-first-value",
        "A sum has no value to begin with",
        "The marked line adds to what a name holds, and no line above gives it a value. The first time there is "
        "nothing to add to.",
        "Give it a value before the loop, of the type that it has later: 0.0 for a sum.",
        signs=(Raises(UNDEFINED, Part.CHANGED_FIRST),),
    ),
    Misconception(
        "not-always-defined",
        "A name is used that is not always there",
        "It gets its first value in a loop or under an `if`. The loop may have no iteration, and the `if` may go the "
        "other way, so the compiler does not know the name after it. The interpreter accepts it.",
        "Give it a value before the loop or the `if`, of the type that it has later.",
        signs=(Raises(UNDEFINED),),
    ),
    Misconception(
        "loop-bound-not-integer",
        "The bounds of a loop are not integers",
        "range counts in whole numbers, and a division with / makes a fraction even of 6 / 3, which is 2.0.",
        "Use // instead of /, and no decimal point.",
        signs=(Raises(re.compile(r"For loop bounds and step must all be ints|cannot be interpreted as an integer")),),
    ),
    Misconception(
        "reduction-of-two",
        "tl.max, tl.min and tl.sum take one block",
        "The second argument is the axis along which the block is reduced.",
        "Of two values, use tl.maximum(a, b), tl.minimum(a, b) or a + b.",
        signs=(Raises(re.compile(r"^axis .*(\[|\d\.\d|inf|tensor)|axis must be|only integer (scalar )?arrays")),),
    ),
    Misconception(
        "arange-not-power-of-two",
        "A block's length must be a power of two",
        "The compiler shares a block out among threads by halving it again and again, so tl.arange makes only blocks "
        "whose length is a power of two.",
        "Use tl.arange(0, BLOCK_SIZE) and a mask for the lanes that are too many.",
        signs=(Raises(re.compile(r"power of (2|two)|arange's range")),),
    ),
    Misconception(
        "arange-not-constant",
        "A block's length must be known when the kernel is compiled",
        "The length of a block is a part of the compiled kernel. The sizes of a tensor come with each launch, and so "
        "does whatever is computed from them.",
        "Use a parameter that is marked tl.constexpr, as in tl.arange(0, BLOCK_SIZE). A length that the kernel "
        "computes from such parameters needs the mark as well: HALF: tl.constexpr = BLOCK_SIZE // 2.",
        signs=(Raises(re.compile(r"arange's arguments")),),
    ),
)
