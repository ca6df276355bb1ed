// The bundled source of a worker, which bundle.js puts in the place of the import.

declare module "inline-worker:*" {
  const source: string;
  export default source;
}
