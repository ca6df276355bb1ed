import { describe, expect, it } from "vitest";
import offerList from "../../src/app/offer_list";
import { show } from "../widget_model";

const offer = (id: string) => ({ id, action: "resume", text: `${id} was interrupted.` });

describe("the offered runs", () => {
  it("say what becomes of each", () => {
    const offers = ["follow", "resume", "open"].map((action) => ({ ...offer(action), action }));
    const { el } = show(offerList, { offers });
    const labels = [...el.querySelectorAll(".wb-button")].map((button) => button.textContent);
    expect(labels).toEqual(["Show it", "Resume", "Show it"]);
  });

  it("have no button while they wait for a cell", () => {
    const { el } = show(offerList, { offers: [{ ...offer("a"), action: "wait" }] });
    expect([...el.querySelectorAll("button")].map((button) => button.textContent)).toEqual(["Not now"]);
  });

  it("are gone with the kernel, as a new page offers what there is then", () => {
    const { el, model } = show(offerList, { offers: [offer("a")] });
    model.lose();
    expect(el.querySelectorAll("button")).toHaveLength(0);
  });

  it("hand the focus on when one is answered", () => {
    const { el, model } = show(offerList, { offers: [offer("a"), offer("b")] });
    const controls = document.createElement("div");
    controls.className = "wb-controls";
    const pause = document.createElement("button");
    pause.className = "wb-pause";
    controls.append(pause);
    const page = document.createElement("div");
    page.className = "wb-page";
    document.body.replaceChildren(page);
    page.append(controls, el);
    const button = (name: string) => el.querySelector(`[aria-label="${name}"]`) as HTMLButtonElement;
    button("Not now: a was interrupted.").focus();
    button("Not now: a was interrupted.").click();
    expect(model.sent).toEqual([{ kind: "dismiss", id: "a" }]);
    model.receive("offers", [offer("b")]);
    expect(document.activeElement).toBe(button("Resume: b was interrupted."));
    model.receive("offers", []);
    expect(document.activeElement).toBe(pause);
  });
});
