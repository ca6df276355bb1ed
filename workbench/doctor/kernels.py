"""The compiled extensions, and which kernels were measured fastest here."""

from __future__ import annotations

from workbench.doctor.diagnosis import Finding, State
from workbench.extension_build.build_extensions import find_compiler
from workbench.extensions.native_extension import DEVICE_KERNELS, REBUILD, native_extension
from workbench.tuning_results.product_times import kept_product_times
from workbench.tuning_results.storage import all_stored


def extension_finding(subject: str, name: str) -> Finding:
    """Whether a compiled extension can be used."""
    extension = native_extension(name)
    if not extension.problem:
        return Finding(subject, "ok", str(extension.library), required=False)
    detail, _, _ = extension.problem.partition(" To ")
    remedy = REBUILD if find_compiler() else f"apt-get install g++ && {REBUILD}"
    return Finding(
        subject,
        "note",
        f"{detail} Training works without it, but is slower",
        remedy,
        required=False,
    )


def tuning_finding() -> Finding:
    """The saved results of `workbench tune`, and which of them are not used."""
    subject = "Tuned kernels"
    kept = list(all_stored())
    said = [
        found.problem if found.entry is None else f"{found.entry.title}: {found.entry.sentence}."
        for found in kept
    ]
    times = kept_product_times()
    if times is not None:
        own = not native_extension(DEVICE_KERNELS).problem
        said.insert(0, f"{times.sentence(own_kernels=own)}.")
    nothing = "nothing measured; workbench tune MODEL measures what is fastest on this machine"
    state: State = "note" if any(found.entry is None for found in kept) else "ok"
    return Finding(subject, state, " ".join(said) or nothing, required=False)
