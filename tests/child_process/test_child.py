"""A child's output goes to its log and its messages to the parent, whatever it prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.child_process.child import run_child
from workbench.errors import ArtifactsError

PACKAGE = """
import os, subprocess, sys
from pathlib import Path
from workbench.child_process.child import serve

def work(report):
    report("one")
    print("from the model", end="", flush=True)
    os.write(1, b"from native code")
    subprocess.run([sys.executable, "-c", "print('{}', end='')"], check=True)
    report("two")
    print('{"phase": "no message"}')
    if Path(sys.argv[1]).read_text() == "fail":
        raise RuntimeError("it failed")

serve(work)
"""


@pytest.mark.parametrize("fail", [False, True])
def test_printed_text_is_not_read_as_a_message(
    fail: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "printing"
    package.mkdir()
    (package / "__main__.py").write_text(PACKAGE)
    request = tmp_path / "request.json"
    request.write_text("fail" if fail else "")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    phases: list[str] = []

    def run() -> None:
        run_child(
            "printing",
            request,
            phases.append,
            {**os.environ, "PYTHONPATH": path},
            work="prints",
            failure=ArtifactsError,
        )

    if fail:
        with pytest.raises(ArtifactsError) as caught:
            run()
        assert "from the modelfrom native code{}" in str(caught.value)
        assert "RuntimeError: it failed" in str(caught.value)
    else:
        run()
    assert phases == ["one", "two"]
    assert capfd.readouterr() == ("", "")
