"""Products that are written as Einsum, as matrix products.

ONNX Runtime computes an Einsum as transposes and matrix products anyway. Written as such, they are
what the rewrites of attention, of linear layers and of padding look for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.onnx_io.einsum import Terms, written_out
from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.graph_editor import GraphEditor

if TYPE_CHECKING:
    import onnx


def write_einsum_products(model: onnx.ModelProto) -> None:
    """Replace each Einsum of `model` that is one matrix product by MatMul, in place.

    That is one of two inputs: of matrices, as many as there are combinations of the letters that
    both inputs and the output have; or of a value and one matrix, of constant sizes, whose axes are
    one letter or several. Others are kept: of another dtype than float32, with a letter twice in a
    term, a sum over an axis of one input alone, or an axis that is broadcast or of unknown size.
    """
    import onnx

    if not any(_is_einsum(node) for node in model.graph.node):
        return
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    editor = GraphEditor(model.graph, [*inferred.value_info, *inferred.output])
    found = False
    for node in filter(_is_einsum, editor.nodes):
        made = _product(editor, node)
        if made:
            editor.replace([node], made)
            found = True
    if found:
        editor.finish(model, "Einsum as matrix products")


def _is_einsum(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type, len(node.input)) == ("", "Einsum", 2)


def _product(editor: GraphEditor, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """The nodes that replace an Einsum; none where it is kept."""
    shapes = [editor.named_shape(name) for name in node.input]
    # ONNX Runtime fuses a Transpose into a MatMul of float64, for which it has no kernel.
    if None in shapes or not editor.is_float(*node.input):
        return []
    ranks = [len(shape or ()) for shape in shapes]
    terms = written_out(attribute(node, "equation", b"").decode(), ranks)
    sizes: dict[str, set[int | str]] = {}
    for term, shape in zip(terms.inputs, shapes, strict=True):
        for letter, size in zip(term, shape or (), strict=True):
            sizes.setdefault(letter, set()).add(size)
    once = all(len(set(term)) == len(term) for term in (*terms.inputs, terms.output))
    if not once or any(len(found) > 1 for found in sizes.values()):
        return []
    known = {letter: found.pop() for letter, found in sizes.items()}
    for sides in ((0, 1), (1, 0)):
        made = _Product(node, terms, sides, known, editor).nodes()
        if made:
            return made
    return []


class _Product:
    """The product of a left and a right input."""

    def __init__(
        self,
        node: onnx.NodeProto,
        terms: Terms,
        sides: tuple[int, int],
        sizes: dict[str, int | str],
        editor: GraphEditor,
    ) -> None:
        self._node, self._terms, self._sides = node, terms, sides
        self._sizes, self._editor = sizes, editor
        self._made: list[onnx.NodeProto] = []

    def nodes(self) -> list[onnx.NodeProto]:
        """The nodes that compute it; none where it is no product of this left and right input."""
        left, right = (self._terms.inputs[side] for side in self._sides)
        output = self._terms.output
        both = [letter for letter in output if letter in left and letter in right]
        rows = [letter for letter in output if letter not in right]
        columns = [letter for letter in output if letter not in left]
        summed = [letter for letter in left if letter not in output]
        if not (rows and columns and summed) or {*right} != {*both, *columns, *summed}:
            return []
        if both:
            # Its rows come first in the output, or it is the product of the other two sides.
            single = len(rows) == len(columns) == len(summed) == 1
            if not single or output.index(rows[0]) > output.index(columns[0]):
                return []
        elif not all(isinstance(self._sizes[letter], int) for letter in right):
            return []
        first, second = (self._node.input[side] for side in self._sides)
        one = self._transposed(first, left, [*both, *rows, *summed])
        one = self._reshaped(one, [0] * len(rows), summed) if len(summed) > 1 else one
        two = self._transposed(second, right, [*both, *summed, *columns])
        if len(summed) > 1 or len(columns) > 1:
            width = self._count(columns)
            two = self._add("Reshape", [two, self._editor.integers([-1, width])])
        made = self._add("MatMul", [one, two])
        if len(columns) > 1:
            made = self._reshaped(made, [0] * len(rows), *columns)
        self._transposed(made, "".join([*both, *rows, *columns]), list(output))
        self._made[-1].output[0] = self._node.output[0]
        return self._made

    def _transposed(self, value: str, letters: str, order: list[str]) -> str:
        if list(letters) == order:
            return value
        return self._add("Transpose", [value], perm=[letters.index(each) for each in order])

    def _reshaped(self, value: str, kept: list[int], *merged: list[str] | str) -> str:
        """With one axis for each of `merged`, in the place of the last ones."""
        shape = [*kept, *(self._count(letters) for letters in merged)]
        return self._add("Reshape", [value, self._editor.integers(shape)])

    def _count(self, letters: list[str] | str) -> int:
        count = 1
        for letter in letters:
            count *= int(self._sizes[letter])
        return count

    def _add(self, op: str, inputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        name = f"{self._node.output[0]}.product_{len(self._made)}"
        label = f"{self._node.name}.product_{len(self._made)}"
        made = helper.make_node(op, inputs, [name], label, **attributes)
        made.metadata_props.extend(self._node.metadata_props)
        self._made.append(made)
        return name
