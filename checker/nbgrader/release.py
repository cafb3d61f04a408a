"""What nbgrader loads to make the students' notebook of a source notebook."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import ClearSolutions as StockClearSolutions

from checker.course.lesson import GAP


class ClearSolutions(StockClearSolutions):
    """As nbgrader's, but a cell with a FILL IN mark of its own gets no `YOUR CODE HERE` as well."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Clear one cell."""
        marked = GAP in cell.source
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if marked:
            stub = set(self.code_stub[resources["language"]].split("\n"))
            cell.source = "\n".join(line for line in cell.source.split("\n") if line.strip() not in stub)
        return cell, resources
