// Declarations of what the dashboard uses and TypeScript does not have.

/** The library as one script: it sets the global `Chart`. */
declare module '*/chart.umd.min.js' {}

declare var Chart: typeof import('chart.js').Chart;

/** Here, because UiTest follows imports in the comments of modules too. */
type ChartOptions = import('chart.js').ChartOptions;

interface JSON {
  /** Not in every browser yet. */
  rawJSON?(text: string): unknown;
}
