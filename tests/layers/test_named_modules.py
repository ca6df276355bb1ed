"""A text names no module of a lower layer."""

from __future__ import annotations

from tests.layers.imports import broken, layer_of
from tests.layers.named_modules import COMPUTED, named_below, named_below_in
from tests.layers.table import LAYERS, PACKAGE, ROOT, SAMPLES


def test_a_text_names_no_module_of_a_lower_layer() -> None:
    """A child process or a registry is another way to import."""
    offenders = [
        f"{file.relative_to(ROOT)}:{line} names a module of {row}"
        for file, line, row in named_below()
        if row not in LAYERS[layer_of(file)].names
    ]
    broken("a layer names modules below it:", offenders)


def test_names_of_modules_are_seen() -> None:
    source = '"""`workbench.cli`"""\nargs = ("-m", "workbench.worker")\nx = "workbench.files.a:B"\n'
    source += 'y = "from workbench import cli"\nz = f"workbench.{name}"\n'
    source += 'a = "workbench." + name\nb = "workbench.cli." + name\nc = f"{__package__}.kernels"\n'
    source += 'd = "workbench." "worker"\ne = "sample_models.digits"\nf = "workbench.%s" % name'
    found = [*named_below_in(PACKAGE / "extensions" / "native_extension.py", source)]
    assert sorted((line, row) for _, line, row in found) == [
        *((2, "worker"), (4, "cli"), (5, COMPUTED), (6, COMPUTED), (7, "cli")),
        *((9, "worker"), (10, SAMPLES)),
    ]
