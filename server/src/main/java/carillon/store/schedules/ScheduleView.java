package carillon.store.schedules;

import org.jspecify.annotations.Nullable;

/**
 * A schedule with what became of its latest fires.
 *
 * @param lastRun the latest one that became a task
 * @param previousOutcome the state that the latest one that has ended is in, or SKIPPED
 */
public record ScheduleView(
    StoredSchedule stored, @Nullable RecordedFire lastRun, @Nullable String previousOutcome) {}
