package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.CopiedRows;
import carillon.store.db.Transitions;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A row of {@code carillon.task} on its way into the table. */
interface InsertedTask extends Transitions.Created {

  TenantId tenant();

  @Override
  TaskId id();

  @Override
  int lane();

  Instant readyAt();

  Instant dueAt();

  Instant createdAt();

  @Nullable Instant expiresAt();

  /** What was asked for, as text: one of the columns from key to on_dead, in their order. */
  @Nullable String column(int index);

  /** Adds the columns from key to on_dead. */
  void addColumns(CopiedRows copied);

  @Nullable String schedule();

  @Nullable Instant fireAt();
}
