/**
 * What a run leaves behind, and all that a verdict may rest on: one directory with {@code
 * history.jsonl} (what clients, receiver, workers and faults did, in one order), {@code
 * database.jsonl} (the tables at the end, and what the {@link carillon.chaos.history.Witness} saw
 * inside the database) and {@code logs/} (what the nodes printed).
 *
 * <p>A {@link carillon.chaos.history.Recorder} writes events while things happen; {@link
 * carillon.chaos.history.Table} says what is read from the database at the end; {@link
 * carillon.chaos.history.History} reads all of it back.
 *
 * <p>The events and their fields. Of an operation, the fields of the invocation are not repeated at
 * its end. Times are microseconds since 1970, {@code node} is a node's label.
 *
 * <pre>
 * submit        tenant, key (idempotency), type, target (http|pull|discard), dueAt, n, payloadHash, maxAttempts, node
 *               ok: id, status; fail: status, code; info: error
 * cancel        tenant, id, node          ok: status (200|202), state, version; fail: status
 * redrive       tenant, id, node          ok: status, version; fail: status
 * get           tenant, id, node          ok: state, version, body (only if it has another tenant's marker)
 * foreign-get   tenant (of the caller), id     ok: status (404 is right)
 * work-claim    tenant, worker, max, type ok: tasks [{id, attempt, fence, token, leaseUntil, n, payloadHash}]
 * work-renew    tenant, worker, id, fence ok: result (renewed|stale|cancelled)
 * work-report   tenant, worker, id, fence, outcome (completed|failed|dead|released)   ok: result (accepted|stale)
 * schedule-put  tenant, name, every (seconds) or cron, timezone, startAt, type, target, overlap, catchUp,
 *               maxAttempts, payloadHash  ok: status
 * schedule-pause, schedule-delete   tenant, name   ok: status
 *
 * events: recv-start   task, type, tenant (the marker's), attempt, fence, n, payloadHash, signatureValid, conn,
 *                      expected (the tenant whose address was called)
 *         recv-end     task, attempt, fence, conn, status (a number, or rst, none, broken), answered (before anybody could
 *                      know of it; not with none and broken)
 *         dial         address, allowed, task
 *         resources    node, phase (warm, check), threads, fds, connections
 *         fault-start  fault, id, node (none: all of them), and what it needs     fault-end  fault, id
 *         phase        name (boot, warm, safety, liveness, heal, drain, check)
 *         fault-failed fault, id, error       harness   node, error      with these a run proves nothing
 *         not-drained  tasks (some of those that have not ended in time)
 *         deadlock     logged (when), statements (the names of those that waited for each other)
 *         database-log deadlocks (how many)   PostgreSQL's log was searched
 *         poison-kill  task, node             poison-call  task, fence: a call that a node may die of
 *         outlasted    task                   a report was accepted a second after its lease had ended
 *         node-start, node-ready, node-exit   node, life, status, expected (false: it ended unasked)
 *         node-stuck   node                   it did not stop when asked to
 *         metric       node, name, value      of the end
 *         options      seed, leaseMs, timeoutMs, markers [{tenant, marker}],
 *                      secrets [{secret}], retryMs (the least between attempts), and whatever else was chosen
 * </pre>
 */
@NullMarked
package carillon.chaos.history;

import org.jspecify.annotations.NullMarked;
