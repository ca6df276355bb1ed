import { beforeEach, describe, expect, it } from "vitest";
import choiceField from "../../src/model/choice_field";
import { show } from "../widget_model";

const options = [
  { value: "digits-mlp", detail: "small", group: "" },
  { value: "digits-cnn", detail: "larger", group: "" },
  { value: "text-gpt", detail: "text", group: "" },
];
const traits = () => ({
  label: "Model",
  list_label: "Samples",
  placeholder: "a name",
  description: "",
  problem: "",
  options,
  value: "",
  disabled: false,
});

describe("the choice field", () => {
  let shown: ReturnType<typeof show<ReturnType<typeof traits>>>;
  let input: HTMLInputElement;
  let list: HTMLElement;
  const offered = () => [...list.querySelectorAll("li")].map((li) => li.getAttribute("aria-label"));
  const press = (key: string) => input.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const type = (text: string) => {
    input.focus();
    input.value = text;
    input.dispatchEvent(new Event("input"));
  };

  beforeEach(() => {
    shown = show(choiceField, traits());
    input = shown.el.querySelector("input") as HTMLInputElement;
    list = shown.el.querySelector("ul") as HTMLElement;
  });

  it("opens for options that come after the typing that asked for them, as of a folder", () => {
    type("/data/m");
    expect(list.hidden).toBe(true);
    shown.model.set("options", [{ value: "/data/mine.onnx", detail: "", group: "" }]);
    expect(offered()).toEqual(["/data/mine.onnx"]);
    expect(list.hidden).toBe(false);
    press("Escape");
    shown.model.set("options", [...options, { value: "/data/more.onnx", detail: "", group: "" }]);
    expect(list.hidden).toBe(true);
  });

  it("says why its value is refused until another text is typed, also where it is shown again", () => {
    const problem = (el: HTMLElement) => el.querySelector<HTMLElement>(".wb-problem");
    const again = show(choiceField, { ...traits(), value: "mine.py", problem: "It is no model." });
    expect(problem(again.el)?.hidden).toBe(false);
    expect(problem(again.el)?.textContent).toBe("It is no model.");
    const field = again.el.querySelector("input") as HTMLInputElement;
    field.value = "mine.on";
    field.dispatchEvent(new Event("input"));
    expect(problem(again.el)?.hidden).toBe(true);
  });

  it("is named by its label and closed at first", () => {
    const label = shown.el.querySelector("label") as HTMLLabelElement;
    expect(label.textContent).toBe("Model");
    expect(label.getAttribute("for")).toBe(input.id);
    expect(list.hidden).toBe(true);
    expect(list.getAttribute("aria-label")).toBe("Samples");
    expect(input.placeholder).toBe("a name");
  });

  it("tells at the field why its value is refused", () => {
    const alert = () => shown.el.querySelector<HTMLElement>('[role="alert"]') as HTMLElement;
    expect([alert().hidden, input.getAttribute("aria-invalid")]).toEqual([true, "false"]);
    shown.model.receive("problem", "No model 'my_net'.");
    expect([alert().hidden, alert().textContent]).toEqual([false, "No model 'my_net'."]);
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(input.getAttribute("aria-describedby")).toContain(alert().id);
  });

  it("tries a refused value once more when it is chosen again, and no other", () => {
    const again = () => shown.model.sent.filter((each) => (each as { kind: string }).kind === "again").length;
    shown.model.receive("value", "digits-mlp");
    press("Enter");
    expect(again()).toBe(0);
    shown.model.receive("problem", "digits-mlp cannot be loaded.");
    press("Enter");
    input.click();
    (list.querySelectorAll("li")[0] as HTMLElement).click();
    expect(again()).toBe(2);
    input.dispatchEvent(new FocusEvent("blur"));
    expect(again()).toBe(2);
  });

  it("offers everything at a click, whatever is in it, and one click chooses", () => {
    shown.model.receive("value", "text-gpt");
    input.click();
    expect(offered()).toEqual(["digits-mlp", "digits-cnn", "text-gpt"]);
    expect(input.getAttribute("aria-expanded")).toBe("true");
    (list.querySelectorAll("li")[1] as HTMLElement).click();
    expect(shown.model.saved).toEqual([{ value: "digits-cnn" }]);
    expect(input.value).toBe("digits-cnn");
    expect(list.hidden).toBe(true);
  });

  it("offers what holds the text that is typed", () => {
    type("digits");
    expect(offered()).toEqual(["digits-mlp", "digits-cnn"]);
    type("nothing of the kind");
    expect(list.hidden).toBe(true);
  });

  it("takes what was typed when it is left, and says so once", () => {
    type("shop.nets:make");
    input.dispatchEvent(new Event("blur"));
    input.dispatchEvent(new Event("blur"));
    expect(shown.model.saved).toEqual([{ value: "shop.nets:make" }]);
  });

  it.each(["Enter", "Tab"])("takes the only option that holds what is typed at %s", (key) => {
    type("GPT");
    press(key);
    expect(shown.model.get("value")).toBe("text-gpt");
    expect(input.value).toBe("text-gpt");
  });

  describe.each(["Enter", "Tab"])("at %s takes the only option that holds what is typed", (key) => {
    const taken = (text: string, ...values: string[]) => {
      shown.model.receive("options", values.map((value) => ({ value, detail: "", group: "" })));
      type(text);
      press(key);
      return shown.model.get("value");
    };

    it("where that is its beginning, or at least three letters from where a word begins", () => {
      expect(taken("py", "python-topics-masked-128")).toBe("python-topics-masked-128");
      expect(taken("AUTOENC", "digits-autoencoder")).toBe("digits-autoencoder");
      expect(taken("nets/mi", "/data/nets/mine.onnx")).toBe("/data/nets/mine.onnx");
      expect(taken("-1", "python-topics-masked-128")).toBe("-1");
      expect(taken("as", "python-topics-masked-128")).toBe("as");
      expect(taken("asked", "python-topics-masked-128")).toBe("asked");
      expect(taken("pics", "topics-pics")).toBe("topics-pics");
    });

    it("and no file where it may be the name of a variable", () => {
      expect(taken("good", "good.csv")).toBe("good");
      expect(taken("mine", "nets/mine")).toBe("mine");
      expect(taken("good.c", "good.csv")).toBe("good.csv");
    });
  });

  it("leaves what is typed where several options hold it, or none", () => {
    type("digits");
    press("Enter");
    expect(shown.model.get("value")).toBe("digits");
    type("shop.nets:make");
    press("Tab");
    expect(shown.model.get("value")).toBe("shop.nets:make");
  });

  describe("at Tab with several options that hold what is typed", () => {
    const tab = (shiftKey = false) => {
      const event = new KeyboardEvent("keydown", { key: "Tab", shiftKey, bubbles: true, cancelable: true });
      input.dispatchEvent(event);
      if (!event.defaultPrevented) input.dispatchEvent(new FocusEvent("blur"));
      return event.defaultPrevented;
    };
    beforeEach(() => shown.model.receive("value", "text-gpt"));

    it("completes what they begin with, and stays", () => {
      type("DIG");
      expect([tab(), input.value, list.hidden]).toEqual([true, "digits-", false]);
      expect(shown.model.sent.at(-1)).toEqual({ kind: "look", text: "digits-" });
      type("digits-c");
      expect([tab(), shown.model.saved]).toEqual([false, [{ value: "digits-cnn" }]]);
    });

    it("keeps the value where nothing can be completed, or the focus goes back", () => {
      type("digits-");
      expect([tab(), input.value, list.hidden]).toEqual([false, "text-gpt", true]);
      type("dig");
      expect([tab(true), input.value]).toEqual([false, "text-gpt"]);
      type("t");
      expect([tab(), input.value]).toEqual([true, "text-gpt"]);
      expect(shown.model.saved).toEqual([]);
    });

    it("takes what is typed once the list is closed", () => {
      type("digits");
      press("Escape");
      expect([tab(), shown.model.saved]).toEqual([false, [{ value: "digits" }]]);
    });

    it("opens the only one that is a folder", () => {
      shown.model.receive("options", [{ value: "files/", detail: "", group: "Files" }]);
      type("fil");
      expect([tab(), input.value, shown.model.saved]).toEqual([true, "files/", []]);
    });
  });

  it.each(["Enter", "Tab"])("can be emptied, and %s does not bring the old value back", (key) => {
    shown.model.receive("value", "text-gpt");
    type("");
    press(key);
    input.dispatchEvent(new Event("blur"));
    expect(shown.model.get("value")).toBe("");
  });

  it("does not bring a refused value back in place of what is typed", () => {
    shown.model.receive("value", "/etc/passwd");
    shown.model.receive("problem", "/etc/passwd is not an ONNX file.");
    type("digits-");
    press("Tab");
    expect(input.value).toBe("digits-");
    expect(shown.model.get("value")).toBe("digits-");
  });

  it("takes what is typed rather than the old value, which also holds it", () => {
    shown.model.receive("value", "digits-mlp");
    type("digits");
    press("Enter");
    expect(shown.model.get("value")).toBe("digits");
  });

  it("keeps the option that is marked when the kernel answers with others", () => {
    input.click();
    press("ArrowDown");
    press("ArrowDown");
    shown.model.receive("options", [{ value: "net", detail: "", group: "" }, ...options]);
    press("Enter");
    expect(shown.model.get("value")).toBe("digits-cnn");
  });

  it("opens a folder instead of choosing it, and asks for what is in it", () => {
    shown.model.receive("options", [{ value: "nets/", detail: "", group: "Files" }]);
    type("ne");
    press("Enter");
    expect(shown.model.saved).toEqual([]);
    expect(input.value).toBe("nets/");
    expect(shown.model.sent.at(-1)).toEqual({ kind: "look", text: "nets/" });
  });

  it("says what an option is to those who cannot see it", () => {
    input.click();
    expect(list.querySelector("li")?.getAttribute("aria-description")).toBe("small");
  });

  it("is worked by the arrow keys and Enter", () => {
    press("ArrowDown");
    expect(list.hidden).toBe(false);
    press("ArrowDown");
    press("ArrowDown");
    const active = list.querySelector('[aria-selected="true"]');
    expect(active?.getAttribute("aria-label")).toBe("digits-cnn");
    expect(input.getAttribute("aria-activedescendant")).toBe(active?.id);
    press("Enter");
    expect(shown.model.get("value")).toBe("digits-cnn");
  });

  it("goes round from the first option to the last", () => {
    press("ArrowUp");
    press("ArrowUp");
    press("Enter");
    expect(shown.model.get("value")).toBe("text-gpt");
  });

  it("closes at Escape and chooses nothing", () => {
    press("ArrowDown");
    press("ArrowDown");
    press("Escape");
    expect(list.hidden).toBe(true);
    expect(shown.model.saved).toEqual([]);
  });

  it("shows what the kernel sets", () => {
    shown.model.receive("value", "digits-cnn");
    shown.model.receive("disabled", true);
    expect(input.value).toBe("digits-cnn");
    expect(input.disabled).toBe(true);
  });

  it("shows names as text, never as HTML", () => {
    shown.model.receive("options", [{ value: "<b>x</b>", detail: "<i>y</i>", group: "" }]);
    input.click();
    expect(list.querySelector("b, i")).toBeNull();
    expect(offered()).toEqual(["<b>x</b>"]);
  });
});
