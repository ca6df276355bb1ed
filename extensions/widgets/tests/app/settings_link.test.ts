import { describe, expect, it, vi } from "vitest";
import { settingsLink } from "../../src/app/settings_link";

describe("the button among the results", () => {
  it("leads to the first setting", () => {
    document.body.innerHTML = '<div class="wb-columns"><div class="wb-side"><input id="first"><input></div><div class="wb-main"></div></div>';
    const [side, main] = [".wb-side", ".wb-main"].map((name) => document.querySelector<HTMLElement>(name)!);
    side!.scrollIntoView = vi.fn();
    main!.append(settingsLink(main!));
    main!.querySelector("button")!.click();
    expect(side!.scrollIntoView).toHaveBeenCalledOnce();
    expect(document.activeElement?.id).toBe("first");
  });
});
