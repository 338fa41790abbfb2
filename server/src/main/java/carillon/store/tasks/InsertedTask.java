package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.CopiedRows;
import carillon.store.db.Transitions;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A task that is about to be inserted. */
interface InsertedTask extends Transitions.Created {

  TenantId tenant();

  @Override
  TaskId id();

  @Override
  int laneId();

  Instant readyAt();

  Instant dueAt();

  Instant createdAt();

  @Nullable Instant expiresAt();

  /** The value of a column of {@link TaskColumns#SPEC}, as text. */
  @Nullable String specColumn(int index);

  /** The length of the payload in UTF-8. */
  int payloadBytes();

  /** Adds all columns of {@link TaskColumns#SPEC}. */
  void addSpec(CopiedRows copied);

  @Nullable String schedule();

  @Nullable Instant fireAt();
}
