"""A submission's text in which every name that is assigned can be given another value."""

from __future__ import annotations

import ast

from checker.sandbox.protocol.launch import GIVEN


class _Taps(ast.NodeTransformer):
    """Pass each value that a name is assigned through GIVEN, except in assignments to several names at once."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            node.value = _passed(node.targets[0].id, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is not None and isinstance(node.target, ast.Name):
            node.value = _passed(node.target.id, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign | ast.Assign:
        if not isinstance(node.target, ast.Name):
            return node
        own = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([ast.Name(node.target.id, ast.Store())], _passed(node.target.id, own))


def tapped(source: str, kernel: str) -> str:
    """Return the text with taps in one kernel."""
    tree = ast.parse(source)
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            tree.body[place] = _Taps().visit(node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _passed(name: str, value: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(GIVEN, ast.Load()), [ast.Constant(name), value], [])
