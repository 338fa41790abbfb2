package carillon.model;

/** An attempt that is over, and what it amounts to. */
public record Attempted(ClaimedTask task, Outcome outcome) {}
