// What the dashboard uses and TypeScript does not know by itself.

/** The library as one script: it sets the global `Chart`. */
declare module '*/chart.umd.min.js' {}

declare var Chart: typeof import('chart.js').Chart;

/** Named here: an import in a comment of a module would look like one that a browser follows. */
type ChartOptions = import('chart.js').ChartOptions;

interface JSON {
  /** Not in every browser yet. */
  rawJSON?(text: string): unknown;
}
