"""The settings as a user types them, shared by every form that shows some of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.controller.forms.federation_fields import ELSEWHERE
from workbench.controller.forms.reference_problems import reference_problems
from workbench.controller.forms.setting_fields import ARTIFACT_FIELDS
from workbench.controller.forms.setting_texts import (
    FIELDS,
    ReadSettings,
    applies,
    read_texts,
    write_texts,
)
from workbench.controller.forms.trained_parameters import TrainedParameters
from workbench.controller.setup import COMPARISON_STEPS, TRAINING_ONLY, Setup, loss_of
from workbench.errors import with_full_stop
from workbench.models import Model

OF_ARTIFACTS = (*ARTIFACT_FIELDS, "requires_grad")
OF_COMPARE = ("comparison_steps", "quiet_s")
"""Settings that only a comparison takes."""
OF_ONE_MODEL = ("requires_grad", "lora.targets", "loss")
"""Settings that name parameters of a model, or fit its outputs."""


class TypedSettings:
    """Texts by name of the field, written into a `Setup` as they change.

    Typed texts are kept when another model is chosen; an empty field means that model's default.
    Those that name parameters of the model before, and none of the new one, are not.

    Observers are called while a change has the lock, and have locks of their own. So nothing that
    is read here takes it: who reads may hold such a lock, and both would wait for ever.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._lock = threading.RLock()
        self._observers: list[Callable[[], None]] = []
        self.texts: dict[str, str] = {}
        self.defaults: dict[str, Any] = {}
        """Defaults of the chosen model."""
        self.read: ReadSettings = read_texts({})
        self.wrong_options: Sequence[str] = ()
        """Labels of the options of ORTModule that are wrong, see `refuse_options`."""
        self.names_steps = True
        """Whether a wrong setting is told with the step in which it stands."""
        self._model: Model | None = None
        self._read_for: tuple[Model | None, ReadSettings] = (None, self.read)
        """What was read, with the model that it was checked against: both or none."""
        self._train_rows: int | None = None
        self._unfit: tuple[Any, str] = (None, "")
        """The loss that does not fit the dataset, and why."""
        self._may_suggest_loss = True
        """Whether the field of the loss was not cleared since model and dataset were chosen."""
        self._suggested_loss = ""
        """That in the field of the loss, if no user has chosen it."""
        self._fitting: dict[str, str] = {}
        """Texts that were chosen for the last known model."""
        self._fitted = ""
        """The name of the model that these fitted."""

    def observe(self, *callbacks: Callable[[], None]) -> None:
        """Call `callbacks` after every change, on the thread of the change."""
        self._observers.extend(callbacks)

    def snapshot(self) -> tuple[object, ...]:
        """What is typed and which engines are chosen; equal where nothing has changed since."""
        return dict(self.texts), list(self._setup.engines), self.wrong_options

    def wrong(self, step: str = "") -> list[str]:
        """Labels of the invalid fields that have a meaning now, in the order of the forms.

        Args:
            step: "train" or "compare": only those that prevent it from starting; "artifacts":
                those that they depend on; empty: all.
        """
        options = () if step == "artifacts" else self.wrong_options
        return [*(FIELDS[name].label for name in self._problems(step)), *options]

    def refusal(self, step: str = "") -> str:
        """Why settings are refused, in sentences: of one, its value and the reason.

        Args:
            step: as for `wrong`.
        """
        problems, labels = self._problems(step), self.wrong(step)
        if not labels:
            return ""
        of_place: dict[str, list[str]] = {}
        for name in problems:
            place = "Compare" if name in OF_COMPARE else "Train"
            of_place.setdefault(place, []).append(FIELDS[name].label)
        if self.wrong_options:
            of_place.setdefault("Train", []).extend(self.wrong_options)
        where = {place: f" (in {place})" if self.names_steps else "" for place in of_place}
        if len(labels) > 1 or not problems:
            says = "The field says" if len(labels) == 1 else "Each field says"
            named = "; ".join(f"{', '.join(of_place[place])}{where[place]}" for place in of_place)
            return f"{wrong_settings(len(labels))}: {named}. {says} why."
        [(name, why)] = problems.items()
        text = self.texts.get(name, "")
        value = f" {text}" if text and repr(text) not in why else ""
        [place] = where.values()
        return f"{wrong_settings(1)}: {labels[0]}{value}{place}. {with_full_stop(why)}"

    def _problems(self, step: str) -> dict[str, str]:
        """The problems of the fields of `wrong`, in the order of the forms."""
        problems = {n: why for n, why in self.read.problems.items() if applies(n, self.texts)}
        if step == "train":
            problems = {name: why for name, why in problems.items() if name not in OF_COMPARE}
        elif step == "compare":
            problems = {n: why for n, why in problems.items() if not _of_training(n, why)}
        elif step == "artifacts":
            problems = {name: why for name, why in problems.items() if name in OF_ARTIFACTS}
        return {name: problems[name] for name in FIELDS if name in problems}

    def type(self, name: str, text: str) -> None:
        """Set the text of one field; empty: its default."""
        with self._lock:
            self._fitting.pop(name, None)  # it is chosen for the model of now
            if name == "loss":
                self._may_suggest_loss, self._suggested_loss = bool(text.strip()), ""
            self._replace({**self.texts, name: text})

    def set(self, **settings: Any) -> None:
        """Set settings as for `train`; None means the default."""
        with self._lock:
            self._fitting.clear()
            if "loss" in settings:
                self._suggested_loss = ""
            self._replace({**self.texts, **write_texts(settings)})

    def replace(self, settings: Mapping[str, Any]) -> None:
        """Replace the typed texts by those of `settings`; those of a comparison alone stay."""
        with self._lock:
            self._fitting.clear()
            self._suggested_loss = ""
            kept = {name: text for name, text in self.texts.items() if name in OF_COMPARE}
            self._replace({**kept, **write_texts(settings)})

    def suggest_loss(self, loss: str) -> bool:
        """Choose a loss that fits in place of the default one; False: a user has chosen one, or
        the model has its own."""
        with self._lock:
            if self.texts.get("loss") or "loss" in self.defaults or not self._may_suggest_loss:
                return False
            self._suggested_loss = loss
            self._replace({**self.texts, "loss": loss})
            return True

    def renew_suggestion(self) -> None:
        """Another model or dataset is chosen: forget the loss that was suggested for the one
        before."""
        with self._lock:
            self._may_suggest_loss = True
            if self._suggested_loss:
                self._suggested_loss = ""
                self._replace({**self.texts, "loss": ""})

    def set_defaults(self, defaults: Mapping[str, Any]) -> None:
        """Use a model's defaults for empty fields."""
        with self._lock:
            self.defaults = dict(defaults)
            self._replace(self.texts)

    def know(self, model: Model | None) -> None:
        """Check patterns against the parameters of `model`, which must have been read; None: of no
        model."""
        with self._lock:
            if model is self._model:
                return
            if self._model is not None:
                named = {name: self.texts.get(name, "") for name in OF_ONE_MODEL}
                self._fitting = {
                    name: text for name, text in named.items() if name not in self.read.problems
                }
                if self._suggested_loss:  # for the model that is chosen now
                    self._fitting.pop("loss", None)
                self._fitted = self._model.name
            self._model = model
            self._replace(self.texts)
            fitting = {name: text for name, text in self.texts.items() if not self._is_stale(name)}
            if model is not None and fitting != self.texts:
                self._replace(fitting)

    @property
    def engines(self) -> list[str]:
        """Names of the chosen engines."""
        return list(self._setup.engines)

    @property
    def trained(self) -> TrainedParameters:
        """Which parameters are trained, of the model that is known and with what was read."""
        return TrainedParameters(*self._read_for)

    @property
    def ready_text(self) -> str:
        """What is trained, after the name of the model, and a loss that was chosen for it; empty:
        all parameters, with a loss that a user knows of."""
        loss = self._suggested_loss
        of_loss = f", with loss {loss} as its targets are numbers" if loss else ""
        return f"{self.trained.text}{of_loss}"

    @property
    def problems(self) -> dict[str, str]:
        """The problem to show at each field: those of `read`, and that the loss does not fit the
        dataset, which is said as a problem of the data too."""
        loss, why = self._unfit
        unfit = {"loss": why} if why and loss == self._loss else {}
        return {**unfit, **self.read.problems}

    @property
    def _loss(self) -> Any:
        return loss_of(self.defaults, self.read.settings)

    def know_data(self, train_rows: int | None, loss_problem: str = "") -> None:
        """Check settings against the dataset.

        Args:
            train_rows: number of training rows; None: of no known dataset.
            loss_problem: why the chosen loss does not fit it; empty: it does.
        """
        with self._lock:
            known = train_rows, (self._loss if loss_problem else None, loss_problem)
            if known != (self._train_rows, self._unfit):
                self._train_rows, self._unfit = known
                self._replace(self.texts)

    def _is_stale(self, name: str) -> bool:
        """Whether a setting was chosen for the model before: parameters of another model may have
        the same names, and its outputs fit the same loss, but nobody has chosen that."""
        is_other = self._model is not None and self._model.name != self._fitted
        unfit = is_other or name in self.read.problems
        return self._fitting.get(name) == self.texts[name] and unfit

    def refuse_options(self, labels: Sequence[str]) -> None:
        """Count options of ORTModule, which have a form of their own, among the wrong settings.

        Args:
            labels: of the wrong ones.
        """
        with self._lock:
            self.wrong_options = tuple(labels)
            self._replace(self.texts)

    def choose_engines(self, engines: Sequence[str]) -> None:
        """Validate the typed texts for other engines."""
        with self._lock:
            self._setup.engines = list(engines)
            self._replace(self.texts)

    def _replace(self, texts: Mapping[str, str]) -> None:
        typed = {name: text for name, text in texts.items() if text.strip()}
        # Both or none: a run is started with the settings that are shown.
        read = read_texts(typed, self.defaults, self._setup.engines)
        settings = {**self.defaults, **read.settings}
        referring = reference_problems(settings, read.further, self._model, self._train_rows)
        self.texts, self.read = typed, read._replace(problems={**referring, **read.problems})
        self._read_for = self._model, self.read
        further = self.read.further
        self._setup.settings = dict(self.read.settings)
        self._setup.base = further.get("base", "")
        self._setup.base_except = further.get("base_except", ())
        self._setup.detached = further.get("detached", False)
        self._setup.federation = further.get("federation")
        self._setup.comparison_steps = further.get("comparison_steps", COMPARISON_STEPS)
        self._setup.quiet_s = further.get("quiet_s", 0.0)
        self._setup.refusals = {step: self.refusal(step) for step in ("train", "compare")}
        for callback in self._observers:
            callback()


def _of_training(name: str, problem: str) -> bool:
    """Whether the problem of a field does not concern a comparison."""
    federated = name.partition(".")[0] == "federation" or ELSEWHERE.get(name) == problem
    return federated or name == "detached" or name in TRAINING_ONLY


def wrong_settings(count: int) -> str:
    """As "2 settings are wrong"."""
    return "1 setting is wrong" if count == 1 else f"{count} settings are wrong"
