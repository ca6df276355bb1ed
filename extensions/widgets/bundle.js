// Bundles each widget's TypeScript into one ES module and one style sheet, which anywidget hands to
// the browser as they are, and puts the licences of what they contain beside them.

import { readFile, rm, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const WIDGETS = [
  "charts",
  "choice_field",
  "comparison_table",
  "engine_choice",
  "layer_table",
  "model_card",
  "ortmodule_form",
  "run_statistics",
  "static_figure",
  "status",
];

const { values } = parseArgs({ options: { outdir: { type: "string" } } });
if (!values.outdir) throw new Error("bundle.js: give --outdir FOLDER");

await rm(values.outdir, { recursive: true, force: true });
await build({
  entryPoints: WIDGETS.map((name) => `src/${name}.ts`),
  outdir: values.outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
});
await writeFile(`${values.outdir}/THIRD_PARTY_LICENSES.txt`, await licences());

/** Name, version and licence of every package that ends up in a bundle. */
async function licences() {
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
  const texts = Object.entries(dependencies).map(async ([name, version]) => {
    const licence = await readFile(`node_modules/${name}/LICENSE`, "utf8");
    return `${name} ${version}\n\n${licence.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(78)}\n\n`);
}
