package carillon.model.task;

import carillon.model.Partition;
import java.time.Instant;

/**
 * A lane with due tasks in one partition.
 *
 * @param from when the first of its tasks became due
 */
public record DueLane(Partition partition, Lane lane, Instant from) {}
