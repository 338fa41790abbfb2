/**
 * What a run leaves behind, and all that a verdict may rest on: one directory with {@code
 * history.jsonl} (what clients, receiver, workers and faults did, in one order), {@code
 * database.jsonl} (the tables at the end, and what the {@link carillon.chaos.history.Witness} saw
 * inside the database) and {@code logs/} (what the nodes printed).
 *
 * <p>A {@link carillon.chaos.history.Recorder} writes events while things happen; {@link
 * carillon.chaos.history.Table} says what is read from the database at the end; {@link
 * carillon.chaos.history.History} reads all of it back.
 */
@NullMarked
package carillon.chaos.history;

import org.jspecify.annotations.NullMarked;
