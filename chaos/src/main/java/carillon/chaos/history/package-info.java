/**
 * The record of a run, and the only input of the rules: one directory with {@code history.jsonl}
 * (actions of clients, receiver, workers and faults, in one order), {@code database.jsonl} (the
 * tables at the end, and what the {@link carillon.chaos.history.Witness} recorded inside the
 * database) and {@code logs/} (the output of the nodes).
 *
 * <p>A {@link carillon.chaos.history.Recorder} writes events during the run. {@link
 * carillon.chaos.history.Table} lists what is read from the database at the end. {@link
 * carillon.chaos.history.History} reads all of it back.
 *
 * <p>The events and their fields follow. The end of an operation does not repeat the fields of its
 * start. Times are microseconds since 1970; {@code node} is a node's label.
 *
 * <pre>
 * submit        tenant, key (idempotency; none-n if it was sent without one), type, target (http|pull|discard), dueAt, n, payloadHash, maxAttempts, node
 *               ok: id, status; fail: status, code; info: error
 * cancel        tenant, id, node          ok: status (200|202), state, version; fail: status
 * redrive       tenant, id, node          ok: status, version; fail: status
 * edit          tenant, id, node, payloadHash    ok: status, state, version; fail: status
 * get           tenant, id, node          ok: state, version, body (only if it contains another tenant's marker)
 * foreign-get   tenant (of the caller), id     ok: status (404 is correct)
 * work-claim    tenant, worker, max, type ok: tasks [{id, attempt, fence, token, leaseUntil, n, payloadHash}]
 * work-renew    tenant, worker, id, fence ok: result (renewed|stale|cancelled)
 * work-report   tenant, worker, id, fence, outcome (completed|failed|dead|released)   ok: result (accepted|stale)
 * schedule-put  tenant, name, every (seconds) or cron, timezone, startAt, type, target, overlap, catchUp,
 *               maxAttempts, payloadHash  ok: status
 * schedule-pause, schedule-delete   tenant, name   ok: status
 *
 * events: recv-start   task, type, tenant (owner of the marker), attempt, fence, n, payloadHash, signatureValid,
 *                      conn, expected (the tenant whose address was called)
 *         recv-end     task, attempt, fence, conn, status (a number, or rst, none, broken), answered (a time just
 *                      before the response was sent; missing for none and broken)
 *         dial         address, allowed, task
 *         egress       address, status        the response to a task for a forbidden address
 *         resources    node, phase (warm, check), threads, fds, connections
 *         fault-start  fault, id, node (missing: all nodes), inFlight, acknowledged
 *         fault-end    fault, id, cuts or ended (how many commits were cut or sessions ended)
 *         phase        name (boot, warm, safety, liveness, heal, drain, check)
 *         fault-skipped fault, id             there was no node to hit
 *         fault-failed fault, id, error       harness   node or thread, error      both make a run inconclusive
 *         not-drained  tasks (some of the tasks that did not end in time)
 *         deadlock     logged (time), statements (the names of the statements that waited for each other)
 *         database-log deadlocks (count)      PostgreSQL's log was searched
 *         poison-kill  task, node             poison-call  task, fence: a request that may kill its node
 *         outlasted    task                   a report was accepted a second after its lease ended
 *         fenced       task                   a late report was rejected while its claim still held another task
 *         misplaced    tenant, task, state, queue_rows, claims   a row of the view misplaced_task under load
 *         node-start, node-ready, node-exit   node, life, status, expected (false: it exited by itself)
 *         node-stuck   node                   it did not stop in time
 *         metric       node, name, value      at the end
 *         options      seed, leaseMs, timeoutMs, markers [{tenant, marker}],
 *                      secrets [{secret}], retryMs (minimum delay between attempts), and other settings
 * </pre>
 */
@NullMarked
package carillon.chaos.history;

import org.jspecify.annotations.NullMarked;
