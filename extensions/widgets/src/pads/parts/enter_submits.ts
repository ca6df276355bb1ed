// Enter in a field sends its form. In an output of JupyterLab the browser does not do that by itself.

export function enterSubmits(field: HTMLInputElement): void {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    field.form?.requestSubmit();
  });
}
