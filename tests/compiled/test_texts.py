"""Facts read from the compiler's texts, in each of the forms that versions of Triton give them."""

from __future__ import annotations

import pytest

from checker.compiled import assembler, listing, ttgir
from checker.compiled.assembler import Instruction, instructions, matrix, moved
from checker.compiled.ttgir import Block

PTX = """
\t.loc\t1 15 0                          // submission.py:15:0
\tld.param.b64 \t%rd1, [kernel_param_0];
\t@%p1 bra \t$L__BB0_3;
// %bb.1:                               // %.lr.ph
\t.loc\t1 41 10                         // submission.py:41:10
\t// begin inline asm
\tcp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
\t// end inline asm
\tcp.async.commit_group;
$L__BB0_2:                              // =>This Inner Loop Header: Depth=1
$L__tmp1:
\t.loc\t2 170 27                        // standard.py:170:27 @[ standard.py:191:40 @[ submission.py:52:39 ] ]
\tmax.f32 \t%r3, %r4, %r5;
\t.loc\t1 54 20                         // submission.py:54:20
\tmul.f32 \t%r6, %r3, 0f3FB8AA3B;
waitLoop:
\t@%p2 bra \t$L__BB0_2;
$L__BB0_3:
\t.loc\t1 60 4                          // submission.py:60:4
\t@%p3 st.global.v4.b32 [ %rd2 + 0 ], { %r1, %r2, %r3, %r4 };
\tret;
\t.file\t1 "/sandbox/submission.py"
\t.file\t2 "/triton/language/standard.py"
"""
NESTED = """
.LBB0_1:                                ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB0_2 Depth 2
\t.loc\t1 20 4                          ; submission.py:20:4
\ts_add_i32 s0, s0, 1
.LBB0_2:                                ;   Parent Loop BB0_1 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
\tglobal_load_dwordx4 v[0:3], v4, s[0:1]
; %bb.3:                                ;   in Loop: Header=BB0_1 Depth=1
\tv_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
; %bb.4:
\ts_endpgm
\t.file\t1 "/sandbox" "submission.py"
"""
INLINED = """
\t.loc\t2 216 16, function_name $L__info_string0, inlined_at 1 59 33 // standard.py:216:16
\tmax.f32 \t%r1, %r2, %r3;
\t.loc\t2 196 12, function_name $L__info_string0, inlined_at 2 216 16 // standard.py:196:12
\tmax.f32 \t%r1, %r2, %r3;
\t.loc\t2 300 1 // standard.py:300:1
\tmax.f32 \t%r1, %r2, %r3;
\t.file\t1 "/sandbox/submission.py"
\t.file\t2 "/triton/language/standard.py"
"""


def short(text: str) -> list[tuple[str, tuple[int, ...], str]]:
    return [(one.opcode, one.lines, one.loop) for one in instructions(text)]


def test_instructions_have_their_line_and_the_loop_around_them() -> None:
    assert short(PTX) == [
        ("ld.param.b64", (15,), ""),
        ("bra", (15,), ""),
        ("cp.async.cg.shared.global", (41,), ""),
        ("cp.async.commit_group", (41,), ""),
        ("max.f32", (52,), "BB0_2"),
        ("mul.f32", (54,), "BB0_2"),
        ("bra", (54,), "BB0_2"),
        ("st.global.v4.b32", (60,), ""),
        ("ret", (60,), ""),
    ]
    assert short(NESTED) == [
        ("s_add_i32", (20,), "BB0_1"),
        ("global_load_dwordx4", (20,), "BB0_2"),
        ("v_mfma_f32_32x32x8_f16", (20,), "BB0_1"),
        ("s_endpgm", (20,), ""),
    ]


def test_what_is_inlined_belongs_to_the_lines_that_call_it_and_what_is_of_no_line_to_none() -> None:
    assert short(INLINED) == [("max.f32", (59,), ""), ("max.f32", (59,), ""), ("max.f32", (), "")]
    of_a_helper = (
        "\t.loc\t1 20 4 // submission.py:20:4 @[ submission.py:44:10 @[ submission.py:59:8 ] ]\n\tmax.f32 %r1;\n"
    )
    assert short(of_a_helper + '\t.file\t1 "/sandbox/submission.py"') == [("max.f32", (20, 44, 59), "")]
    since_3_9 = (
        "\t.loc\t1 44 10, function_name $L, inlined_at 1 59 8\n\t.loc\t1 20 4, function_name $L, inlined_at 1 44 10\n"
    )
    assert short(since_3_9 + '\tmax.f32 %r1;\n\t.file\t1 "/sandbox/submission.py"') == [("max.f32", (20, 44, 59), "")]


@pytest.mark.parametrize(
    ("opcode", "operands", "store", "size", "asynchronous"),
    [
        ("ld.global.v4.b32", "", False, 16, False),
        ("ld.global.L1::evict_last.v2.b32", "", False, 8, False),
        ("ld.global.b16", "", False, 2, False),
        ("ld.global.nc.u8", "", False, 1, False),
        ("ld.global.v2.b64", "", False, 16, False),
        ("st.global.b16", "", True, 2, False),
        ("cp.async.ca.shared.global", "[ %r1 + 0 ], [ %rd1 + 0 ], 0x4, %r2", False, 4, True),
        ("cp.async.cg.shared.global", "[ %r1 + 0 ], [ %rd1 + 0 ], 16", False, 16, True),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "", False, 0, True),
        ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group", "", True, 0, True),
        ("global_load_dwordx2", "", False, 8, False),
        ("global_load_ushort", "", False, 2, False),
        ("global_load_short_d16_hi", "", False, 2, False),
        ("buffer_load_dwordx4", "v1, s[0:3], 0 offen lds", False, 16, True),
        ("global_store_dword", "", True, 4, False),
    ],
)
def test_what_moves(opcode: str, operands: str, store: bool, size: int, asynchronous: bool) -> None:
    assert moved(Instruction(opcode, operands, (1,), "")) == assembler.Moved(store, size, asynchronous)


@pytest.mark.parametrize(
    "opcode",
    [
        "ld.shared.v4.b32",
        "ld.param.b64",
        "cp.async.commit_group",
        "cp.async.wait_group",
        "ds_read_b64",
        "s_load_dwordx4",
        "st.shared.b32",
    ],
)
def test_what_moves_nothing(opcode: str) -> None:
    assert moved(Instruction(opcode, "", (1,), "")) is None


@pytest.mark.parametrize(
    ("opcode", "name"),
    [
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "wgmma m64n64k16 f16"),
        ("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32", "wgmma m64n64k8 tf32"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma m16n8k16 bf16"),
        ("tcgen05.mma.cta_group::1.kind::f16", "tcgen05 f16"),
        ("v_mfma_f32_32x32x8_f16", "mfma 32x32x8 f16"),
        ("wgmma.fence.sync.aligned", ""),
        ("tcgen05.ld.sync.aligned.16x32bx2.x64.b32", ""),
        ("fma.rn.f32", ""),
    ],
)
def test_matrix_instructions(opcode: str, name: str) -> None:
    assert matrix(Instruction(opcode, "", (1,), "")) == name


def test_plain_arithmetic_and_what_is_costly() -> None:
    def one(opcode: str, operands: str = "") -> Instruction:
        return Instruction(opcode, operands, (1,), "")

    assert [assembler.multiplies_and_adds(one(o)) for o in ("fma.rn.f32", "v_fmac_f32_e32", "mul.f32")] == [
        True,
        True,
        False,
    ]
    assert [
        assembler.divides(one(o)) for o in ("div.full.f32", "div.rn.f32", "v_div_fixup_f32", "rem.s32", "mul.f32")
    ] == [*([True] * 3), *([False] * 2)]
    assert assembler.scales_for_base_2(one("mul.f32", "%r1, %r2, 0f3FB8AA3B"))
    assert assembler.writes_shared(one("st.shared.v4.b32")) and not assembler.writes_shared(one("st.global.b32"))


TTGIR = """#mma = #ttg.nvidia_mma<{versionMajor = 3, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], order = [1, 0]}>
#loc = loc("/sandbox/submission.py":9:0)
#loc3 = loc("/sandbox/submission.py":41:20)
#loc4 = loc("/triton/language/standard.py":170:27)
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @kernel(%q: !tt.ptr<f16> loc("q"(#loc))) attributes {noinline = false} {
    %K = ttg.local_alloc : () -> !ttg.memdesc<3x64x128xf16, #shared, #smem, mutable> loc(#loc20)
    %L = tt.load %p : tensor<64x!tt.ptr<f32>, #blocked> loc(#loc5)
    %0 = ttg.convert_layout %x : tensor<64xf32, #a> -> tensor<64xf32, #b> loc(#loc5)
    %1:2 = scf.for %i = %c0 to %n step %c64 iter_args(%a = %b) -> (tensor<64xf32>)  : i32 {
      %k = ttg.async_copy_global_to_local %p, %d : tensor<64x128x!tt.ptr<f16>, #blocked> -> <64x128xf16> loc(#loc20)
      %m = "tt.reduce"(%s) <{axis = 1 : i32}> ({
      ^bb0(%u: f32 loc(unknown), %v: f32 loc(unknown)):
        tt.reduce.return %u : f32 loc(#loc21)
      }) : (tensor<64x64xf32, #mma>) -> tensor<64xf32, #mma> loc(#loc21)
      %3 = ttg.convert_layout %m : tensor<64xf16, #mma> -> tensor<64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma}>>
      %4 = ttg.local_alloc %L : (tensor<64xf32, #blocked>) -> !ttg.memdesc<64xf32, #shared, #smem> loc(#loc20)
      %5 = ttg.local_alloc %m : (tensor<64xf32, #blocked>) -> !ttg.memdesc<64xf32, #shared, #smem> loc(#loc5)
      %2 = ttg.convert_layout %m : tensor<64xf32, #a> -> tensor<64xf32, #b> loc(#loc21)
      scf.yield %2 : tensor<64xf32> loc(#loc5)
    } loc(#loc5)
    tt.store %o, %z, %mask : tensor<64x!tt.ptr<f32>, #blocked> loc(#loc5)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc5 = loc("/sandbox/submission.py":60:4)
#loc20 = loc("Kj"(#loc3))
#loc21 = loc(callsite(#loc4 at #loc22))
#loc22 = loc("mi"(#loc6))
#loc6 = loc("/sandbox/submission.py":52:30)
"""


def test_blocks_buffers_and_what_changes_its_layout_in_loops() -> None:
    found = ttgir.loops(TTGIR)
    assert found.blocks == {41: Block(64 * 128, 2), 60: Block(64, 4)}
    assert found.kept_ready == {41: 3}
    assert found.moved == ((60,), (52,))  # not into a factor, nor what was loaded


@pytest.mark.parametrize(
    "text", ["", "nonsense", TTGIR.replace("} loc(#loc5)", "loc(#loc5)"), TTGIR.replace("tt.func", "llvm.func")]
)
def test_what_is_not_known_is_told(text: str) -> None:
    with pytest.raises(ttgir.Unknown):
        ttgir.loops(text)


LLVM = """define void @kernel() !dbg !5 {
  %1 = load i32, ptr %0, !dbg !10
  %2 = fadd float %a, %b, !dbg !11
  ret void
}
!1 = !DIFile(filename: "submission.py", directory: "/sandbox")
!5 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 9)
!6 = distinct !DILexicalBlockFile(scope: !5, file: !7, discriminator: 0)
!7 = !DIFile(filename: "standard.py", directory: "/triton/language")
!10 = !DILocation(line: 41, column: 10, scope: !5)
!11 = !DILocation(line: 170, column: 27, scope: !6, inlinedAt: !12)
!12 = !DILocation(line: 52, column: 30, scope: !5)
"""


@pytest.mark.parametrize(
    ("stage", "text", "name"), [("ptx", PTX, "assembler"), ("llir", LLVM, "llir"), ("ttgir", TTGIR, "ttgir")]
)
def test_a_listing_has_the_lines_of_the_source_above_what_became_of_them(stage: str, text: str, name: str) -> None:
    source = [f"line {number} \x1b[31m" for number in range(1, 61)]
    shown = [*listing.listing({name: text}, stage, source)]
    heads = [int(line[:4]) for line in shown if line[:4].strip()]
    assert {41, 52} <= {*heads} and all(head in (9, 15, 41, 52, 54, 60) for head in heads)
    assert any("41 │ line 41" in line for line in shown) and not any("\x1b" in line for line in shown)
    body = [line for line in shown if not line[:4].strip()]
    assert sum("convert_layout" in line for line in body) == (3 if stage == "ttgir" else 0)
