// Bundles each widget's TypeScript into one ES module and one style sheet, which anywidget hands to
// the browser as they are, and puts the licences of what they contain beside them.

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({ options: { outdir: { type: "string" } } });
if (!values.outdir) throw new Error("bundle.js: give --outdir FOLDER");

await rm(values.outdir, { recursive: true, force: true });
await build({
  entryPoints: await views(),
  outdir: values.outdir,
  entryNames: "[name]",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  plugins: [{ name: "inline-worker", setup: inlineWorker }],
});
await writeFile(`${values.outdir}/THIRD_PARTY_LICENSES.txt`, await licences());

/** The files that hold the view of a widget: those that declare its traits. */
async function views() {
  const names = await readdir("src", { recursive: true });
  const paths = names.filter((name) => name.endsWith(".ts")).map((name) => `src/${name}`);
  const texts = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  return paths.filter((_, index) => /\binterface Traits\b/.test(texts[index])).sort();
}

/** An import of "inline-worker:./name" is the bundled source of that worker, as a text. */
function inlineWorker(build) {
  build.onResolve({ filter: /^inline-worker:/ }, ({ path, resolveDir }) => ({
    path: resolve(resolveDir, `${path.slice("inline-worker:".length)}.ts`),
    namespace: "inline-worker",
  }));
  build.onLoad({ filter: /.*/, namespace: "inline-worker" }, async ({ path }) => {
    const { esbuild } = build;
    const options = { bundle: true, format: "iife", target: "es2022", minify: true, write: false };
    const made = await esbuild.build({ ...options, entryPoints: [path], legalComments: "none" });
    return { contents: made.outputFiles[0].text, loader: "text" };
  });
}

/** Name, version and licence of every package that ends up in a bundle. */
async function licences() {
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
  const names = new Set(Object.keys(dependencies));
  // A set that grows is gone through to its end.
  for (const name of names) {
    for (const inner of Object.keys((await packageOf(name)).dependencies ?? {})) names.add(inner);
  }
  const texts = [...names].map(async (name) => {
    const { version } = await packageOf(name);
    const licence = await readFile(`node_modules/${name}/LICENSE`, "utf8");
    return `${name} ${version}\n\n${licence.trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(78)}\n\n`);
}

async function packageOf(name) {
  return JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
}
