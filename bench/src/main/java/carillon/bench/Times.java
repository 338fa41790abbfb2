package carillon.bench;

/** What matters of many times, in milliseconds. */
record Times(double p50, double p99, double max) {}
