// Keys that mean something to the charts and something else to the notebook around them.

/**
 * Attribute of an element whose keys JupyterLab leaves alone: without it the arrows fold headings,
 * and 0 pressed twice restarts the kernel.
 */
export const OWN_KEYS = "data-lm-suppress-shortcuts";
