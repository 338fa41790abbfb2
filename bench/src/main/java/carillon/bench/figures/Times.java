package carillon.bench.figures;

/** What matters of many times, in milliseconds. */
public record Times(double p50, double p99, double max) {}
