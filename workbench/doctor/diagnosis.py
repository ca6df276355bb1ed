"""The result of `doctor`."""

from __future__ import annotations

from html import escape
from typing import Any, Literal, NamedTuple

State = Literal["ok", "note", "failed"]

_MARKS: dict[State, str] = {"ok": "ok", "note": "note", "failed": "FAILED"}


class Finding(NamedTuple):
    """The result of one check."""

    subject: str
    state: State
    """`ok`; `note`: works with a limitation, or is optional; `failed`: does not work."""
    detail: str
    """A version, an amount with its unit, or why it does not work."""
    remedy: str = ""
    """A command that fixes it; empty if none is needed or known."""
    required: bool = True
    """Whether training, comparisons and the widget need it."""

    @property
    def mark(self) -> str:
        """The state in a word."""
        return _MARKS[self.state]


class Diagnosis(NamedTuple):
    """The results of all checks."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything that is required works."""
        return not any(found.state == "failed" and found.required for found in self.findings)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if not self.ok:
            failed = [f.subject for f in self.findings if f.state == "failed" and f.required]
            return f"The workbench does not work here; fix first: {', '.join(failed)}."
        if any(found.state == "failed" for found in self.findings):
            return "The workbench works here, except for optional parts."
        return "Everything works."

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis in JSON types."""
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "findings": [found._asdict() for found in self.findings],
        }

    def __str__(self) -> str:
        width = max((len(found.subject) for found in self.findings), default=0)
        lines = []
        for found in self.findings:
            lines.append(f"{found.mark:<7} {found.subject:<{width}}  {found.detail}")
            if found.remedy:
                lines.append(f"{'':<7} {'':<{width}}  fix: {found.remedy}")
        return "\n".join([*lines, "", self.verdict])

    def _repr_html_(self) -> str:
        rows = []
        for found in self.findings:
            remedy = f"<br>fix: <code>{escape(found.remedy)}</code>" if found.remedy else ""
            rows.append(
                f"<tr><td>{found.mark}</td>"
                f"<th scope='row' style='text-align:left'>{escape(found.subject)}</th>"
                f"<td style='text-align:left'>{escape(found.detail)}{remedy}</td></tr>"
            )
        return f"<table>{''.join(rows)}</table><p>{escape(self.verdict)}</p>"
