"""Train on a text of your own, and see how it is continued before and after."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.display.encodable import encodable
from workbench.errors import DataError, value_text
from workbench.personalisation import Examples, Outcome, Personalisation
from workbench.runs import Run
from workbench.widgets.bundle import bundle
from workbench.widgets.pads.command import PadCommand
from workbench.widgets.pads.pad import Action, Pad

MOST_CHARACTERS = 100_000
HINT = "Paste a text of a few hundred characters or more, then press Fine-tune on text."


class TextPad(Pad):
    """A pad to paste a text on, and to train a model that writes on in its manner.

    pad = wb.TextPad(open("diary.txt").read(), prompt="Dear ")
    pad.train()
    pad.wait()
    pad.result.before.continuation, pad.result.after.continuation
    pad.save("diary.npz")
    pad.export("diary.onnx")
    """

    _esm = bundle("text_pad.js")
    _css = bundle("text_pad.css")

    kind = "text"

    text = traitlets.Unicode().tag(sync=True)
    """The text that is trained on, of at most `most_characters`."""
    most_characters = traitlets.Int(MOST_CHARACTERS).tag(sync=True)
    prompt = traitlets.Unicode().tag(sync=True)
    """Prompt that is continued; empty: the beginning of the held-out text."""
    continuations = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "title": traitlets.Unicode(),
                "prompt": traitlets.Unicode(),
                "text": traitlets.Unicode(),
                "detail": traitlets.Unicode(),
            }
        )
    ).tag(sync=True)
    """How the prompt continues, before and after, and how well held-out text is predicted."""

    def __init__(
        self,
        text: str = "",
        prompt: str = "",
        trained: Run | str | None = None,
        **settings: Any,
    ) -> None:
        """Make the pad.

        Args:
            text: to begin with.
            prompt: what is to be continued; empty: the beginning of what is held out.
            trained: run of a pad, or its id, whose model is shown and can be tried; `wait` waits
                for that.
            **settings: of `personalise`, such as `model`, `engine`, `held_out` or `steps`.

        Raises:
            DataError: text or prompt is no str, or the text is too long.
        """
        for name, value in (("text", text), ("prompt", prompt)):
            if not isinstance(value, str):
                raise DataError(f"{name}={value_text(value)}: give a str.")
        check_length(text)
        super().__init__(
            settings, trained, text=text, prompt=prompt, message=HINT, export_path="my-text.onnx"
        )

    @traitlets.validate("text", "prompt")
    def _check_characters(self, proposal: Any) -> str:
        """A cut in what is pasted may leave half of a character, which nothing could send back."""
        return encodable(proposal["value"])

    def continue_text(self, prompt: str) -> str:
        """How the trained model continues `prompt`: the most probable characters, one by one.

        Raises:
            RunError: nothing was trained yet.
        """
        return self._trained().continue_text(prompt)

    def summary(self) -> str:
        """Both continuations with their prompt; empty while there are none."""
        return "\n\n".join(
            f"{each['title']} ({each['detail']}):\n{each['prompt']}{each['text']}"
            for each in self.continuations
        )

    def _training_request(self) -> tuple[Examples, dict[str, Any]]:
        check_length(self.text)
        return self._collected(), {**self.settings(), "prompt": self.prompt or None}

    def _collected(self) -> Examples:
        examples = Examples(self.kind)
        examples.add(self.text)
        return examples

    def _extend(self, loaded: Examples) -> None:
        added = Examples(self.kind)
        added.extend(loaded)
        with self._lock:
            texts = [self.text, *(str(each.value) for each in added.items)]
            text = "\n".join(filter(None, texts))
            check_length(text)
            self.text = text

    def _show_outcomes(self, result: Personalisation) -> None:
        before, after = result.before, result.after
        assert before is not None
        assert after is not None
        self.continuations = [
            _shown(title, each.prompt or "", each.continuation or "", each)
            for title, each in (("Before", before), ("After", after))
        ]
        self.result_note = "Both continue the prompt; the last part of the text was not trained on."

    def _take(self, command: PadCommand) -> None:
        """Take what was typed from the command that brings it: the traits may still be on their
        way."""
        self.text = command.text("text", MOST_CHARACTERS)
        self.prompt = command.text("prompt")

    def _train_command(self, command: PadCommand) -> None:
        self._take(command)
        self.train()

    def _download_command(self, command: PadCommand) -> None:
        self._take(command)
        self._download()

    def _upload(self, command: PadCommand) -> None:
        self._take(command)
        super()._upload(command)

    def _continue_command(self, command: PadCommand) -> None:
        self.prompt = command.text("prompt")
        prompt = self.prompt
        if not prompt:
            raise DataError("Type a prompt of a few characters to be continued.")
        result = self._trained()
        both = [("Before", result.before, False), ("After", result.after, True)]
        self.continuations = [
            _shown(title, prompt, result.continue_text(prompt, trained=trained), outcome)
            for title, outcome, trained in both
            if outcome is not None
        ]

    def _actions(self) -> dict[str, tuple[str, Action]]:
        return {
            **super()._actions(),
            "train": ("", self._train_command),
            "download": ("examples", self._download_command),
            "continue": ("try", self._continue_command),
        }


def check_length(text: str) -> None:
    """Raise a DataError if `text` is longer than a pad takes."""
    if len(text) > MOST_CHARACTERS:
        raise DataError(
            f"The text has {len(text):,} characters; a pad takes {MOST_CHARACTERS:,}. Cut it, or "
            "train without the pad: personalise(examples)."
        )


def _shown(title: str, prompt: str, text: str, outcome: Outcome) -> dict[str, str]:
    right = f"{100 * (outcome.accuracy or 0):.0f} % of held-out characters right"
    perplexity = f"perplexity {outcome.perplexity:.3g}" if outcome.perplexity is not None else ""
    return {
        "title": title,
        "prompt": prompt,
        "text": text,
        "detail": f"{right}, {perplexity}".rstrip(", "),
    }
