package carillon.bench.figures;

/** A summary of many times, in milliseconds. */
public record Times(double p50, double p99, double max) {}
