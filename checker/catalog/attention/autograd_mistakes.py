"""Wrong ideas of a function of autograd that launches kernels."""

from __future__ import annotations

import re

from checker.catalog.attention import autograd_models as models
from checker.course.misconception import Launches, Misconception, Raises, Sign


def _idea(id: str, title: str, explanation: str, hint: str, question: str, *signs: Sign) -> Misconception:
    return Misconception(id, title, explanation, hint, question=question, signs=signs)


IN_AUTOGRAD = (
    _idea(
        "not-contiguous",
        "A kernel reads a tensor as if its memory had no gaps and no other order",
        "A transposed view, or a slice, has the shape that you expect and another order in memory. The kernel gets a "
        "pointer and strides, and knows nothing of the view: with the strides of a dense tensor it reads other "
        "numbers.",
        "Make q, k, v and dO dense before you pass them: q = q.contiguous(). Of a tensor that is dense already, that "
        "is the tensor itself. And make outputs of the dense tensors: torch.empty_like keeps the order of what it "
        "gets.",
        "Print q.stride() with heads side by side in memory. Which strides does your launch pass instead?",
        *models.NOT_CONTIGUOUS,
    ),
    _idea(
        "strides-of-another-tensor",
        "A tensor is read with the strides of another one",
        "The kernels take one pair of strides for Q, O and dO, and one for K and V. That holds only if these tensors "
        "lie in memory in the same way, and nobody promises it: autograd hands you whatever dO there is.",
        "Call .contiguous() on each of them, on v as well as on k, and on dO in attention_backward.",
        "Which tensors share q_row_stride in dq_kernel? Print the strides of each of them.",
        *models.OTHER_STRIDES,
    ),
    _idea(
        "heads-and-sequences-mixed",
        "The heads of different sequences are mixed up",
        "A kernel knows one axis of heads. Head h of sequence b is head b · heads + h for it, so a step from one head "
        "to the next must lead from the last head of a sequence to the first one of the next. Only a dense tensor "
        "has such a stride. And there must be a program for each of the batch · heads.",
        "With dense tensors the head stride is n · d and the row stride is d. The grid is (tiles, batch * heads).",
        "With 2 sequences of 3 heads, which head is the kernel's head 3? At which element of q does it begin, and "
        "where does your head stride lead?",
        *models.MIXED,
    ),
    _idea(
        "stride-of-a-single-head",
        "The head stride is asked of a tensor with a single head",
        "No step is ever taken along an axis of length 1, so its stride says nothing: .contiguous() returns such a "
        "tensor as it is, whatever that stride. But the kernel steps from head to head through all sequences.",
        "Compute the stride instead of asking for it: in a dense tensor, a head is n · d numbers away from the next.",
        "Cut q from a tensor of shape (2, 20, 1, 16) with transpose(1, 2). What is q.is_contiguous(), and what is "
        "q.stride()?",
        *models.ONE_HEAD,
    ),
    _idea(
        "scale-forgotten",
        "A kernel gets another scale than the function",
        "scale is an argument: a model may choose another one than 1 / sqrt(d). Both directions need the same one, as "
        "the weights are computed again in the backward pass.",
        "Pass scale on to the kernel. Keep it with ctx.scale = scale, and pass ctx.scale to dq_kernel and "
        "dk_dv_kernel.",
        "Call your function with scale 1 and with scale 0. With which of them should every weight of a row be alike?",
        *models.SCALE,
    ),
    _idea(
        "gradients-in-another-order",
        "The gradients are returned in another order",
        "autograd knows a gradient by its place alone: the first one that attention_backward returns belongs to the "
        "first argument of attention_forward after ctx. If n_q and n_k are equal, the shapes fit in any order.",
        "Return dQ, dK, dV, None, in this order.",
        "In which order does attention_forward take its arguments, and in which order do you return?",
        *models.ORDER,
        Raises(re.compile(r"the shapes are those of .*, in another order")),
    ),
    _idea(
        "lse-not-saved",
        "The backward pass has no LSE",
        "The forward pass stores LSE, one number for each query, so that the backward pass can make the weights again. "
        "Memory that is new, or full of zeros, is not that.",
        "Save it with the others: ctx.save_for_backward(q, k, v, o, lse). It comes back in ctx.saved_tensors.",
        "Which kernel stores LSE, and which kernels load it? Is it the same tensor in yours?",
        *models.LSE,
    ),
    _idea(
        "lse-in-half",
        "LSE is kept in fp16",
        "With fp16 inputs, a tensor made like q is fp16 as well. LSE stands in an exponent: an error of a hundredth in "
        "it changes every weight of its row by a hundredth.",
        "Say the type: torch.empty(batch, heads, n_q, dtype=torch.float32, device=q.device). delta is fp32, too.",
        "Print lse.dtype with fp16 inputs. How far apart are two numbers of this type near 8?",
        *models.LSE_IN_HALF,
    ),
    _idea(
        "delta-not-computed",
        "delta is used before anything is stored in it",
        "dq_kernel and dk_dv_kernel load delta, and delta_kernel stores it. Without it dV is right, as it does not "
        "need delta, and the other two gradients are not.",
        "Launch delta_kernel first, with o and do, and give what it has stored to the other two kernels.",
        "Which of your launches stores to delta? Does it come before those that load it?",
        *models.DELTA,
    ),
    _idea(
        "not-causal",
        "The forward pass is not causal",
        "The kernel of puzzle 6 can do both. Here every query sees only the keys up to its own position: a model that "
        "sees what it is to predict learns nothing.",
        "Launch it with CAUSAL=True.",
        "Which constexpr of flash_attention_2_kernel decides about the mask, and what do you give for it?",
        *models.NOT_CAUSAL,
    ),
    _idea(
        "keys-and-values-exchanged",
        "K and V are exchanged",
        "The kernel knows its tensors by their places. With K and V exchanged every shape fits, and the scores are the "
        "products of queries and values.",
        "Compare the launch with the kernel's def line, parameter by parameter.",
        "Write the parameters of the kernel in a row, and your arguments below them. Does each stand under its own?",
        *models.EXCHANGED,
    ),
    _idea(
        "grid-of-the-other-side",
        "The grid has the tiles of the other side",
        "A program of dk_dv_kernel makes a tile of keys, one of the other kernels a tile of queries. If there are more "
        "keys than queries, a grid for the queries leaves the last keys without a program, and the other way round.",
        "triton.cdiv(n_k, Bc) programs for dK and dV, and triton.cdiv(n_q, Br) for O, delta and dQ.",
        "With 40 queries, 100 keys and tiles of 16, how many programs must store a tile of dK? How many do you launch?",
        *models.GRID,
    ),
    _idea(
        "tensor-kept-on-ctx",
        "A tensor is kept as an attribute of ctx",
        "autograd frees what is saved as soon as the backward pass has used it, and notices if somebody has changed it "
        "in the meantime. What hangs on ctx as an attribute it does not know, and the memory may never be freed.",
        "ctx.save_for_backward(q, k, v, o, lse) for tensors; attributes are for numbers: ctx.scale = scale.",
        "Which of the things that you keep are tensors, and which are numbers?",
        Raises(re.compile(r"^ctx\.\w+ holds a tensor")),
    ),
    _idea(
        "not-one-gradient-for-each-input",
        "The backward pass does not return a gradient for each input",
        "attention_forward has four arguments after ctx, so autograd expects four results. scale is a number, and has "
        "no gradient: its place is taken by None.",
        "return dq, dk, dv, None",
        "How many arguments does attention_forward have after ctx? How many results do you return?",
        Raises(re.compile(r"it returned .*, and not 4: ")),
    ),
    _idea(
        "forward-computed-again",
        "The backward pass runs the forward kernel again",
        "O and LSE are known since the forward pass. To compute them a second time costs as much as it did the first "
        "time, in every step of the training.",
        "ctx.save_for_backward(q, k, v, o, lse) keeps them: LSE has one number for each query, and O is kept anyway, "
        "as the next layer's input.",
        "Which results of the forward pass does the backward pass need? Where do yours come from?",
        Launches(lambda times: times["flash_attention_2_kernel"] > 1 and times["dq_kernel"] == 1),
    ),
)
