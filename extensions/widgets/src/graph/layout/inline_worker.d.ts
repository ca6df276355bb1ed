// The bundled source of a worker, which bundle.js puts in place of the import.

declare module "inline-worker:*" {
  const source: string;
  export default source;
}
