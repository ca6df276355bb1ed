"""The faults: single edits of a source file, made by the operators of cosmic-ray."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cosmic_ray.plugins
import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from parso.python.tree import Keyword
from typing_extensions import override

CHOSEN = (
    *("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "NumberReplacer"),
    *("ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceUnaryOperator_USub_UAdd"),
    *("ReplaceUnaryOperator_Delete_Not", "ZeroIterationForLoop", "ExceptionReplacer"),
    *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
    *("ReplaceBinaryOperator_Mul_Div", "ReplaceBinaryOperator_Div_Mul"),
    *("ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_Mod_Mul"),
    *("ReplaceBinaryOperator_Pow_Mul", "ReplaceBinaryOperator_BitOr_BitAnd"),
    *("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceBinaryOperator_LShift_RShift"),
    *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
    *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_Lt_Gt"),
    *("ReplaceComparisonOperator_LtE_Lt", "ReplaceComparisonOperator_LtE_Gt"),
    *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_Gt_Lt"),
    *("ReplaceComparisonOperator_GtE_Gt", "ReplaceComparisonOperator_GtE_Lt"),
    *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
)
"""cosmic-ray has an operator for every pair of signs; most of the others fail at once for their
types and would only flatter the share that is found."""


UNPACKING = ("dictorsetmaker", "atom", "argument")
"""Parents of ** where it is no power."""


LOOKS = ("fontsize", "linewidth", "markersize")
"""Arguments of drawing whose size is a matter of taste."""


class RemoveStatement(Operator):
    """Does nothing where a call was made, an attribute set, something deleted or raised."""

    @override
    def mutation_positions(self, node: Any) -> Iterator[Any]:
        if node.type == "simple_stmt" and _has_effect(node.children[0]):
            yield (node.children[0].start_pos, node.children[0].end_pos)

    @override
    def mutate(self, node: Any, index: int) -> Any:
        first = node.children[0]
        prefix = first.get_first_leaf().prefix
        node.children[0] = Keyword("pass", first.start_pos, prefix)
        return node

    @classmethod
    @override
    def examples(cls) -> tuple[Any, ...]:
        return ()


def _has_effect(statement: Any) -> bool:
    if statement.type == "expr_stmt":
        target, sign = statement.children[:2]
        augmented = sign.type == "operator" and sign.value != "="
        return augmented or target.type in ("atom_expr", "power")
    return statement.type in ("atom_expr", "power", "raise_stmt", "del_stmt")


OPERATORS: dict[str, Operator] = {
    **{name: cosmic_ray.plugins.get_operator(f"core/{name}")() for name in CHOSEN},
    "RemoveStatement": RemoveStatement(),
}


class Mutation(NamedTuple):
    """One edit of one file."""

    file: Path
    """Relative to the root of the tree."""
    line: int
    operator: str
    occurrence: int
    """Which of the places that the operator finds in the file."""

    def apply(self, source: str) -> str:
        """The source with the fault in it."""
        made = mutate_code(source, OPERATORS[self.operator], self.occurrence)
        assert made is not None
        return made

    def change(self, source: str) -> str:
        """The lines that change, without their indentation: `before → after`."""
        lines = source.splitlines(), self.apply(source).splitlines()
        changed = [line for line in difflib.ndiff(*lines) if line[0] in "-+"]
        before, after = (
            " ".join(line[2:].strip() for line in changed if line[0] == sign) for sign in "-+"
        )
        return f"{before} → {after}"


def mutations_of(file: Path, source: str) -> list[Mutation]:
    """Every mutation of `source` but those that no test of behaviour can be asked to notice."""
    found = []
    for name, operator in OPERATORS.items():
        occurrence = 0
        for node in ast_nodes(get_ast(source)):
            for (line, _), _ in operator.mutation_positions(node):
                if not _is_left_alone(node):
                    found.append(Mutation(file, line, name, occurrence))
                occurrence += 1
    return sorted(found, key=lambda mutation: (mutation.line, mutation.operator))


def _is_left_alone(node: Any) -> bool:
    """Whether nothing is mutated: types, entry of a program, syntax errors, appearance."""
    if node.type == "operator" and node.value == "**" and node.parent.type in UNPACKING:
        return True
    while node is not None:
        parent = node.parent
        if node.type == "argument" and node.children[0].get_code().strip() in LOOKS:
            return True
        if node.type == "if_stmt" and _is_switch(node.children[1]):
            return True
        if parent is not None and node is _annotation(parent):
            return True
        node = parent
    return False


def _annotation(node: Any) -> Any:
    if node.type == "annassign":
        return node.children[1]
    if node.type == "tfpdef":
        return node.children[2]
    return node.annotation if node.type == "funcdef" else None


def _is_switch(condition: parso.tree.NodeOrLeaf) -> bool:
    text = condition.get_code().strip()
    return text == "TYPE_CHECKING" or text.startswith("__name__")
