package carillon.store.schedules;

import org.jspecify.annotations.Nullable;

/**
 * A schedule with the outcome of its latest fires.
 *
 * @param lastRun the latest fire that became a task
 * @param previousOutcome the state of the latest fire whose task has ended, or SKIPPED
 */
public record ScheduleView(
    StoredSchedule stored, @Nullable RecordedFire lastRun, @Nullable String previousOutcome) {}
