"""What `doctor` found: one finding a subject, and whether the main job can run."""

from __future__ import annotations

from html import escape
from typing import Any, Literal, NamedTuple

State = Literal["ok", "note", "failed"]

_MARKS: dict[State, str] = {"ok": "ok", "note": "note", "failed": "FAILED"}


class Finding(NamedTuple):
    """One subject that was looked at."""

    subject: str
    state: State
    """`ok`; `note`: works, or is not needed for the main job; `failed`: it does not work."""
    detail: str
    """What was found: a version, an amount with its unit, or why it does not work."""
    remedy: str = ""
    """The one command that mends it; empty where there is nothing to mend or no such command."""
    required: bool = True
    """Whether the main job (train, compare, watch it in a notebook) needs it."""


class Diagnosis(NamedTuple):
    """Everything that `doctor` looked at on this machine."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether the main job can run here."""
        return not any(found.state == "failed" and found.required for found in self.findings)

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if not self.ok:
            failed = [f.subject for f in self.findings if f.state == "failed" and f.required]
            return f"The main job cannot run here; to mend first: {', '.join(failed)}."
        if any(found.state == "failed" for found in self.findings):
            return "The main job can run here; something beside it cannot."
        return "Everything works here."

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as JSON takes it."""
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "findings": [found._asdict() for found in self.findings],
        }

    def __str__(self) -> str:
        width = max((len(found.subject) for found in self.findings), default=0)
        lines = []
        for found in self.findings:
            lines.append(f"{_MARKS[found.state]:<7} {found.subject:<{width}}  {found.detail}")
            if found.remedy:
                lines.append(f"{'':<7} {'':<{width}}  to mend: {found.remedy}")
        return "\n".join([*lines, "", self.verdict])

    def _repr_html_(self) -> str:
        rows = []
        for found in self.findings:
            remedy = f"<br>to mend: <code>{escape(found.remedy)}</code>" if found.remedy else ""
            rows.append(
                f"<tr><td>{_MARKS[found.state]}</td>"
                f"<th scope='row' style='text-align:left'>{escape(found.subject)}</th>"
                f"<td style='text-align:left'>{escape(found.detail)}{remedy}</td></tr>"
            )
        return f"<table>{''.join(rows)}</table><p>{escape(self.verdict)}</p>"
